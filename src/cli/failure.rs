//! Why a command could not do what was asked.

use super::ExitStatus;
use crate::report::DirectoryError;
use crate::scenario::Faults;
use crate::workload::error::WorkloadError;

/// A failure; its text is one or several lowercase fragments, each with a hint on the next line where one helps.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The scenario, or an option that changes it, is faulty.
    #[error(transparent)]
    Scenario(#[from] Faults),
    /// A workload that cannot be opened or read on.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The results cannot be written.
    #[error(transparent)]
    Output(#[from] DirectoryError),
    /// Standard output is gone for another reason than a closed pipe.
    #[error("cannot write to standard output: {0}")]
    Stdout(std::io::Error),
    /// A figure could not be encoded.
    #[error("{name}.png: cannot draw the figure: {message}\n  hint: use `--charts svg`")]
    Figure {
        /// Its name.
        name: &'static str,
        /// What went wrong.
        message: String,
    },
    /// A sweep whose parts, directory or journal do not fit.
    #[error("{0}")]
    Sweep(String),
    /// Recorded events that cannot be read or replayed.
    #[error("{0}")]
    Replay(String),
    /// A trace command that cannot do what is asked.
    #[error("{0}")]
    Trace(String),
    /// Measurements that cannot be calibrated from.
    #[error(transparent)]
    Calibration(#[from] crate::calibrate::CalibrationError),
    /// A calibration whose options or outputs do not fit.
    #[error("{0}")]
    Calibrate(String),
    /// A verification that cannot be made.
    #[error("{0}")]
    Verify(String),
    /// The user stopped the run.
    #[error("{0}")]
    Interrupted(String),
}

impl Failure {
    /// The exit status that goes with it.
    pub const fn status(&self) -> ExitStatus {
        match self {
            Self::Interrupted(_) => ExitStatus::Interrupted,
            _ => ExitStatus::CouldNotAnswer,
        }
    }
}
