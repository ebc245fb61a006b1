//! Every command that README.md and docs/*.md show is run, in a copy of what a checkout has.
//!
//! Commands are lines of fenced blocks that begin with `shedcast`, `$ shedcast` or `cargo run --release --`, and inline code that
//! begins with `shedcast`. A document's commands run one after the other in one folder, so that one may use what another left.
//! Below `$ command` the lines of its output may follow, with `...` for what is left out: a run must give them.
//!
//! - `sweep` is planned to its last cell, with `--emit`, but not run: examples.rs runs the one that the README shows.
//! - Words in capitals stand for what a reader puts in: `PLACEHOLDERS` says what this test does.
//!   So does `THEIRS`, which no checkout has.
//! - After `<!-- not run: why -->` the commands of the next block are only parsed.
//! - Inline code with `...` or `|` in it is a form, not a command, and so is the name of a command alone: they are only parsed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use assert_cmd::cargo::cargo_bin;

use super::bench::Bench;

/// What readers put in, and what this test does.
const PLACEHOLDERS: [(&str, &str); 9] = [
    ("GRID", "scenarios/sweep-threshold.toml"),
    ("COMMAND", "run"),
    ("TRACE", "scenarios/traces/two-bursts.csv"),
    ("FILE", "scenarios/quickstart.toml"),
    ("EVENTS.jsonl", "tests/replay/queue.jsonl"),
    ("OUT.csv", "out.csv"),
    ("FOLDER", "outputs/quickstart"),
    ("DIR", "outputs/some"),
    ("ID", "3"),
];

/// What readers put in that no checkout has: commands with one of these are only parsed.
const THEIRS: [&str; 5] = ["RUN_FOLDER", "RECORDINGS", "COUNTERS", "BEFORE", "AFTER"];

/// A command of a document.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    line: usize,
    command: String,
    /// Lines of output that are shown below it.
    output: Vec<String>,
    /// Whether it is only parsed.
    parsed_only: bool,
}

/// The commands of a document, in their order.
fn commands(text: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let (mut fenced, mut skip, mut prompt) = (false, false, false);
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        if line.trim_start().starts_with("```") {
            skip &= !fenced;
            (fenced, prompt) = (!fenced, false);
        } else if line.starts_with("<!-- not run:") {
            skip = true;
        } else if !fenced {
            found.extend(inline(line).map(|(command, parsed_only)| Shown {
                line: number,
                command,
                output: Vec::new(),
                parsed_only,
            }));
        } else if let Some(command) = command_of(line) {
            let mut command = command.to_owned();
            while command.ends_with('\\') {
                command.pop();
                command.push_str(lines.next().map_or("", |(next, _)| next.trim_start()));
            }
            prompt = line.trim_start().starts_with('$');
            found.push(Shown { line: number, command, output: Vec::new(), parsed_only: skip });
        } else if prompt && !line.trim().is_empty() && line.trim() != "..." {
            found.last_mut().expect("a prompt is a command").output.push(line.trim_end().to_owned());
        }
    }
    found
}

/// The command on a line of a block, with `shedcast` at its head.
fn command_of(line: &str) -> Option<String> {
    let line = line.trim().strip_prefix("$ ").unwrap_or(line.trim());
    let line = line.split(" #").next().unwrap_or_default().trim_end();
    match line.strip_prefix("cargo run --release --") {
        Some(rest) => Some(format!("shedcast{rest}")),
        None => (line.starts_with("shedcast ") || line.contains("| shedcast ")).then(|| line.to_owned()),
    }
}

/// Commands in inline code of a line, and whether each is only a form.
fn inline(line: &str) -> impl Iterator<Item = (String, bool)> + '_ {
    let code =
        line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("shedcast ")).map(|code| code.replace("\\|", "|"));
    code.map(|code| {
        let form = code.split_whitespace().position(|word| word.contains("...") || word.contains('|') || word.contains('['));
        // The name of a command says what one may do with it, not how.
        let name = code.split_whitespace().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()));
        match form {
            None if name => (code.clone(), true),
            Some(at) => (code.split_whitespace().take(at).collect::<Vec<_>>().join(" "), true),
            None => (code.clone(), false),
        }
    })
}

/// With what a reader puts in.
fn filled(command: &str) -> String {
    let is_trace = command.starts_with("shedcast trace") || command.contains("trace.path=");
    let word = |word: &str| {
        let (head, name) = word.rsplit_once('=').map_or(("", word), |(path, value)| (&word[..=path.len()], value));
        let name = match name {
            "FILE" if is_trace => "TRACE",
            "FILE" if command.starts_with("shedcast sweep") => "GRID",
            other => other,
        };
        let put = PLACEHOLDERS.iter().find(|(placeholder, _)| *placeholder == name).map_or(name, |(_, put)| put);
        format!("{head}{put}")
    };
    command.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Copies what a reader of a checkout has.
fn checkout() -> Bench {
    let bench = Bench::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["scenarios", "tests/replay", "tests/fixtures", "tests/conformance"] {
        copy(&root.join(folder), &bench.path().join(folder));
    }
    let mine = fs::read_to_string(root.join("scenarios/quickstart.toml")).expect("a text");
    bench.write("mine.toml", mine);
    std::os::unix::fs::symlink(cargo_bin!("shedcast"), bench.path().join("shedcast")).expect("linked");
    bench
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copied");
        }
    }
}

/// Runs a command as a shell does.
fn run(bench: &Bench, shown: &Shown) -> Output {
    let mut command = filled(&shown.command);
    if shown.parsed_only || command.split(' ').any(|word| THEIRS.contains(&word)) {
        command.push_str(" --help");
    } else if command.starts_with("shedcast sweep ") && !command.contains("--emit") && !command.contains("--help") {
        command.push_str(" --emit parallel");
    }
    let mut shell = Command::new("sh");
    let path = std::env::var("PATH").unwrap_or_default();
    shell.current_dir(bench.path()).arg("-c").arg(&command).env("PATH", format!("{}:{path}", bench.path().display()));
    shell.env_remove("NO_COLOR").env_remove("COLUMNS").output().expect("sh runs")
}

fn check(document: &Path) {
    let text = fs::read_to_string(document).unwrap_or_else(|error| panic!("{}: {error}", document.display()));
    let bench = checkout();
    for shown in commands(&text) {
        let output = run(&bench, &shown);
        let place = format!("{}:{}: {}", document.display(), shown.line, shown.command);
        let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        // "No" is an answer.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{place}\n{}: {told}", output.status);
        for line in shown.output.iter().filter(|_| !shown.parsed_only) {
            let given = said.lines().chain(told.lines()).any(|given| given.trim_end() == line);
            assert!(given, "{place}: the document shows a line that a run does not give: {line:?}\n{said}{told}");
        }
    }
}

#[test]
fn commands_of_the_readme() {
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md"));
}

#[test]
fn commands_of_the_guide() {
    let listing = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")).expect("the documents");
    let mut documents: Vec<PathBuf> = listing.map(|entry| entry.expect("an entry").path()).collect();
    documents.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    documents.sort();
    assert!(documents.len() > 5, "{documents:?}");
    documents.iter().for_each(|document| check(document));
}

#[test]
fn links_between_documents_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents = vec![root.join("README.md"), root.join("ARCHITECTURE.md")];
    let listing = fs::read_dir(root.join("docs")).expect("the documents");
    documents
        .extend(listing.map(|entry| entry.expect("an entry").path()).filter(|path| path.extension().is_some_and(|e| e == "md")));
    for document in documents {
        let text = fs::read_to_string(&document).expect("a text");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let outside = file.is_empty() || file.contains("://") || file.contains(' ');
            assert!(
                outside || document.parent().expect("a folder").join(file).exists(),
                "{}: {link} leads nowhere",
                document.display()
            );
        }
    }
}

#[test]
fn every_measure_has_its_formula_and_every_warning_its_meaning() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (concepts, validity) = (read("docs/concepts.md"), read("docs/validity.md"));
    for measure in shedcast::experiment::measure_table::MEASURES {
        assert!(concepts.contains(&format!("`{}`", measure.name)), "docs/concepts.md has no formula of `{}`", measure.name);
    }
    let sources = ["src/experiment/verdicts.rs", "src/scenario/warning.rs"].map(read).concat();
    let codes: Vec<&str> = sources.split(": &str = \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(codes.len() > 15, "{codes:?}");
    for code in codes {
        assert!(validity.contains(&format!("`{code}`")), "docs/validity.md does not say what `{code}` means");
    }
}

#[test]
fn commands_are_found_where_documents_show_them() {
    let text = "Do `shedcast check FILE` and `shedcast sweep --emit slurm|parallel`.\n```sh\n$ shedcast run a.toml \\\n    --quiet # done\nout\n...\n\
                more  \n```\n<!-- not run: slow -->\n```\ncargo run --release -- presets\n```\n```\ncat x | shedcast check -\n```\n";
    let found: Vec<_> = commands(text).into_iter().map(|shown| (shown.command, shown.output.len(), shown.parsed_only)).collect();
    let expected = [
        ("shedcast check FILE", 0, false),
        ("shedcast sweep --emit", 0, true),
        ("shedcast run a.toml --quiet # done", 2, false),
        ("shedcast presets", 0, true),
        ("cat x | shedcast check -", 0, false),
    ];
    assert_eq!(found, expected.map(|(command, lines, only)| (command.to_owned(), lines, only)));
    assert_eq!(filled("shedcast trace inspect FILE"), "shedcast trace inspect scenarios/traces/two-bursts.csv");
    assert_eq!(filled("shedcast run FILE --explain ID"), "shedcast run scenarios/quickstart.toml --explain 3");
}
