//! Killed at any moment: what stands in the directory is never half, and the next try comes to the same bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;

use super::bench::{Bench, content_of, now};

/// A command that is killed while it works.
struct Work {
    /// The words after `shedcast`, without `--out DIR`.
    words: &'static [&'static str],
    /// What is added when it is tried again.
    again: &'static [&'static str],
    /// What fills the directory first: complete results that other work left.
    before: &'static [&'static str],
    /// The file whose presence says that all others are whole.
    summary: &'static str,
}

const RUN: Work = Work {
    words: &["run", "work.toml", "--seed", "2", "--requests-csv", "--quiet"],
    again: &[],
    before: &["run", "work.toml", "--seed", "1", "--requests-csv", "--quiet"],
    summary: "summary.json",
};

const SWEEP: Work = Work {
    words: &["sweep", "work.toml", "--seed", "2", "--jobs", "2", "--quiet"],
    again: &["--resume"],
    before: &["sweep", "work.toml", "--seed", "1", "--jobs", "2", "--quiet"],
    summary: "sweep.json",
};

/// The earlier plan has another answer and files that the later one does not have.
const PLAN: Work = Work {
    words: &["plan", "work.toml", "--seed", "2", "--jobs", "2", "--target", "rate_529<=5%", "--quiet"],
    again: &["--resume"],
    before: &[
        "plan",
        "work.toml",
        "--seed",
        "1",
        "--jobs",
        "2",
        "--target",
        "ttft_p99<=200ms",
        "--target",
        "rate_529<=30%",
        "--no-sensitivity",
        "--charts",
        "svg,png",
        "--quiet",
    ],
    summary: "plan.json",
};

/// Some tenths of a second of work: a run, a grid of two axes, and a line along which a plan has some ten looks.
fn bench() -> Bench {
    let bench = Bench::new();
    let work = super::bench::GOOD.replace("\"good\"", "\"work\"").replace("\"5s\"", "\"20s\"");
    let grid = "[sweep]\nreplications = 2\n[sweep.grid]\nworkload.arrivals.rate = [10, 40]\nfleet.workers = [1, 2]\n";
    let plan = "[plan]\nrange = \"1..6\"\nrun_length = \"42s\"\n";
    bench.write("work.toml", format!("{work}{grid}{plan}"));
    bench
}

fn start(bench: &Bench, words: &[&str], out: &str) -> Child {
    let mut command = Command::new(cargo_bin!("shedcast"));
    command.current_dir(bench.path()).args(words).args(["--out", out]).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("it starts")
}

/// Runs to the end, which must be a good one; answers the files and how long it took.
fn finish(bench: &Bench, words: &[&str], out: &str) -> (BTreeMap<PathBuf, Vec<u8>>, Duration) {
    let begun = now();
    let status = start(bench, words, out).wait().expect("it ends");
    assert!(matches!(status.code(), Some(0 | 1)), "{words:?}: {status}");
    (content_of(&bench.path().join(out)), begun.elapsed())
}

/// The files by name that are no scratch of an unfinished run: neither written aside nor a journal.
fn results(bench: &Bench, out: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = if bench.path().join(out).exists() { content_of(&bench.path().join(out)) } else { BTreeMap::new() };
    found.retain(|name, _| {
        let name = name.to_string_lossy();
        !name.ends_with(".partial") && !name.ends_with("-journal.jsonl") && name != "charts"
    });
    found
}

/// Waits until `come` says so or the process has ended, then a part of `longest`.
fn wait(child: &mut Child, come: impl Fn() -> bool, longest: Duration, share: f64) {
    // Asking whether it has ended takes longer than asking for a file, and the moments that are wanted are short.
    while !(0..50).any(|_| come()) && child.try_wait().expect("it can be asked").is_none() {
        std::thread::yield_now();
    }
    let begun = now();
    while begun.elapsed() < longest.mul_f64(share) {
        std::hint::spin_loop();
    }
}

/// Kills `work` at `moments` instants, a third of them spread over its length, a third while its files are written aside, a third while
/// they get their names, which takes less than a millisecond; after each kill the directory must hold the earlier results, no summary,
/// or the new results, and another try must end as if nothing had been.
fn kill(work: &Work, moments: u32) {
    let bench = bench();
    let (mut whole, length) = finish(&bench, work.words, "whole");
    whole.retain(|name, _| name != Path::new("charts"));
    let (mut earlier, mut later) = (0, 0);
    for moment in 0..moments {
        let out = format!("out-{moment}");
        let (mut old, _) = finish(&bench, work.before, &out);
        old.retain(|name, _| name != Path::new("charts"));
        // The golden ratio's multiples fill an interval evenly, however many there are.
        let share = (f64::from(moment + 1) * 0.618_033_988_749_895).fract();
        let mut child = start(&bench, work.words, &out);
        let summary = bench.path().join(&out).join(work.summary);
        let aside = bench.path().join(&out).join(format!("{}.partial", work.summary));
        match moment % 3 {
            0 => std::thread::sleep(length.mul_f64(share * 1.05)),
            1 => wait(&mut child, || aside.exists(), Duration::from_micros(1_500), share),
            // The summary of the earlier results goes first.
            _ => wait(&mut child, || !summary.exists(), Duration::from_micros(400), share),
        }
        // It may have come to its end already.
        let _ = child.kill();
        child.wait().expect("it ends");
        let left = results(&bench, &out);
        if left.contains_key(Path::new(work.summary)) {
            assert!(left == old || left == whole, "moment {share:.3}: a summary beside files that are not its own");
            *(if left == old { &mut earlier } else { &mut later }) += 1;
        }
        let again: Vec<&str> = work.words.iter().chain(work.again).copied().collect();
        let status = start(&bench, &again, &out).wait().expect("it ends");
        // Where not even the journal had begun there is nothing to go on with, and the command is as before.
        assert!(matches!(status.code(), Some(0 | 1)), "moment {share:.3}: the second try ends with {status}");
        let mut second = content_of(&bench.path().join(&out));
        second.retain(|name, _| name != Path::new("charts"));
        assert!(second == whole, "moment {share:.3}: the second try came to other bytes");
    }
    println!(
        "{moments} kills: {earlier} left the earlier results, {later} the new ones, {} a directory without a summary",
        moments - earlier - later
    );
}

#[test]
fn a_killed_run_leaves_nothing_half() {
    kill(&RUN, 6);
}

#[test]
fn a_killed_sweep_leaves_nothing_half_and_resumes() {
    kill(&SWEEP, 6);
}

#[test]
fn a_killed_plan_leaves_nothing_half_and_resumes() {
    kill(&PLAN, 6);
}

/// Half a minute each: `cargo test --test integration -- --ignored fifty_kills`.
#[test]
#[ignore = "takes long: run it by name"]
fn fifty_kills_of_a_run() {
    kill(&RUN, 50);
}

/// See [`fifty_kills_of_a_run`].
#[test]
#[ignore = "takes long: run it by name"]
fn fifty_kills_of_a_sweep() {
    kill(&SWEEP, 50);
}

/// See [`fifty_kills_of_a_run`].
#[test]
#[ignore = "takes long: run it by name"]
fn fifty_kills_of_a_plan() {
    kill(&PLAN, 50);
}
