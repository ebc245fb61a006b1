//! The push router's view of its workers: discovered, routable, excluded, eligible.

use super::ids::{WorkerId, WorkerMap, ascending};
use crate::units::{SimTime, Span};

/// The exclusion of a worker that answered "at capacity".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The worker.
    pub worker: WorkerId,
    /// When the last refusal set it.
    pub since: SimTime,
    /// From this instant on the worker is not excluded by it any more.
    pub until: SimTime,
}

#[derive(Clone, Copy, Debug, Default)]
struct Member {
    discovered: bool,
    down: bool,
    busy: bool,
    leased: bool,
    eligible: bool,
}

impl Member {
    fn routable(self) -> bool {
        self.discovered && !self.down
    }
}

/// How long the two marks of the request path last. A zero length switches the mark off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterTimes {
    /// Length of a lease.
    pub overload_lease: Span,
    /// Period of the reconciliation that brings reported-down workers back (`DYN_RUNTIME_INHIBITED_DURATION_SECS`).
    pub inhibited_duration: Span,
}

impl Default for RouterTimes {
    /// 1 s and 5 s, as in the release.
    fn default() -> Self {
        Self { overload_lease: Span::from_secs(1), inhibited_duration: Span::from_secs(5) }
    }
}

/// Which workers of one frontend can be picked.
///
/// The list of eligible workers is kept up to date change by change, so that a pick costs nothing but itself. Leases
/// and inhibitions run out when the caller comes with a later `now`.
#[derive(Clone, Debug)]
pub struct PushRouter {
    times: RouterTimes,
    members: WorkerMap<Member>,
    eligible: Vec<WorkerId>,
    routable: usize,
    leases: Vec<Lease>,
    /// The earliest end of a lease.
    next_expiry: SimTime,
    /// The last discovery change, from which reconciliations are counted.
    reconciled_from: SimTime,
    /// The next reconciliation, while a worker is reported down.
    next_reconcile: Option<SimTime>,
    /// Workers whose eligibility changed since [`PushRouter::take_changes`]; `None` where they are too many to list.
    changes: Option<Vec<WorkerId>>,
}

/// Changes of eligibility a router lists before it says "look at all of them": nobody may ever ask.
const MOST_LISTED_CHANGES: usize = 256;

impl PushRouter {
    /// A router that knows no worker.
    pub fn new(times: RouterTimes) -> Self {
        Self {
            times,
            members: WorkerMap::default(),
            eligible: Vec::new(),
            routable: 0,
            leases: Vec::new(),
            next_expiry: SimTime::NEVER,
            reconciled_from: SimTime::ZERO,
            next_reconcile: None,
            changes: None,
        }
    }

    /// Calls `changed` with each worker that became eligible or ceased to be since the last call, and returns `true`; or
    /// returns `false` where the caller has to look at all of [`Self::eligible`].
    #[inline]
    pub(crate) fn take_changes(&mut self, mut changed: impl FnMut(WorkerId, bool)) -> bool {
        match &mut self.changes {
            Some(list) => {
                for worker in list.drain(..) {
                    changed(worker, self.members.get(worker).is_some_and(|m| m.eligible));
                }
                true
            }
            none => {
                *none = Some(Vec::new());
                false
            }
        }
    }

    /// Replaces the registered workers and brings every reported-down one of them back.
    pub(crate) fn discover(&mut self, now: SimTime, workers: &[WorkerId]) {
        let workers = ascending(workers);
        self.reconciled_from = now;
        self.next_reconcile = None;
        for &id in &workers {
            self.members.entry(id, Member::default);
        }
        let mut gone = Vec::new();
        for (id, member) in self.members.iter_mut() {
            let was = member.routable();
            member.discovered = workers.binary_search(&id).is_ok();
            member.down = false;
            if was && !member.discovered {
                gone.push(id);
            }
        }
        for id in gone {
            self.forget(id);
        }
        self.rebuild();
    }

    /// Takes a worker out until the next reconciliation; `false` where that changes nothing.
    pub(crate) fn report_down(&mut self, now: SimTime, worker: WorkerId) -> bool {
        if self.times.inhibited_duration.is_zero() {
            return false;
        }
        match self.members.get_mut(worker) {
            Some(member) if member.routable() => member.down = true,
            _ => return false,
        }
        self.forget(worker);
        self.rebuild();
        if self.next_reconcile.is_none() {
            // The timer runs on from the last discovery change, whether or not it has anything to do.
            let period = self.times.inhibited_duration;
            let passed = now.since(self.reconciled_from).as_nanos() / period.as_nanos() + 1;
            self.next_reconcile = Some(self.reconciled_from.saturating_add(period.saturating_mul(passed)));
        }
        true
    }

    /// Brings every reported-down worker back; `false` where there is none.
    pub(crate) fn reconcile(&mut self) -> bool {
        self.next_reconcile = None;
        let mut any = false;
        for (_, member) in self.members.iter_mut() {
            any |= std::mem::take(&mut member.down);
        }
        if any {
            self.rebuild();
        }
        any
    }

    /// Drops the marks of workers that a runtime configuration left out; they stay registered.
    pub(crate) fn drop_marks(&mut self, workers: &[WorkerId]) {
        for &worker in workers {
            self.forget(worker);
        }
        self.rebuild();
    }

    /// Drops the marks of a worker that left.
    fn forget(&mut self, worker: WorkerId) {
        self.leases.retain(|lease| lease.worker != worker);
        if let Some(member) = self.members.get_mut(worker) {
            (member.busy, member.leased) = (false, false);
        }
        self.note_next_expiry();
    }

    fn rebuild(&mut self) {
        self.members.retain(|_, m| m.discovered || m.leased || m.busy);
        self.eligible.clear();
        self.changes = None;
        self.routable = 0;
        for (id, member) in self.members.iter_mut() {
            member.eligible = member.routable() && !member.busy && !member.leased;
            self.routable += usize::from(member.routable());
            if member.eligible {
                self.eligible.push(id);
            }
        }
    }

    /// Changes the marks of a worker and its place in the eligible list.
    fn update(&mut self, worker: WorkerId, change: impl FnOnce(&mut Member)) {
        let member = self.members.entry(worker, Member::default);
        change(member);
        let eligible = member.routable() && !member.busy && !member.leased;
        if member.eligible == eligible {
            return;
        }
        member.eligible = eligible;
        match &mut self.changes {
            Some(list) if list.len() < MOST_LISTED_CHANGES => list.push(worker),
            changes => *changes = None,
        }
        match self.eligible.binary_search(&worker) {
            Ok(at) => _ = self.eligible.remove(at),
            Err(at) => self.eligible.insert(at, worker),
        }
    }

    /// Takes over a change of the monitor's set.
    pub(crate) fn set_busy(&mut self, worker: WorkerId, busy: bool) {
        self.update(worker, |member| member.busy = busy);
    }

    /// A worker answered "at capacity": its lease starts (again).
    pub(crate) fn lease(&mut self, now: SimTime, worker: WorkerId) {
        if self.times.overload_lease.is_zero() {
            return;
        }
        self.leases.retain(|lease| lease.worker != worker);
        self.leases.push(Lease { worker, since: now, until: now.saturating_add(self.times.overload_lease) });
        self.update(worker, |member| member.leased = true);
        self.note_next_expiry();
    }

    /// Ends every lease.
    pub(crate) fn clear_leases(&mut self) {
        while let Some(lease) = self.leases.pop() {
            self.update(lease.worker, |member| member.leased = false);
        }
        self.next_expiry = SimTime::NEVER;
    }

    /// Ends the leases whose time is over at `now`.
    #[inline]
    pub(crate) fn expire(&mut self, now: SimTime) {
        if now < self.next_expiry {
            return;
        }
        while let Some(at) = self.leases.iter().position(|lease| lease.until <= now) {
            let lease = self.leases.remove(at);
            self.update(lease.worker, |member| member.leased = false);
        }
        self.note_next_expiry();
    }

    fn note_next_expiry(&mut self) {
        self.next_expiry = self.leases.iter().map(|lease| lease.until).min().unwrap_or(SimTime::NEVER);
    }

    /// The workers that can be picked, ascending.
    #[inline]
    pub fn eligible(&self) -> &[WorkerId] {
        &self.eligible
    }

    /// Whether `worker` can be picked.
    pub fn is_eligible(&self, worker: WorkerId) -> bool {
        self.members.get(worker).is_some_and(|m| m.eligible)
    }

    /// The workers that are discovered and not reported down, ascending.
    pub fn routable(&self) -> impl Iterator<Item = WorkerId> {
        self.members.iter().filter(|(_, m)| m.routable()).map(|(id, _)| id)
    }

    /// How many workers are routable.
    pub fn routable_count(&self) -> usize {
        self.routable
    }

    /// Whether `worker` is discovered and not reported down.
    pub fn is_routable(&self, worker: WorkerId) -> bool {
        self.members.get(worker).is_some_and(|m| m.routable())
    }

    /// Whether `worker` is registered.
    pub fn is_discovered(&self, worker: WorkerId) -> bool {
        self.members.get(worker).is_some_and(|m| m.discovered)
    }

    /// The registered workers that are reported down, ascending.
    pub fn reported_down(&self) -> impl Iterator<Item = WorkerId> {
        self.members.iter().filter(|(_, m)| m.down).map(|(id, _)| id)
    }

    /// The excluded workers (busy as published, or under a lease), ascending; some may not be routable.
    pub fn excluded(&self) -> impl Iterator<Item = WorkerId> {
        self.members.iter().filter(|(_, m)| m.busy || m.leased).map(|(id, _)| id)
    }

    /// Whether `worker` is busy by the published set.
    pub fn is_busy(&self, worker: WorkerId) -> bool {
        self.members.get(worker).is_some_and(|m| m.busy)
    }

    /// The leases in force, in the order in which they were set.
    pub fn leases(&self) -> &[Lease] {
        &self.leases
    }

    /// The lease of `worker`, if one is in force.
    pub fn lease_of(&self, worker: WorkerId) -> Option<&Lease> {
        self.leases.iter().find(|lease| lease.worker == worker)
    }

    /// The earliest end of a lease in force, if there is one.
    pub fn next_lease_expiry(&self) -> Option<SimTime> {
        (!self.leases.is_empty()).then_some(self.next_expiry)
    }

    /// When the next reconciliation that changes anything is due.
    pub fn next_reconcile(&self) -> Option<SimTime> {
        self.next_reconcile
    }
}
