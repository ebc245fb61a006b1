//! Whole files: what is read from good ones, what is said of bad ones, and that resolved ones read back.

mod bad_inputs;
mod bad_options;
mod good_inputs;
mod round_trip;

use super::{Document, Faults, Loaded, Scenario, SetOption};

/// A fleet and traffic that are fine, for tests of everything else.
pub(super) const BASE: &str = r#"
horizon = "10m"
[fleet]
workers = 2
engine = "h100-llama-3.1-8b-bf16-vllm"
[workload]
arrivals = { process = "poisson", rate = 40 }
input_tokens = 1024
output_tokens = 128
"#;

/// One opaque worker without traffic, as most small cases use it.
pub(super) const OPAQUE: &str = r#"
[fleet]
workers = 1
service_time = "10s"
kv_total_blocks = 100
max_num_batched_tokens = 8192
"#;

fn sets(options: &[&str]) -> Vec<SetOption> {
    options.iter().map(|text| SetOption::parse("--set", text).unwrap()).collect()
}

fn load(text: &str, options: &[&str]) -> Result<Loaded, Faults> {
    Scenario::parse(text, "burst.toml", &sets(options))
}

/// The scenario of a text that must be good.
fn good(text: &str) -> Scenario {
    load(text, &[]).unwrap_or_else(|faults| panic!("{faults}")).scenario
}

/// The warnings of a text that must be good, one in a line or two.
fn warnings(text: &str) -> String {
    let loaded = load(text, &[]).unwrap_or_else(|faults| panic!("{faults}"));
    loaded.warnings.iter().map(|w| format!("[{}] {w}", w.code)).collect::<Vec<_>>().join("\n")
}

/// What is said of a text that must be bad.
fn faults(text: &str) -> String {
    match load(text, &[]) {
        Ok(loaded) => panic!("this should have been refused: {loaded:?}"),
        Err(faults) => faults.to_string(),
    }
}

/// What is said of options that must be bad, beside a good file.
fn option_faults(options: &[&str]) -> String {
    let document = Document::parse(BASE, "burst.toml").unwrap();
    match document.with(&sets(options)).and_then(|changed| changed.decode()) {
        Ok(loaded) => panic!("this should have been refused: {loaded:?}"),
        Err(faults) => faults.to_string(),
    }
}
