//! Warnings as typed data: shown to people and written to machine formats alike.

use std::fmt;

use serde::Serialize;

/// Something that is no error, but that whoever reads the results should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// What kind of thing it is: a stable name for machines, see [`codes`].
    pub code: &'static str,
    /// What it is about: the path of a field, a worker, a threshold post.
    pub subject: String,
    /// What was found and why it matters: a lowercase fragment.
    pub cause: String,
    /// What to do about it.
    pub next_step: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}\n  hint: {}", self.subject, self.cause, self.next_step)
    }
}

/// Codes of the warnings that a scenario alone can give.
pub mod codes {
    /// A name that two files have: which one is read depends on the place.
    pub const AMBIGUOUS_FILE: &str = "ambiguous_file";
    /// A setting that cannot change anything.
    pub const NO_EFFECT: &str = "no_effect";
    /// A configured check whose signal cannot arrive.
    pub const SIGNAL_MISSING: &str = "signal_missing";
    /// A configured check whose capacity is not reported.
    pub const CAPACITY_UNKNOWN: &str = "capacity_unknown";
    /// A threshold that cannot fire below full usage.
    pub const THRESHOLD_CANNOT_FIRE: &str = "threshold_cannot_fire";
    /// A preset used where its fit is known to be poor.
    pub const PRESET_OUT_OF_RANGE: &str = "preset_out_of_range";
    /// A fleet without workers.
    pub const NO_WORKERS: &str = "no_workers";
    /// Users who send again and again within one instant.
    pub const TIME_STANDS_STILL: &str = "time_stands_still";
    /// A status of refusals that clients do not take for an error.
    pub const STATUS_IS_NO_ERROR: &str = "status_is_no_error";
    /// An event that the run ends before.
    pub const EVENT_AFTER_END: &str = "event_after_end";
    /// An event the release will refuse.
    pub const POST_REFUSED: &str = "post_refused";
}
