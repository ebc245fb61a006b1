//! Standard output and standard error: the one place that writes to them.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use super::Failure;
use super::args::ColorChoice;
use crate::report::screen::COLUMNS;

const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const PLAIN: &str = "\x1b[0m";

/// Columns of standard output: as COLUMNS says, else as wide as the terminal, else 80.
fn columns() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok()).filter(|columns| *columns > 0);
    let found = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    said.or_else(found).unwrap_or(COLUMNS)
}

/// What is known of the terminal, asked once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terminal {
    /// Whether messages are coloured. Colour repeats what a word says.
    color: bool,
    /// Whether standard error is a terminal: only there progress is drawn.
    pub(super) interactive: bool,
    /// Columns of standard output.
    pub(super) columns: usize,
}

impl Terminal {
    /// Colour by the flag, then by a non-empty `NO_COLOR`, then by the terminal.
    pub(super) fn new(choice: ColorChoice) -> Self {
        let interactive = io::stderr().is_terminal();
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let color = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => interactive && !unwanted,
        };
        Self { color, interactive, columns: columns() }
    }

    /// Writes data to standard output. A reader that has seen enough and closed its pipe is no failure.
    pub(super) fn print(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Stdout(error)),
            _ => Ok(()),
        }
    }

    /// Tells why it failed, on standard error: every fault of a scenario by itself.
    pub(super) fn tell_failure(&self, failure: &Failure) {
        let faults = match failure {
            Failure::Scenario(faults) => faults,
            Failure::Several(failures) => return failures.iter().for_each(|failure| self.tell_failure(failure)),
            _ => return self.tell("error", RED, &failure.to_string()),
        };
        faults.iter().for_each(|fault| self.tell("error", RED, &fault.to_string()));
        if faults.left_out() > 0 {
            self.tell("error", RED, &format!("... and {} more", faults.left_out()));
        }
    }

    /// Tells something a reader should know, on standard error.
    pub(super) fn warn(&self, text: &str) {
        self.tell("warning", YELLOW, text);
    }

    /// Writes something for people to standard error, where standard output belongs to a machine.
    pub(super) fn note(&self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    fn tell(&self, kind: &str, color: &str, text: &str) {
        let (on, off) = if self.color { (color, PLAIN) } else { ("", "") };
        // Nobody is left to be told if standard error is gone.
        let _ = writeln!(io::stderr().lock(), "{on}{kind}:{off} {text}");
    }
}
