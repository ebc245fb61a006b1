//! `shedcast check`: is a scenario valid, and what does it mean?

use super::args::CheckArgs;
use super::run::set_options;
use super::terminal::Terminal;
use super::{ExitStatus, Failure};
use crate::scenario::{Loaded, Scenario};

/// Checks every file and tells the faults of all; prints the resolved ones on standard output, warnings on standard error.
pub(super) fn check(args: &CheckArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let sets = set_options(&args.sets)?;
    let mut status = ExitStatus::Success;
    for file in &args.files {
        match Scenario::load(file, &sets) {
            Ok(loaded) => show(args, terminal, &file.display().to_string(), &loaded)?,
            Err(faults) => {
                terminal.tell_failure(&faults.into());
                status = ExitStatus::CouldNotAnswer;
            }
        }
    }
    Ok(status)
}

fn show(args: &CheckArgs, terminal: &Terminal, file: &str, loaded: &Loaded) -> Result<(), Failure> {
    for warning in &loaded.warnings {
        terminal.warn(&format!("{file}: {warning}"));
    }
    if args.quiet {
        return Ok(());
    }
    let title = if args.files.len() > 1 { format!("# {file}\n") } else { String::new() };
    terminal.print(format!("{title}{}", loaded.scenario.to_toml()).as_bytes())
}
