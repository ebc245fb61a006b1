//! Exit codes by meaning.

use std::process::{ExitCode, Termination};

/// How the process ends. Anything else (101) is a panic: a bug of shedcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// Answered, and targets (if any) are met.
    Success = 0,
    /// Answered "no": a target missed, a plan infeasible, a check failed, or a run that ended at a bound of `[limits]` before
    /// what the scenario asks for.
    AnsweredNo = 1,
    /// Could not answer: usage, scenario, trace, input or output.
    CouldNotAnswer = 2,
    /// Interrupted by the user.
    Interrupted = 130,
}

impl Termination for ExitStatus {
    fn report(self) -> ExitCode {
        ExitCode::from(self as u8)
    }
}
