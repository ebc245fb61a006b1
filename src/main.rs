//! The `shedcast` binary: parse, run, print, exit.

fn main() -> shedcast::cli::ExitStatus {
    shedcast::cli::main()
}
