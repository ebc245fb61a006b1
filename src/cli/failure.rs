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
        name: String,
        /// What went wrong.
        message: String,
    },
    /// A sweep whose parts, directory or journal do not fit.
    #[error("{0}")]
    Sweep(String),
    /// Results that cannot be compared.
    #[error("{0}")]
    Compare(String),
    /// A plan whose directory or journal does not fit, or of which a run failed.
    #[error("{0}")]
    Plan(String),
    /// Results that cannot be read.
    #[error("{0}")]
    Report(String),
    /// Recorded events that cannot be read or replayed.
    #[error("{0}")]
    Replay(String),
    /// A trace command that cannot do what is asked.
    #[error("{0}")]
    Trace(String),
    /// A file that is generated cannot be written.
    #[error("{0}")]
    Write(String),
    /// There is no schema of that name.
    #[error("{0}")]
    Schema(String),
    /// Several inputs are faulty: all of them are told.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<Failure>),
    /// Further faults that are only counted.
    #[error("... and {0} more")]
    LeftOut(usize),
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
    /// Faults told together before the rest is only counted.
    const MOST_TOLD: usize = 100;

    /// The values, or every failure that stands among them.
    pub(super) fn all<T>(results: impl IntoIterator<Item = Result<T, Self>>) -> Result<Vec<T>, Self> {
        let (mut values, mut failures, mut left_out) = (Vec::new(), Vec::new(), 0usize);
        for result in results {
            match result {
                Ok(value) => values.push(value),
                Err(Self::Several(more)) => failures.extend(more),
                Err(_) if failures.len() >= Self::MOST_TOLD => left_out += 1,
                Err(failure) => failures.push(failure),
            }
        }
        if left_out > 0 {
            failures.push(Self::LeftOut(left_out));
        }
        match failures.len() {
            0 => Ok(values),
            1 => Err(failures.remove(0)),
            _ => Err(Self::Several(failures)),
        }
    }

    /// The exit status that goes with it.
    pub const fn status(&self) -> ExitStatus {
        match self {
            Self::Interrupted(_) => ExitStatus::Interrupted,
            _ => ExitStatus::CouldNotAnswer,
        }
    }
}
