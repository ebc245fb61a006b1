//! Why a workload cannot be opened or read on: messages for people.

use std::io;
use std::path::PathBuf;

/// What is wrong with a workload or its trace.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The operating system refused to open or read a file.
    #[error("{}: cannot read the trace: {source}\n  hint: {hint}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
        /// What to try.
        hint: String,
    },
    /// One row cannot be used.
    #[error("{}:{line}: {problem}\n  hint: {hint}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// Line of the file, from 1.
        line: u64,
        /// What was found and expected, the field named.
        problem: String,
        /// What to try.
        hint: String,
    },
    /// The file as a whole cannot be used.
    #[error("{}: {problem}\n  hint: {hint}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was found and expected.
        problem: String,
        /// What to try.
        hint: String,
    },
    /// A parameter of the workload has no meaning.
    #[error("{field}: {problem}\n  hint: {hint}")]
    Parameter {
        /// The parameter, by its name in scenario files.
        field: String,
        /// What was found and expected.
        problem: String,
        /// What to try.
        hint: String,
    },
}

impl WorkloadError {
    /// What to try.
    pub fn hint(&self) -> &str {
        match self {
            Self::Io { hint, .. } | Self::Row { hint, .. } | Self::File { hint, .. } | Self::Parameter { hint, .. } => hint,
        }
    }

    /// A [`WorkloadError::Parameter`].
    pub(crate) fn parameter(field: impl Into<String>, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Parameter { field: field.into(), problem: problem.into(), hint: hint.into() }
    }
}
