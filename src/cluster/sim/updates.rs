//! Threshold updates on their way from "stored" to "in force", one frontend at a time.

use crate::cluster::observer::{Observer, UpdateStage};
use crate::cluster::worker::Worker;
use crate::control::{LoadOutcome, WorkerId, WorkerMonitor};
use crate::units::SimTime;

/// The updates that are stored and not yet in force everywhere: at most one per frontend, since a later one replaces it.
#[derive(Clone, Debug)]
pub struct Updates {
    posts: u32,
    pending: Vec<Option<Pending>>,
    /// The last post that changed thresholds, while no decision has differed for it.
    without_effect: Vec<Option<u32>>,
}

#[derive(Clone, Debug)]
struct Pending {
    post: u32,
    noticed: bool,
    /// Workers whose state rests on the new thresholds alone.
    current: Vec<bool>,
}

impl Updates {
    /// No update at any of `frontends` frontends.
    pub fn new(frontends: u32) -> Self {
        Self { posts: 0, pending: vec![None; frontends as usize], without_effect: vec![None; frontends as usize] }
    }

    /// Numbers a post.
    pub fn next_post(&mut self) -> u32 {
        self.posts += 1;
        self.posts - 1
    }

    /// Whether a frontend holds thresholds that are not yet in force everywhere.
    pub fn is_pending(&self, frontend: u32) -> bool {
        self.pending[frontend as usize].is_some()
    }

    /// Another post is about to replace the last one of a frontend: what that has not reached by now it never will.
    pub fn superseded(&mut self, now: SimTime, frontend: u32, observer: &mut impl Observer) {
        let frontend_at = frontend as usize;
        let pending = self.pending[frontend_at].take().map(|pending| pending.post);
        if let Some(post) = pending.or(self.without_effect[frontend_at].take()) {
            observer.update_stage(now, post, frontend, UpdateStage::Superseded);
        }
    }

    /// A post changed what a frontend stores.
    pub fn posted(&mut self, post: u32, frontend: u32) {
        self.pending[frontend as usize] = Some(Pending { post, noticed: false, current: Vec::new() });
        self.without_effect[frontend as usize] = Some(post);
    }

    /// A frontend took a decision that would have been another one without its last post.
    pub fn took_effect(&mut self, now: SimTime, frontend: u32, observer: &mut impl Observer) {
        if let Some(post) = self.without_effect[frontend as usize].take() {
            observer.update_stage(now, post, frontend, UpdateStage::Effect);
        }
    }

    /// A frontend whose update is pending took in an event: `worker`'s, or one that may concern all.
    pub fn moved(
        &mut self,
        now: SimTime,
        frontend: u32,
        worker: Option<WorkerId>,
        outcome: LoadOutcome,
        monitor: &WorkerMonitor,
        observer: &mut impl Observer,
    ) {
        let slot = &mut self.pending[frontend as usize];
        let Some(pending) = slot else { return };
        let mut all = worker.is_none();
        if !pending.noticed && (outcome.noticed || monitor.noticed_version() == monitor.thresholds_version()) {
            pending.noticed = true;
            all = true;
            observer.update_stage(now, pending.post, frontend, UpdateStage::Noticed);
        }
        if !pending.noticed {
            return;
        }
        let one = worker.filter(|_| !all);
        let news = match one {
            Some(id) => pending.check(now, frontend, id, monitor, observer),
            None => monitor.workers().fold(false, |news, (id, _)| pending.check(now, frontend, id, monitor, observer) || news),
        };
        if (news || all) && monitor.workers().all(|(id, _)| monitor.is_current(id)) {
            observer.update_stage(now, pending.post, frontend, UpdateStage::All);
            *slot = None;
        }
    }

    /// What is pending at the end of the run: the workers that never got there, with the ranks that kept silent.
    pub fn at_end(&self, frontend: u32, monitor: &WorkerMonitor, mut tell: impl FnMut(u32, u32, Vec<u32>)) {
        let Some(pending) = &self.pending[frontend as usize] else { return };
        for (id, _) in monitor.workers().filter(|(id, _)| !monitor.is_current(*id)) {
            tell(pending.post, id.0, monitor.outdated_ranks(id).collect());
        }
    }
}

impl Pending {
    /// Says so the first time a worker is current.
    fn check(
        &mut self,
        now: SimTime,
        frontend: u32,
        id: WorkerId,
        monitor: &WorkerMonitor,
        observer: &mut impl Observer,
    ) -> bool {
        let index = Worker::index(id.0);
        if index >= self.current.len() {
            self.current.resize(index + 1, false);
        }
        if self.current[index] || !monitor.is_current(id) {
            return false;
        }
        self.current[index] = true;
        observer.update_stage(now, self.post, frontend, UpdateStage::Worker { worker: id.0 });
        true
    }
}
