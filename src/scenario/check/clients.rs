//! What the clients of a scenario give reason to warn of.

use super::Checker;
use crate::cluster::config::{Backoff, ClosedLoop, RetryPolicy};
use crate::control::status::{BROKEN_STATUS, UNAVAILABLE_STATUS};
use crate::scenario::warning::codes;

/// Statuses from here on are errors to an HTTP client.
const FIRST_ERROR_STATUS: u16 = 400;

impl Checker<'_> {
    pub(super) fn clients(&mut self) {
        if self.scenario.clients.sessions.is_some() && self.scenario.workload.streams.is_empty() {
            let because = "generated arrivals alone begin sessions, and the workload has none";
            self.no_effect("clients.sessions", because, "remove it; a trace has sessions of its own (`sessions = \"follow\"`)");
        }
        let status = self.scenario.frontend.overload_status_code;
        if status < FIRST_ERROR_STATUS {
            let cause = format!(
                "is {status}, which real clients take for a success or a redirection; simulated ones know it for a refusal"
            );
            let next_step = "use 529, 503 or 429, unless this is what you want to see";
            self.warn(codes::STATUS_IS_NO_ERROR, "frontend.overload_status_code", cause, next_step);
        }
        let clients = &self.scenario.clients;
        let patient = clients.patience.is_none() && clients.patience_first_token.is_none();
        if patient && !clients.server_notices {
            self.no_effect("clients.server_notices", "clients are patient and never leave", "set `patience`, or remove it");
        }
        if let Some(retry) = clients.retry.clone() {
            self.retry(&retry, patient);
        }
        if let Some(users) = self.scenario.clients.closed_loop.clone() {
            self.users(&users);
        }
    }

    fn retry(&mut self, retry: &RetryPolicy, patient: bool) {
        if patient && retry.on_timeout {
            self.no_effect("clients.retry.on_timeout", "clients are patient: nothing times out", "set `patience`, or remove it");
        }
        if retry.timeout_delay.is_some() && !retry.on_timeout {
            self.no_effect("clients.retry.timeout_delay", "`on_timeout` is off", "switch `on_timeout` on, or remove it");
        }
        if retry.max.is_some() && retry.backoff == Backoff::Fixed {
            self.no_effect(
                "clients.retry.max",
                "a fixed back-off does not grow",
                "use `backoff = \"exponential\"`, or remove it",
            );
        }
        if retry.attempts == 1 {
            self.no_effect("clients.retry", "`attempts` counts the first one and is 1", "raise `attempts`, or remove it");
        }
        let overload = self.scenario.frontend.overload_status_code;
        let answered = [overload, UNAVAILABLE_STATUS, BROKEN_STATUS];
        if !retry.statuses.iter().any(|status| answered.contains(status)) {
            let because = format!(
                "no answer has any of its statuses: a refusal has {overload} (`frontend.overload_status_code`), a fleet without usable \
                 worker {UNAVAILABLE_STATUS}, an answer that breaks off {BROKEN_STATUS}"
            );
            self.no_effect(
                "clients.retry.statuses",
                &because,
                &format!("add {overload}, or change `frontend.overload_status_code`"),
            );
        }
    }

    /// Users who do not think, more of them than the gates hold: one is refused at once, and sends again at once.
    fn users(&mut self, closed: &ClosedLoop) {
        let Some(room) = self.room().filter(|room| u64::from(closed.users) > *room) else { return };
        if !closed.think_time.is_always_zero() || self.refused_wait() {
            return;
        }
        let held = match room {
            0 => "a fleet without workers answers them at once".to_owned(),
            room => format!("the gates hold {room} requests (N + Q of all workers) and refuse at once"),
        };
        let cause = format!(
            "has {} who do not think, and {held}: who is refused sends again at the same instant, and simulated time stands still",
            if closed.users == 1 { "1 user".to_owned() } else { format!("{} users", closed.users) }
        );
        let next_step = "give users a `think_time`, let `clients.retry` wait, or have no more users than the gates hold";
        self.warn(codes::TIME_STANDS_STILL, "clients.closed_loop", cause, next_step);
    }

    /// Requests that the workers of the start hold at most; `None` where one of them has no gate.
    fn room(&self) -> Option<u64> {
        let present = self.scenario.fleet.types.iter().filter(|t| t.workers > 0);
        present
            .map(|t| Some(u64::from(t.workers) * (u64::from(t.engine_request_limit?) + u64::from(t.request_queue_limit))))
            .sum()
    }

    /// Whether clients wait before they try again what was refused.
    fn refused_wait(&self) -> bool {
        let (frontend, retry) = (&self.scenario.frontend, &self.scenario.clients.retry);
        let status = if self.scenario.fleet.types.iter().any(|t| t.workers > 0) {
            frontend.overload_status_code
        } else {
            UNAVAILABLE_STATUS
        };
        retry.as_ref().is_some_and(|retry| {
            let obeyed = retry.obey_retry_after && frontend.retry_after.is_some_and(|wait| !wait.is_zero());
            retry.statuses.contains(&status) && retry.attempts > 1 && (!retry.initial.is_zero() || obeyed)
        })
    }
}
