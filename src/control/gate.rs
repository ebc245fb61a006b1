//! Admission at a worker: N engine slots and an overflow queue of Q.

use std::collections::VecDeque;

/// N and Q of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateLimits {
    engine_request_limit: u32,
    request_queue_limit: u32,
}

/// Limits that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateLimitsError {
    /// N = 0.
    #[error("engine_request_limit must be 1 or more, got `0`")]
    NoEngineSlot,
    /// Q below 2: the dispatcher's hand and the channel hold one request each at least.
    #[error("request_queue_limit must be 2 or more, got `{0}`")]
    QueueTooShort(u32),
}

impl GateLimits {
    /// Q where nothing is said.
    pub const DEFAULT_REQUEST_QUEUE_LIMIT: u32 = 16;
    /// Environment variable of Q.
    pub const QUEUE_ENVIRONMENT: &'static str = "DYN_DYNAMO_REQUEST_QUEUE_LIMIT";
    /// What the release still has where no `engine_request_limit` is set: a pool of 10,000 and a channel of 40,000.
    pub const UNSET: Self = Self { engine_request_limit: 10_000, request_queue_limit: 40_001 };

    /// N = `engine_request_limit`, 1 or more, and Q = `request_queue_limit`, 2 or more.
    ///
    /// # Errors
    /// A limit below its minimum.
    pub const fn new(engine_request_limit: u32, request_queue_limit: u32) -> Result<Self, GateLimitsError> {
        match (engine_request_limit, request_queue_limit) {
            (0, _) => Err(GateLimitsError::NoEngineSlot),
            (_, short @ 0..2) => Err(GateLimitsError::QueueTooShort(short)),
            _ => Ok(Self { engine_request_limit, request_queue_limit }),
        }
    }

    /// The limits the release acts by, which lifts each to its minimum.
    pub fn clamped(engine_request_limit: u32, request_queue_limit: u32) -> Self {
        Self { engine_request_limit: engine_request_limit.max(1), request_queue_limit: request_queue_limit.max(2) }
    }

    /// N, engine slots.
    pub const fn engine_request_limit(&self) -> u32 {
        self.engine_request_limit
    }

    /// Q, requests that may wait.
    pub const fn request_queue_limit(&self) -> u32 {
        self.request_queue_limit
    }
}

/// What a gate does with a request that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It has an engine slot.
    Direct,
    /// It waits in the overflow queue.
    Queued,
    /// `Server overloaded: worker at capacity`.
    Rejected,
}

impl Admission {
    /// Name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Queued => "queued",
            Self::Rejected => "rejected",
        }
    }
}

/// The gate of one worker, for requests named by `T`.
///
/// The overflow queue is a channel of Q - 1 and a dispatcher that takes its head out and holds it while it waits for a
/// slot, so at most N + Q requests are inside.
#[derive(Clone, Debug)]
pub struct AdmissionGate<T> {
    limits: GateLimits,
    in_engine: u32,
    held: Option<T>,
    channel: VecDeque<T>,
    rejected: u64,
}

impl<T> AdmissionGate<T> {
    /// An empty gate.
    pub fn new(limits: GateLimits) -> Self {
        Self { limits, in_engine: 0, held: None, channel: VecDeque::new(), rejected: 0 }
    }

    /// A request arrives.
    #[inline]
    pub fn arrive(&mut self, request: T) -> Admission {
        // A free slot with a request waiting cannot be: freed slots go to the dispatcher's request at once.
        if self.in_engine < self.limits.engine_request_limit {
            debug_assert!(self.held.is_none() && self.channel.is_empty(), "a slot is free only while nobody waits");
            self.in_engine += 1;
            return Admission::Direct;
        }
        if self.held.is_none() {
            self.held = Some(request);
            return Admission::Queued;
        }
        if self.channel.len() < self.limits.request_queue_limit as usize - 1 {
            self.channel.push_back(request);
            return Admission::Queued;
        }
        self.rejected += 1;
        Admission::Rejected
    }

    /// A request in the engine is over and gives back its slot. Returns the request that gets the slot.
    ///
    /// A waiting request whose client left (`gone`) kept its place until now: it takes the slot in its turn and gives it
    /// back at once. `gone` is asked once about each request that leaves the queue, in order.
    ///
    /// # Panics
    /// If the engine is empty.
    pub fn complete(&mut self, mut gone: impl FnMut(&T) -> bool) -> Option<T> {
        self.in_engine = self.in_engine.checked_sub(1).expect("only a request in the engine completes");
        loop {
            let next = self.held.take()?;
            self.held = self.channel.pop_front();
            if !gone(&next) {
                self.in_engine += 1;
                return Some(next);
            }
        }
    }

    /// Everybody inside is lost with the worker; the refusal counter stays.
    pub fn clear(&mut self) {
        self.in_engine = 0;
        self.held = None;
        self.channel.clear();
    }

    /// Its limits.
    pub fn limits(&self) -> GateLimits {
        self.limits
    }

    /// Slots in use: the gauge `dynamo_engine_request`.
    pub fn in_engine(&self) -> u32 {
        self.in_engine
    }

    /// Requests that wait, the dispatcher's included.
    pub fn queued(&self) -> usize {
        self.channel.len() + usize::from(self.held.is_some())
    }

    /// The gauge `dynamo_request_queue`: the channel only, which reads at most Q - 1.
    pub fn queue_gauge(&self) -> usize {
        self.channel.len()
    }

    /// The counter `dynamo_rejection_request_total`.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Whether a request that arrived now would be refused.
    pub fn is_full(&self) -> bool {
        self.in_engine >= self.limits.engine_request_limit && self.queued() >= self.limits.request_queue_limit as usize
    }

    /// The waiting requests in the order in which they will get slots.
    pub fn waiting(&self) -> impl Iterator<Item = &T> {
        self.held.iter().chain(&self.channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn inside(n: u32, q: u32, arrivals: u32) -> usize {
        let mut gate = AdmissionGate::new(GateLimits::clamped(n, q));
        (0..arrivals).filter(|&id| gate.arrive(id) != Admission::Rejected).count()
    }

    #[test]
    fn exactly_n_plus_q_get_in_and_the_release_lifts_small_queues() {
        assert_eq!(inside(2, GateLimits::DEFAULT_REQUEST_QUEUE_LIMIT, 20), 18);
        assert_eq!([0, 1, 2, 3].map(|q| inside(2, q, 10)), [4, 4, 4, 5]);
        assert_eq!(inside(0, 2, 10), 3);
        assert_eq!(GateLimits::new(0, 2), Err(GateLimitsError::NoEngineSlot));
        assert_eq!(GateLimits::new(2, 1), Err(GateLimitsError::QueueTooShort(1)));
    }

    #[test]
    fn a_client_that_left_keeps_its_place_until_its_turn() {
        let mut gate = AdmissionGate::new(GateLimits::new(1, 3).unwrap());
        for id in 0..4 {
            assert_ne!(gate.arrive(id), Admission::Rejected);
        }
        // 1 and 2 leave; the queue stays full.
        assert_eq!(gate.arrive(9), Admission::Rejected);
        let mut passed = Vec::new();
        let started = gate.complete(|&id| {
            passed.push(id);
            id < 3
        });
        assert_eq!((started, passed, gate.queued(), gate.in_engine()), (Some(3), vec![1, 2, 3], 0, 1));
        assert_eq!(gate.complete(|_| false), None);
        assert_eq!(gate.in_engine(), 0);
    }

    proptest! {
        #[test]
        fn nobody_is_lost_and_the_order_is_first_come(n in 1u32..4, q in 2u32..5, moves in prop::collection::vec(any::<bool>(), 0..200)) {
            let mut gate = AdmissionGate::new(GateLimits::new(n, q).unwrap());
            let (mut engine, mut started) = (0u32, Vec::new());
            for (id, arrive) in moves.into_iter().enumerate() {
                if arrive {
                    let full = gate.is_full();
                    match gate.arrive(id) {
                        Admission::Direct => { engine += 1; started.push(id); prop_assert!(engine <= n); }
                        Admission::Queued => prop_assert_eq!(engine, n),
                        Admission::Rejected => prop_assert!(full),
                    }
                } else if engine > 0 {
                    match gate.complete(|_| false) {
                        Some(id) => started.push(id),
                        None => engine -= 1,
                    }
                }
                prop_assert_eq!(gate.in_engine(), engine);
                prop_assert!(gate.queued() as u32 <= q && (gate.queue_gauge() as u32) < q);
            }
            prop_assert!(started.is_sorted());
        }
    }
}
