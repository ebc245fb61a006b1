//! What is told of the one request whose story is wanted.

use super::Simulation;
use crate::cluster::batching::StepGroup;
use crate::cluster::observer::Observer;
use crate::cluster::story::{StoryEvent, WorkerView};
use crate::control::WorkerId;

impl<G: StepGroup, O: Observer> Simulation<'_, G, O> {
    /// Tells what happens to `request`, if its story is wanted.
    #[inline]
    pub(super) fn tell(&mut self, request: u64, event: impl FnOnce() -> StoryEvent) {
        if self.followed == Some(request) {
            self.observer.story(self.now, event());
        }
    }

    /// Every worker as the attempt's frontend sees it now, if the story of its request is wanted.
    pub(super) fn views_for_story(&mut self, index: u32) -> Option<Vec<WorkerView>> {
        let attempt = &self.attempts[index];
        if self.followed != Some(attempt.id) {
            return None;
        }
        let control = &mut self.frontends[attempt.frontend as usize].control;
        control.advance(self.now);
        let (router, monitor) = (control.router(), control.monitor());
        let view = |worker: &crate::cluster::worker::Worker| {
            let id = WorkerId(worker.id);
            let mut firing = Vec::new();
            monitor.firing(id, &mut firing);
            WorkerView {
                worker: worker.id,
                discovered: router.is_discovered(id),
                present: worker.present,
                down: router.is_discovered(id) && !router.is_routable(id),
                busy: router.is_busy(id),
                leased_until: router.lease_of(id).map(|lease| lease.until),
                firing,
                gate: worker.gate_state(),
                tried: attempt.tried().contains(&id),
            }
        };
        Some(self.workers.iter().map(view).collect())
    }
}
