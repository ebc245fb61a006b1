//! Files that a command writes under a name the user gave: nothing is lost that was there.

use std::fs;
use std::process::Output;

use super::bench::{Bench, GOOD};

/// A trace of a request a second, more or less.
fn trace() -> String {
    let row = |n: u32| format!("2024-06-07 09:{:02}:{:02}.{:03}0000,{},{}\n", n / 60, n % 60, n * 37 % 900, 100 + n, 5 + n % 7);
    "TIMESTAMP,ContextTokens,GeneratedTokens\n".to_owned() + &(0..300).map(row).collect::<String>()
}

fn run(bench: &Bench, words: &str) -> Output {
    bench.run(&words.split(' ').collect::<Vec<_>>())
}

#[test]
fn nothing_that_is_there_is_replaced_without_force() {
    let bench = Bench::new();
    bench.write("t.csv", trace());
    for out in ["a", "b"] {
        assert_eq!(run(&bench, &format!("run good.toml --no-charts -q --out {out}")).status.code(), Some(0));
    }
    for (words, file) in [
        ("trace convert t.csv FILE", "new.csv"),
        ("trace fit t.csv --out FILE", "fit.toml"),
        ("trace inspect t.csv --chart FILE", "chart.svg"),
        ("compare a b --format json --out FILE", "compare.json"),
        ("schema --out made", "made/summary.json"),
        ("generate man --out made", "made/shedcast.1"),
    ] {
        let words = words.replace("FILE", file);
        let at = bench.path().join(file);
        let output = run(&bench, &words);
        assert_eq!(output.status.code(), Some(0), "{words}: {}", String::from_utf8_lossy(&output.stderr));
        let made = fs::read(&at).unwrap();
        fs::write(&at, "mine").unwrap();
        let before = bench.content();
        let output = run(&bench, &words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert!(said.contains("the file is there already") && said.contains("`--force`"), "{words}: {said}");
        assert!(bench.content() == before, "{words}: nothing is written");
        assert_eq!(run(&bench, &format!("{words} --force")).status.code(), Some(0), "{words}");
        assert!(fs::read(&at).unwrap() == made, "{words}");
    }
}

#[test]
fn an_input_is_never_replaced() {
    let bench = Bench::new();
    bench.write("t.csv", trace());
    let (fleet, _) = GOOD.split_once("arrivals").unwrap();
    bench.write("replay.toml", format!("{fleet}trace = \"t.csv\"\n"));
    bench.link("soft.csv", "t.csv");
    fs::hard_link(bench.path().join("t.csv"), bench.path().join("hard.csv")).unwrap();
    for out in ["a", "b"] {
        assert_eq!(run(&bench, &format!("run good.toml --no-charts -q --out {out}")).status.code(), Some(0));
    }
    let before = bench.content();
    for words in [
        "trace convert t.csv t.csv",
        "trace convert t.csv soft.csv",
        "trace convert soft.csv ./t.csv",
        "trace convert t.csv hard.csv",
        "trace convert replay.toml t.csv",
        "trace convert good.toml good.toml",
        "trace fit t.csv --out t.csv",
        "trace fit t.csv --scenario good.toml --out good.toml",
        "compare a b --out b/summary.json",
    ] {
        let output = run(&bench, &format!("{words} --force"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert!(said.contains("this file is read"), "{words}: {said}");
        assert!(bench.content() == before, "{words}");
    }
}
