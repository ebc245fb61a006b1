//! What clients do with an answer they did not want: try again, later or never.

use super::config::{Backoff, ClientConfig, Jitter, RetryPolicy};
use super::request::Request;
use crate::engine::Streams;
use crate::units::Span;

/// The clients of a run.
#[derive(Clone, Debug)]
pub struct Clients {
    retry: Option<RetryPolicy>,
    streams: Streams,
    /// What refusals ask clients to wait, where they obey.
    retry_after: Option<Span>,
    /// Retry throttle, in thousandths of a token.
    budget: u64,
}

/// Thousandths in a token.
const MILLI: f64 = 1000.0;

/// Why an attempt brought no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The frontend refused with this status.
    Refused(u16),
    /// The answer broke off with this status.
    Broken(u16),
    /// The client's own patience ran out.
    Timeout,
}

impl Clients {
    /// Clients that behave as `config` says, of frontends whose refusals carry `retry_after`.
    pub fn new(config: &ClientConfig, retry_after: Option<Span>, streams: Streams) -> Self {
        let retry = config.retry.clone();
        let retry_after = retry_after.filter(|_| retry.as_ref().is_some_and(|retry| retry.obey_retry_after));
        let budget = retry.as_ref().and_then(|r| r.budget).map_or(0, |b| (b.max_tokens * MILLI) as u64);
        Self { retry, streams, retry_after, budget }
    }

    /// An attempt failed: when to try again, if at all.
    pub fn after(&mut self, request: &Request, failure: Failure) -> Option<Span> {
        let policy = self.retry.as_ref()?;
        let wanted = match failure {
            Failure::Refused(status) | Failure::Broken(status) => policy.statuses.contains(&status),
            Failure::Timeout => policy.on_timeout,
        };
        if !wanted {
            return None;
        }
        if let Some(budget) = policy.budget {
            // gRPC's retry throttle: a failure takes a token; retries stop at half of them (gRFC A6).
            self.budget = self.budget.saturating_sub(MILLI as u64);
            if self.budget as f64 <= budget.max_tokens * MILLI / 2.0 {
                return None;
            }
        }
        let delay = match (failure, policy.timeout_delay) {
            (Failure::Timeout, Some(delay)) => delay,
            (Failure::Refused(_), _) => self.back_off(policy, request).max(self.retry_after.unwrap_or(Span::ZERO)),
            _ => self.back_off(policy, request),
        };
        (request.attempts < policy.attempts).then_some(delay)
    }

    /// An attempt was answered.
    pub fn succeeded(&mut self) {
        if let Some(budget) = self.retry.as_ref().and_then(|r| r.budget) {
            let most = (budget.max_tokens * MILLI) as u64;
            self.budget = (self.budget + (budget.token_ratio * MILLI) as u64).min(most);
        }
    }

    fn back_off(&self, policy: &RetryPolicy, request: &Request) -> Span {
        let doublings = match policy.backoff {
            Backoff::Fixed => 0,
            Backoff::Exponential => (request.attempts - 1).min(63),
        };
        let full = policy.initial.saturating_mul(1 << doublings).min(policy.max.unwrap_or(Span::MAX));
        match policy.jitter {
            Jitter::None => full,
            Jitter::Full => self.uniform(request, full),
            Jitter::Equal => {
                let half = Span::from_nanos(full.as_nanos() / 2);
                half + self.uniform(request, Span::from_nanos(full.as_nanos() - half.as_nanos()))
            }
        }
    }

    /// Uniform in [0, `most`], by a stream of the request's own, so that no policy shifts another's draws.
    fn uniform(&self, request: &Request, most: Span) -> Span {
        let mut rng = self.streams.stream("backoff", request.id ^ u64::from(request.attempts) << 40);
        let n = most.as_nanos();
        Span::from_nanos(if n == u64::MAX { rng.bits() } else { rng.below(n + 1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::config::RetryBudget;
    use crate::cluster::request::Sender;
    use crate::units::SimTime;
    use crate::workload::{ClassId, RequestSpec};

    fn policy() -> RetryPolicy {
        RetryPolicy {
            statuses: vec![529],
            attempts: 4,
            backoff: Backoff::Exponential,
            initial: Span::from_millis(100),
            max: Some(Span::from_millis(300)),
            jitter: Jitter::None,
            on_timeout: false,
            timeout_delay: None,
            budget: None,
            obey_retry_after: true,
        }
    }

    fn clients(retry: RetryPolicy) -> Clients {
        Clients::new(&ClientConfig { retry: Some(retry), ..ClientConfig::default() }, None, Streams::new(1))
    }

    fn request(attempts: u32) -> Request {
        let spec = RequestSpec {
            arrival: SimTime::ZERO,
            input_tokens: 1,
            output_tokens: 1,
            class: ClassId(0),
            service_time: None,
            worker: None,
            session: None,
            stream: None,
            row: 0,
        };
        let mut request = Request::new(7, Sender::World, SimTime::ZERO, &spec);
        request.attempts = attempts;
        request
    }

    #[test]
    fn a_back_off_doubles_to_its_bound_and_attempts_run_out() {
        let mut clients = clients(policy());
        let waits: Vec<Option<u64>> =
            (1..=4).map(|n| clients.after(&request(n), Failure::Refused(529)).map(|s| s.as_nanos() / 1_000_000)).collect();
        assert_eq!(waits, [Some(100), Some(200), Some(300), None]);
        assert_eq!(clients.after(&request(1), Failure::Refused(503)), None, "a status that is not listed");
        assert_eq!(clients.after(&request(1), Failure::Timeout), None, "time-outs are not retried");
    }

    #[test]
    fn a_retry_after_holds_back_who_was_refused_and_obeys() {
        let wait = |obey_retry_after, failure| {
            let retry = RetryPolicy { obey_retry_after, statuses: vec![529, 500], on_timeout: true, ..policy() };
            let config = ClientConfig { retry: Some(retry), ..ClientConfig::default() };
            let mut clients = Clients::new(&config, Some(Span::from_millis(250)), Streams::new(1));
            [1, 3].map(|n| clients.after(&request(n), failure).map(|s| s.as_nanos() / 1_000_000))
        };
        assert_eq!(wait(true, Failure::Refused(529)), [Some(250), Some(300)], "the longer of the two");
        assert_eq!(wait(false, Failure::Refused(529)), [Some(100), Some(300)]);
        // Neither a broken answer nor silence carries a header.
        assert_eq!(wait(true, Failure::Broken(500)), [Some(100), Some(300)]);
        assert_eq!(wait(true, Failure::Timeout), [Some(100), Some(300)]);
    }

    #[test]
    fn jitter_stays_in_its_range_and_repeats_for_the_same_request() {
        for (jitter, low) in [(Jitter::Full, 0), (Jitter::Equal, 50_000_000)] {
            let mut clients = clients(RetryPolicy { jitter, ..policy() });
            let wait = clients.after(&request(1), Failure::Refused(529)).expect("retried");
            assert!((low..=100_000_000).contains(&wait.as_nanos()), "{jitter:?}: {wait}");
            assert_eq!(clients.after(&request(1), Failure::Refused(529)), Some(wait));
        }
    }

    /// Case 37 of the public reports: 100 requests in sequence, all failing, ten tokens.
    #[test]
    fn a_token_throttle_holds_retries_to_three_percent() {
        let budget = RetryBudget { max_tokens: 10.0, token_ratio: 0.1 };
        let attempts = |policy: RetryPolicy| {
            let mut clients = clients(policy);
            let mut total = 0;
            for _ in 0..100 {
                let mut n = 1;
                while clients.after(&request(n), Failure::Refused(529)).is_some() {
                    n += 1;
                }
                total += n;
            }
            total
        };
        assert_eq!(attempts(RetryPolicy { budget: Some(budget), ..policy() }), 103);
        assert_eq!(attempts(policy()), 400);
    }
}
