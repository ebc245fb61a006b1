//! Why measurements cannot be calibrated from.

use std::io;
use std::path::{Path, PathBuf};

/// Measurements that cannot be read, or from which nothing can be told.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// The operating system refuses.
    #[error("{}: cannot read the file: {source}\n  hint: {hint}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// The file as a whole, or some of its rows, cannot be used; one line for each fault, the place first.
    #[error("{}\n  hint: {hint}", faults.join("\n"))]
    Faulty {
        /// `file:line: what was found and expected`.
        faults: Vec<String>,
        /// What to do.
        hint: String,
    },
    /// The measurements are sound, but do not tell what is asked of them.
    #[error("{}\n  hint: {hint}", reasons.join("\n"))]
    Untellable {
        /// Each a reason, with the figure it rests on.
        reasons: Vec<String>,
        /// What to measure, or which option to give.
        hint: String,
    },
}

impl CalibrationError {
    /// A file that cannot be read.
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        let hint = match source.kind() {
            io::ErrorKind::NotFound => "is the path right? it is taken from the working directory",
            io::ErrorKind::IsADirectory => "name a file, or a folder with `requests.jsonl` or a profiler's output",
            _ => "the file must be readable",
        };
        Self::Io { path: path.to_owned(), source, hint }
    }

    /// One fault of a file as a whole.
    pub(super) fn file(path: &Path, problem: &str, hint: impl Into<String>) -> Self {
        Self::Faulty { faults: vec![format!("{}: {problem}", path.display())], hint: hint.into() }
    }

    /// One reason why nothing can be told.
    pub(super) fn untellable(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Untellable { reasons: vec![reason.into()], hint: hint.into() }
    }

    /// A pool too small for a request of the log.
    pub(super) fn unservable() -> Self {
        Self::untellable(
            "a request of the log needs more KV blocks than the pool has",
            "are `--kv-blocks` and `--block-size` those of the run?",
        )
    }
}
