//! `shedcast generate`: manual pages and completions, from the same definitions as `--help`.

use clap::CommandFactory as _;

use super::args::Cli;
use super::generate_args::{CompletionsArgs, GenerateCommand, ManArgs};
use super::terminal::Terminal;
use super::whole_files::write_new;
use super::{ExitStatus, Failure};

/// Generates what is asked for.
pub(super) fn generate(command: &GenerateCommand, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    match command {
        GenerateCommand::Man(args) => man(args, terminal),
        GenerateCommand::Completions(args) => completions(args, terminal),
    }
}

fn man(args: &ManArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let pages = pages();
    match &args.out {
        Some(out) => write_new(out, &pages, args.force)?,
        None => terminal.print(&pages[0].1)?,
    }
    Ok(ExitStatus::Success)
}

fn completions(args: &CompletionsArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "shedcast", &mut text);
    terminal.print(&text)?;
    Ok(ExitStatus::Success)
}

/// Name and text of every page, that of the program first.
fn pages() -> Vec<(String, Vec<u8>)> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    let mut ahead = vec![command];
    while let Some(command) = ahead.pop() {
        ahead.extend(command.get_subcommands().filter(|inner| !inner.is_hide_set()).cloned());
        let page = clap_mangen::Man::new(command);
        let mut text = Vec::new();
        page.render(&mut text).expect("a text in memory takes everything");
        pages.push((page.get_filename(), text));
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_of_its_own() {
        let names: Vec<String> = pages().into_iter().map(|page| page.0).collect();
        for name in ["shedcast.1", "shedcast-run.1", "shedcast-trace.1", "shedcast-trace-fit.1", "shedcast-generate-man.1"] {
            assert!(names.iter().any(|found| found == name), "{name} is not among {names:?}");
        }
        assert_eq!(names[0], "shedcast.1");
        let mut distinct = names.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
    }

    #[test]
    fn pages_tell_options_and_exit_codes() {
        let all = pages();
        let text = |name: &str| String::from_utf8(all.iter().find(|page| page.0 == name).unwrap().1.clone()).unwrap();
        assert!(text("shedcast.1").contains("Exit codes") && text("shedcast-run.1").contains("requests\\-csv"));
    }
}
