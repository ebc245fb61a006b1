//! The `shedcast` binary: parse, run, print, exit.
fn main() {}
