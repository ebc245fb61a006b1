//! What random inputs are made of: good and bad files of the repository, and the words of their languages.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use shedcast::cluster::Remote;
use shedcast::experiment::measure_table::MEASURES;
use shedcast::experiment::plan;
use shedcast::experiment::sweep::journal::Header;
use shedcast::experiment::sweep::{Entry, Journal, Plan, Record, Request, Shard};
use shedcast::scenario::Document;

use crate::harness::tests_dir;

/// Seeds and words of a target.
pub struct Corpus {
    /// Whole inputs.
    pub entries: Vec<Vec<u8>>,
    /// Words that stand in them, and some that break things.
    pub words: Vec<Vec<u8>>,
}

/// Bytes of a seed that are kept: a mutation of a short input reaches more than one of a long one.
const LONGEST: usize = 4_096;

/// Words that any reader may stumble on.
const WORDS: [&str; 36] = [
    "0",
    "-0",
    "-1",
    "1e308",
    "1e-320",
    "nan",
    "inf",
    "-inf",
    "18446744073709551615",
    "18446744073709551616",
    "4294967296",
    "9223372036854775807",
    "0.1",
    "0x10",
    "1_000",
    "true",
    "\"\"",
    "{}",
    "[]",
    "[[",
    "]]",
    "..",
    ".",
    "=",
    ",",
    "\n",
    "\r\n",
    "\t",
    "\u{0}",
    "\u{feff}",
    "\u{1F600}",
    "\"",
    "'",
    "`",
    "#",
    "\\u0000",
];

impl Corpus {
    /// The corpus of a target: `tests/fuzz/<target>/`, and what else of the repository is of its kind.
    pub fn of(target: &str) -> Self {
        let tests = tests_dir();
        let root = tests.parent().expect("the checkout").to_path_buf();
        let mut files = listed(&tests.join("fuzz").join(target), "");
        match target {
            "scenario" => {
                files.extend(listed(&tests.join("cases"), ".toml"));
                files.extend(listed(&root.join("scenarios"), ".toml"));
            }
            "trace-csv" => {
                files.extend(listed(&tests.join("fixtures/traces"), ".csv"));
                files.extend(listed(&tests.join("fixtures/cases"), ".csv"));
            }
            "trace-jsonl" => {
                files.extend(listed(&tests.join("fixtures/traces"), ".jsonl"));
                files.extend(listed(&tests.join("fixtures/cases"), ".jsonl"));
            }
            "trace-servegen" => files.push(tests.join("fixtures/traces/servegen_chunk.csv")),
            "replay" => {
                files.extend(listed(&tests.join("replay"), ".jsonl"));
                files.extend(listed(&tests.join("conformance"), ".jsonl"));
            }
            _ => {}
        }
        let mut entries: Vec<Vec<u8>> = files.iter().flat_map(|file| pieces(file, target)).collect();
        match target {
            "journal" => entries.extend([journal(1, 6), journal(2, 3), journal(1, 0)]),
            "plan-journal" => entries.extend(plan_journals()),
            "measurements" => entries.extend([archive(false), archive(true)]),
            _ => {}
        }
        let mut words: Vec<Vec<u8>> = WORDS.iter().map(|word| word.as_bytes().to_vec()).collect();
        words.extend(entries.iter().flat_map(|entry| words_of(entry)));
        words.sort();
        words.dedup();
        Self { entries, words }
    }
}

/// The journal of one shard of `count`, with some runs in it: made here, because it speaks of every measure there is.
fn journal(count: usize, runs: usize) -> Vec<u8> {
    let document = Document::parse(super::super::bench::GOOD, "good.toml").expect("it is sound");
    let grid = vec!["fleet.workers=1,2,3".to_owned(), "workload.arrivals.rate=10,20".to_owned()];
    let targets = vec!["rate_529<=1%".to_owned()];
    let request = Request { grid, targets, replications: Some(1), ..Request::default() };
    let plan = Plan::new(document, &request).expect("it is sound");
    let record = |n: usize| {
        let values = (0..MEASURES.len()).map(|at| if at % 3 == 0 { Entry::Share([1, 4]) } else { Entry::Value(Some(1.5)) });
        let whole =
            Record { end: "horizon".to_owned(), error: None, values: values.collect(), ..Record::failed(n * count, 0, "") };
        if n == 2 { Record::failed(n * count, 0, "it went wrong") } else { whole }
    };
    let records: Vec<Record> = (0..runs).map(record).collect();
    Journal::to_text(&Header::new(&plan.description, Shard { index: 0, count }), &records).into_bytes()
}

/// Journals of a plan with runs of it, of which one failed: whole, with the header alone, and torn.
fn plan_journals() -> [Vec<u8>; 3] {
    let document = Document::parse(super::super::bench::GOOD, "good.toml").expect("it is sound");
    let targets = vec!["rate_529<=1%".to_owned(), "ttft_p99<=1s".to_owned(), "goodput>=1".to_owned()];
    let request =
        plan::Request { targets, range: Some("1..3".to_owned()), run_length: Some("21s".to_owned()), ..Default::default() };
    let plan = plan::Plan::new(document, &request).expect("it is sound");
    let key = |cell| plan::Key { variant: 0, cell, replication: 0 };
    let (remote, mut kept) = (Remote::default(), Vec::new());
    let mut keep = |record: &plan::Record, _: plan::Progress| kept.push(record.clone());
    plan::Lab::new(&plan, Vec::new(), 1, &remote, &mut keep).need(&[key(0), key(2)]).expect("they run");
    kept.push(plan::Record::failed(key(1), "it went wrong"));
    let header = plan::journal::Header::new(&plan.description).to_line();
    let whole = header.clone() + &kept.iter().map(plan::Record::to_line).collect::<String>();
    let torn = whole[..whole.len() - 9].to_owned();
    [whole, header, torn].map(String::into_bytes)
}

/// A NumPy archive with the arrays of a profile, stored or deflated.
fn archive(deflate: bool) -> Vec<u8> {
    let arrays: [(&str, &[f64]); 6] = [
        ("prefill_isl", &[100.0, 400.0, 1_600.0]),
        ("prefill_ttft", &[12.0, 18.0, 42.0]),
        ("x_kv_usage", &[0.1, 0.2, 0.4, 0.5, 0.6, 0.8]),
        ("y_context_length", &[100.0, 200.0, 400.0, 100.0, 200.0, 400.0]),
        ("z_itl", &[5.0, 5.5, 6.0, 6.5, 7.0, 8.0]),
        ("max_kv_tokens", &[40_000.0]),
    ];
    let (mut members, mut directory) = (Vec::new(), Vec::new());
    for (name, values) in arrays {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},), }}\n", values.len());
        let mut array = [b"\x93NUMPY\x01\x00", (header.len() as u16).to_le_bytes().as_slice(), header.as_bytes()].concat();
        array.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let packed = if deflate {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&array).expect("memory");
            encoder.finish().expect("memory")
        } else {
            array.clone()
        };
        let name = format!("{name}.npy");
        let at = (members.len() as u32).to_le_bytes();
        let method = [if deflate { 8u8 } else { 0 }, 0];
        let sizes = [(packed.len() as u32).to_le_bytes(), (array.len() as u32).to_le_bytes()].concat();
        let length = (name.len() as u16).to_le_bytes();
        members
            .extend([b"PK\x03\x04\x14\0\0\0", &method[..], &[0; 8], &sizes, &length, &[0; 2], name.as_bytes(), &packed].concat());
        let entry = [b"PK\x01\x02\x14\0\x14\0\0\0", &method[..], &[0; 8], &sizes, &length, &[0; 12], &at, name.as_bytes()];
        directory.extend(entry.concat());
    }
    let (count, start) = ((arrays.len() as u16).to_le_bytes(), (members.len() as u32).to_le_bytes());
    let length = (directory.len() as u32).to_le_bytes();
    [&members, &directory, &b"PK\x05\x06\0\0\0\0"[..], &count, &count, &length, &start, &[0; 2]].concat()
}

/// Files of a folder with this ending, in the order of their names.
fn listed(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).map(|entries| entries.filter_map(Result::ok).map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = entries.into_iter().flatten().collect();
    files.retain(|file| file.is_file() && file.to_string_lossy().ends_with(ending));
    files.sort();
    files
}

/// The seeds that a file gives: itself, or some of its lines where each stands for itself.
fn pieces(file: &Path, target: &str) -> Vec<Vec<u8>> {
    let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let by_line = matches!(target, "replay" | "grid" | "options");
    if !by_line {
        return vec![bytes[..bytes.len().min(LONGEST)].to_vec()];
    }
    let lines: Vec<&[u8]> =
        bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line.len() < 4 * LONGEST).collect();
    // Some dozens of a file show all of its shapes.
    let every = lines.len().div_ceil(40).max(1);
    lines.iter().step_by(every).map(|line| line.to_vec()).collect()
}

/// Runs of letters, digits, dots and lines below: keys, numbers, names.
fn words_of(entry: &[u8]) -> Vec<Vec<u8>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    entry.split(|byte| !is_part(byte)).filter(|word| (1..40).contains(&word.len())).map(<[u8]>::to_vec).collect()
}
