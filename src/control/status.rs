//! From a refusal to its class and HTTP status.

use serde::Serialize;

/// Why a request got no worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// Every routable worker is excluded.
    AllWorkersBusy,
    /// The worker's gate is full.
    WorkerAtCapacity,
    /// The exact worker asked for is excluded.
    PinnedWorkerBusy,
    /// No routable worker.
    Unavailable,
}

/// What an overload concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OverloadScope {
    /// All workers together (the release: `ResourceExhausted`).
    Pool,
    /// One worker (the release: `WorkerOverloaded`).
    Worker,
}

/// The class of a refusal; it does not depend on the status number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalClass {
    /// Workers are there, and too busy.
    Overloaded(OverloadScope),
    /// No usable service path.
    Unavailable,
}

/// Status of [`RefusalClass::Unavailable`].
pub const UNAVAILABLE_STATUS: u16 = 503;

/// Status of an answer that broke off.
pub const BROKEN_STATUS: u16 = 500;

impl RefusalReason {
    /// All reasons, in the order of reports.
    pub const ALL: [Self; 4] = [Self::AllWorkersBusy, Self::WorkerAtCapacity, Self::PinnedWorkerBusy, Self::Unavailable];

    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllWorkersBusy => "all_workers_busy",
            Self::WorkerAtCapacity => "worker_at_capacity",
            Self::PinnedWorkerBusy => "pinned_worker_busy",
            Self::Unavailable => "unavailable",
        }
    }

    /// Its class.
    pub const fn class(self) -> RefusalClass {
        match self {
            Self::AllWorkersBusy => RefusalClass::Overloaded(OverloadScope::Pool),
            Self::WorkerAtCapacity | Self::PinnedWorkerBusy => RefusalClass::Overloaded(OverloadScope::Worker),
            Self::Unavailable => RefusalClass::Unavailable,
        }
    }

    /// Whether the answer is an overload response, whatever its number.
    pub const fn is_overload(self) -> bool {
        !matches!(self, Self::Unavailable)
    }

    /// HTTP status of the answer.
    pub const fn http_status(self, overload: OverloadStatus) -> u16 {
        if self.is_overload() { overload.0 } else { UNAVAILABLE_STATUS }
    }
}

/// The status of overload responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OverloadStatus(u16);

/// A number that is no overload status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an overload status must be a whole number from 200 to 999, got `{0}`")]
pub struct OverloadStatusError(pub u16);

impl Default for OverloadStatus {
    /// 529.
    fn default() -> Self {
        Self(529)
    }
}

impl OverloadStatus {
    /// Environment variable that sets it.
    pub const ENVIRONMENT: &'static str = "DYN_HTTP_OVERLOAD_STATUS_CODE";

    /// The status `code`.
    ///
    /// # Errors
    /// A code below 200 or above 999.
    pub const fn new(code: u16) -> Result<Self, OverloadStatusError> {
        if code >= 200 && code <= 999 { Ok(Self(code)) } else { Err(OverloadStatusError(code)) }
    }

    /// The status a frontend takes from its environment: blanks around the number are ignored, and whatever is no
    /// status from 200 to 999, or not there, is 529.
    pub fn from_environment(text: Option<&str>) -> Self {
        let code = text.and_then(|t| t.trim().parse::<u16>().ok());
        code.and_then(|code| Self::new(code).ok()).unwrap_or_default()
    }

    /// The number.
    pub const fn code(self) -> u16 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_falls_back_to_529() {
        let code = |text: &str| OverloadStatus::from_environment(Some(text)).code();
        assert_eq!(OverloadStatus::from_environment(None).code(), 529);
        for (text, expected) in [("503", 503), (" 429\n", 429), ("200", 200), ("999", 999)] {
            assert_eq!(code(text), expected, "{text:?}");
        }
        for text in ["", "199", "1000", "0", "-503", "5 03", "503.0", "busy", "99999999"] {
            assert_eq!(code(text), 529, "{text:?}");
        }
    }

    #[test]
    fn the_class_does_not_depend_on_the_number() {
        let as_503 = OverloadStatus::new(503).unwrap();
        assert_eq!(RefusalReason::WorkerAtCapacity.http_status(as_503), 503);
        assert!(RefusalReason::WorkerAtCapacity.is_overload());
        assert_eq!(RefusalReason::Unavailable.http_status(OverloadStatus::default()), 503);
        assert_eq!(RefusalReason::Unavailable.class(), RefusalClass::Unavailable);
        assert_eq!(RefusalReason::AllWorkersBusy.class(), RefusalClass::Overloaded(OverloadScope::Pool));
        assert_eq!(OverloadStatus::new(199), Err(OverloadStatusError(199)));
    }

    #[test]
    fn names_are_those_of_the_serialised_form() {
        for reason in RefusalReason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
    }
}
