//! What a newcomer meets: version, manual pages, completions.

use std::fs;

use super::bench::Bench;

#[test]
fn the_version_names_the_build() {
    let bench = Bench::new();
    for words in [&["--version"][..], &["run", "--version"]] {
        let said = String::from_utf8(bench.run(words).stdout).expect("UTF-8");
        let number = concat!(" ", env!("CARGO_PKG_VERSION"), " (");
        assert!(said.starts_with("shedcast") && said.contains(number) && said.ends_with(")\n"), "{said}");
        let build = said.trim_end().split_once('(').map_or("", |(_, build)| build.trim_end_matches(')'));
        assert!(
            build.starts_with("commit ") || build == "development build" || std::env::var("SHEDCAST_COMMIT").is_ok(),
            "{said}"
        );
    }
}

#[test]
fn results_do_not_depend_on_the_commit() {
    let bench = Bench::new();
    assert_eq!(bench.run(&["run", "good.toml", "--no-charts", "--quiet", "--out", "r"]).status.code(), Some(0));
    let build = String::from_utf8(bench.run(&["--version"]).stdout).expect("UTF-8");
    let build = build.trim_end().split_once('(').map_or("", |(_, build)| build.trim_end_matches(')')).to_owned();
    for (name, bytes) in bench.content() {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(name == std::path::Path::new("good.toml") || !text.contains(&build), "{} names the build", name.display());
    }
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let bench = Bench::new();
    let printed = bench.run(&["generate", "man"]);
    assert!(printed.status.success() && printed.stdout.starts_with(b".ie"), "{}", String::from_utf8_lossy(&printed.stdout));
    assert!(bench.run(&["generate", "man", "--out", "man1"]).status.success());
    let help = String::from_utf8(bench.run(&["--help"]).stdout).expect("UTF-8");
    let commands = help.split("Commands:").nth(1).expect("a list").lines().skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> =
        commands.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 7, "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        let page =
            fs::read_to_string(bench.path().join(format!("man1/shedcast-{name}.1"))).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH DESCRIPTION"), "{name}");
    }
    let taken = bench.run(&["generate", "man", "--out", "good.toml"]);
    assert_eq!(taken.status.code(), Some(2));
}

#[test]
fn completions_know_commands_and_options() {
    let bench = Bench::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = String::from_utf8(bench.run(&["generate", "completions", shell]).stdout).expect("UTF-8");
        assert!(text.contains("sweep") && text.contains("requests-csv"), "{shell}");
    }
    assert_eq!(bench.run(&["generate", "completions", "cmd"]).status.code(), Some(2));
}
