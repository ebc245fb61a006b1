//! Hard to break: bad inputs, bad places to write to, sudden ends, random input, and documents that keep their word.

#[path = "robust/bad_inputs.rs"]
mod bad_inputs;
#[path = "robust/bench.rs"]
mod bench;
#[path = "robust/documents.rs"]
mod documents;
#[path = "robust/fuzz.rs"]
mod fuzz;
#[path = "robust/kill.rs"]
mod kill;
#[path = "robust/learning.rs"]
mod learning;
#[path = "robust/named_files.rs"]
mod named_files;
#[path = "robust/output.rs"]
mod output;
#[path = "robust/scenarios.rs"]
mod scenarios;
#[path = "robust/schemas.rs"]
mod schemas;
#[path = "robust/soak.rs"]
mod soak;
