//! The command line: the only place that prints, reads the environment or asks the time.
//!
//! Arguments are taken in two steps: as typed (`args`, pure data) and as resolved by each command, which asks terminal and
//! environment once. One file per command.

mod args;
mod calibrate;
mod calibrate_args;
mod check;
mod compare;
mod compare_args;
mod drawing;
mod estimate;
mod exit;
mod failure;
mod generate;
mod generate_args;
mod input;
mod interrupt;
mod merge;
mod output_files;
mod plan;
mod plan_args;
mod plan_files;
mod presets;
mod progress;
mod replay;
mod report;
mod run;
mod schema;
mod sweep;
mod sweep_args;
mod sweep_files;
mod terminal;
mod trace;
mod trace_args;
mod verify;
mod verify_args;
mod whole_files;

pub use args::{Cli, Command};
pub use exit::ExitStatus;
pub use failure::Failure;

use clap::Parser as _;
use clap::error::ErrorKind;

use terminal::Terminal;

/// Parses the arguments of the process, does what they ask, and says how it went. Tells failures on standard error.
pub fn main() -> ExitStatus {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let terminal = Terminal::new(cli.color);
    let done = match cli.command {
        Command::Run(args) => run::run(&args, &terminal),
        Command::Check(args) => check::check(&args, &terminal),
        Command::Presets(args) => presets::presets(&args, &terminal),
        Command::Calibrate(args) => calibrate::calibrate(&args, &terminal),
        Command::Verify(args) => verify::verify(&args, &terminal),
        Command::Report(args) => report::report(&args, &terminal),
        Command::Sweep(args) => sweep::sweep(&args, &terminal),
        Command::Compare(args) => compare::compare(&args, &terminal),
        Command::Plan(args) => plan::plan(&args, &terminal),
        Command::Merge(args) => merge::merge(&args, &terminal),
        Command::Trace(command) => trace::trace(&command, &terminal),
        Command::Replay(args) => replay::run(&args, &terminal),
        Command::Schema(args) => schema::schema(&args, &terminal),
        Command::Generate(command) => generate::generate(&command, &terminal),
    };
    match done {
        Ok(status) => status,
        Err(failure) => {
            terminal.tell_failure(&failure);
            failure.status()
        }
    }
}

/// What clap has to say: help and version are answers, all else is a fault of the command line.
fn usage(error: &clap::Error) -> ExitStatus {
    // A closed pipe is no failure of ours.
    let _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitStatus::Success,
        _ => ExitStatus::CouldNotAnswer,
    }
}
