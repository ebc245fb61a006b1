//! The arrows between the folders of `src/` run one way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What each folder (or file beside them) may use of the crate.
const MAY_USE: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("control", &["units"]),
    ("engine", &["units"]),
    ("stats", &["units"]),
    ("replay", &["control", "units"]),
    ("workload", &["units", "engine"]),
    ("cluster", &["control", "engine", "workload", "stats", "units"]),
    ("scenario", &["control", "cluster", "workload", "units"]),
    ("experiment", &["control", "engine", "workload", "cluster", "scenario", "stats", "units"]),
    ("calibrate", &["cluster", "scenario", "stats", "units"]),
    ("verify", &["control", "cluster", "scenario", "workload", "experiment", "calibrate", "stats", "units"]),
    // A result speaks in the types of what was simulated: outcomes of attempts, the parameters of a fleet.
    ("report", &["control", "workload", "cluster", "scenario", "experiment", "calibrate", "verify", "stats", "units"]),
    (
        "cli",
        &[
            "control",
            "engine",
            "workload",
            "cluster",
            "scenario",
            "experiment",
            "calibrate",
            "verify",
            "report",
            "replay",
            "stats",
            "units",
        ],
    ),
];

/// What the control code must not name: clock, files, terminal, threads, environment, randomness.
const NOT_IN_CONTROL: &[&str] =
    &["std::time", "std::fs", "std::io", "std::thread", "std::env", "std::net", "std::process", "std::sync", "rand", "println!"];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    for entry in entries {
        let path = entry.expect("a directory entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The code of a file that is compiled outside tests, without comments.
fn product_code(text: &str) -> String {
    let code: Vec<&str> = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code)).collect();
    let code = code.join("\n");
    let mut rest = code.as_str();
    let mut kept = String::new();
    while let Some(at) = rest.find("#[cfg(test)]") {
        kept.push_str(&rest[..at]);
        rest = &rest[at..][item_length(&rest[at..])..];
    }
    kept + rest
}

/// Length of the item at the start of `code`: to its `;`, or to the brace that closes its first one.
fn item_length(code: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in code.char_indices() {
        match c {
            ';' if depth == 0 => return at + 1,
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// The modules that `crate::...` paths in `code` start with, those of `use crate::{a, b::c}` included.
fn used_modules(code: &str) -> BTreeSet<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut used = BTreeSet::new();
    for (at, marker) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let path = code[at + marker.len()..].trim_start();
        let Some(group) = path.strip_prefix('{') else {
            used.insert(word(path));
            continue;
        };
        let mut depth = 1;
        let mut start = true;
        for (at, c) in group.char_indices() {
            if start && (c.is_alphabetic() || c == '_') {
                used.insert(word(&group[at..]));
                start = false;
            }
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => start = true,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    used
}

/// Whether `code` names `path` as a path of its own, not as the end of a longer word.
fn names(code: &str, path: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(path).any(|(at, _)| {
        let (before, after) = (code[..at].chars().next_back(), code[at + path.len()..].chars().next());
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

/// All product code by top-level module.
fn modules() -> BTreeMap<String, Vec<(PathBuf, String)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    files.sort();
    let mut modules: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let inside = path.strip_prefix(&root).expect("found below it");
        let first = inside.iter().next().and_then(|part| part.to_str()).expect("paths of the project are text");
        let module = first.trim_end_matches(".rs").to_owned();
        // Files of tests are named `tests.rs` or `..._tests.rs` and declared under `#[cfg(test)]`.
        let is_test = path.file_stem().and_then(|s| s.to_str()).is_some_and(|stem| stem == "tests" || stem.ends_with("_tests"));
        if !is_test && module != "lib" && module != "main" {
            modules.entry(module).or_default().push((path, product_code(&text)));
        }
    }
    modules
}

#[test]
fn each_folder_uses_only_what_it_may() {
    let mut faults = Vec::new();
    for (module, files) in modules() {
        let Some((_, may_use)) = MAY_USE.iter().find(|(name, _)| *name == module) else {
            faults.push(format!("src/{module} is not in the table of what may use what"));
            continue;
        };
        for (path, code) in files {
            let used = used_modules(&code).into_iter().filter(|used| *used != module && !may_use.contains(&used.as_str()));
            faults.extend(used.map(|used| format!("{}: `{module}` must not use `{used}`", path.display())));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_control_code_has_no_clock_files_threads_environment_or_randomness() {
    let modules = modules();
    let control = modules.get("control").expect("the control code is there");
    let mut faults = Vec::new();
    for (path, code) in control {
        let named = NOT_IN_CONTROL.iter().filter(|banned| names(code, banned));
        faults.extend(named.map(|banned| format!("{}: names `{banned}`", path.display())));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_check_sees_what_it_must() {
    let code = product_code(
        "use crate::{units::{Span, cluster}, control::x};\n// use crate::engine;\nfn f() { crate::stats::g() }\n\
         #[cfg(test)]\nmod tests { use crate::cli; fn g() {} }\nuse std::time::Instant;",
    );
    assert_eq!(used_modules(&code).into_iter().collect::<Vec<_>>(), ["control", "stats", "units"]);
    assert!(names(&code, "std::time") && !names("std::timers; operand", "std::time") && !names("operand", "rand"));
    assert!(names("use rand::Rng;", "rand"));
}
