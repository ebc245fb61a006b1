//! Steps and services: starts, ends, first tokens, departures.

use super::network::Reply;
use super::{Engine, Event, Simulation, faults, kind};
use crate::cluster::batching::{NewSequence, Next, StepEvent, StepGroup};
use crate::cluster::config::RankDispatch;
use crate::cluster::observer::Observer;
use crate::cluster::request::{Attempt, Stage};
use crate::cluster::story::StoryEvent;
use crate::cluster::worker::Worker;
use crate::units::SimTime;

/// Attempts in the system that caches near the processor may not hold.
const BEYOND_CACHES: usize = 2_048;

impl<G: StepGroup, O: Observer> Simulation<'_, G, O> {
    /// An attempt that has a slot starts to compute, or to wait for a seat on its rank.
    pub(super) fn compute(&mut self, index: u32, id: u32) {
        let worker = &self.workers[Worker::index(id)];
        match &self.engines[worker.kind] {
            Engine::Opaque(sampler) => {
                let attempt = &self.attempts[index];
                let service = attempt.service_time().unwrap_or_else(|| {
                    let sampler = sampler.as_ref().expect("a resolved scenario gives every request a service time");
                    // By a stream of the request's own: its service does not depend on who was served before.
                    sampler.draw(&mut self.setup.streams.stream("service", attempt.id))
                });
                let service = faults::at_pace(service, worker.pace.0);
                let at = self.now.saturating_add(service);
                self.services = self.services.wrapping_add(1);
                self.attempts[index].handle = self.services;
                self.queue.push(at, kind::SERVICE_END, Event::ServiceEnd { attempt: index, service: self.services });
            }
            Engine::Batching { .. } => {
                let rank = match self.attempts[index].rank() {
                    // A rank that is advertised but not there is served by those that are.
                    Some(rank) => rank % worker.ranks,
                    None => self.spread_over_ranks(id),
                };
                let (group, place) = self.workers[Worker::index(id)].group_of(rank);
                let attempt = &mut self.attempts[index];
                attempt.set_rank(rank);
                let sequence =
                    NewSequence { key: index, input_tokens: attempt.input_tokens, output_tokens: attempt.output_tokens };
                let (handle, next) = self.groups[group as usize].steps.enqueue(self.now, place, sequence);
                attempt.handle = handle;
                let request = attempt.id;
                self.follow(group, next);
                self.tell(request, || StoryEvent::Rank { worker: id, rank });
            }
        }
    }

    /// Picks the rank of a worker whose router named none.
    fn spread_over_ranks(&mut self, id: u32) -> u32 {
        let worker = &mut self.workers[Worker::index(id)];
        if worker.dispatch == RankDispatch::RoundRobin {
            let rank = worker.dispatched;
            worker.dispatched = (rank + 1) % worker.ranks;
            return rank;
        }
        let worker = &self.workers[Worker::index(id)];
        let load = |rank: &u32| {
            let (group, place) = worker.group_of(*rank);
            let (running, waiting) = self.groups[group as usize].steps.occupancy(place);
            4 * u64::from(waiting) + u64::from(running)
        };
        (0..worker.ranks).min_by_key(load).expect("a worker has a rank")
    }

    /// Arranges what a group wants next.
    pub(super) fn follow(&mut self, group: u32, next: Next) {
        let g = &mut self.groups[group as usize];
        match next {
            Next::Unchanged => {}
            Next::EndAt(at) => self.step_ends.set(group, at),
            Next::StartNow => {
                self.step_ends.set(group, SimTime::NEVER);
                if !g.dirty {
                    g.dirty = true;
                    self.dirty.push(group);
                }
            }
        }
    }

    /// The start phase of an instant: groups in the order of workers and ranks.
    pub(super) fn start_steps(&mut self) {
        self.dirty.sort_unstable();
        for i in 0..self.dirty.len() {
            let group = self.dirty[i];
            let g = &mut self.groups[group as usize];
            g.dirty = false;
            if let Some(end) = g.steps.start(self.now) {
                self.fetch_ahead(group);
                self.follow(group, Next::EndAt(end));
            }
        }
        self.dirty.clear();
    }

    /// Fetches the attempt that will probably complete next in this group, to be at hand when it does. Decides nothing.
    #[inline]
    fn fetch_ahead(&self, group: u32) {
        if self.attempts.len() >= BEYOND_CACHES
            && let Some(key) = self.groups[group as usize].steps.next_to_complete()
        {
            self.attempts.prefetch(key);
        }
    }

    /// Fetches the request of the attempt that probably completes with the step that ends now: the attempt is at hand
    /// ([`Self::fetch_ahead`]), and until the request is needed the rank has work to do. Decides nothing.
    #[inline]
    fn fetch_request(&self, group: u32) {
        if self.attempts.len() >= BEYOND_CACHES
            && let Some(key) = self.groups[group as usize].steps.next_to_complete()
            && let Some(request) = self.attempts.get(key).and_then(Attempt::request)
        {
            self.requests.prefetch(request);
        }
    }

    /// A step of a group ends.
    pub(super) fn step_end(&mut self, group: u32) {
        self.fetch_request(group);
        let mut events = std::mem::take(&mut self.step_events);
        self.groups[group as usize].steps.end(self.now, &mut events);
        self.follow(group, Next::StartNow);
        self.take_step_events(group, &mut events);
        self.step_events = events;
    }

    fn take_step_events(&mut self, group: u32, events: &mut Vec<StepEvent>) {
        for event in events.drain(..) {
            match event {
                StepEvent::FirstToken { key } => self.put_out(key, Reply::FirstToken),
                StepEvent::Token { key, generated } => self.put_out(key, Reply::Tokens(generated)),
                StepEvent::Completed { key } => self.completed(key),
                StepEvent::Left { key, prompt, generated } => self.left(key, prompt, generated),
                StepEvent::BlocksChanged { rank, used } => {
                    let rank = self.groups[group as usize].first_rank + rank;
                    self.blocks_changed(rank, used);
                }
            }
        }
    }

    /// An attempt puts something out.
    fn put_out(&mut self, index: u32, reply: Reply) {
        let id = self.attempts[index].worker().expect("it computed somewhere");
        self.reply(index, id, reply);
    }

    /// The worker is done with an attempt.
    fn completed(&mut self, index: u32) {
        let id = self.attempts[index].worker().expect("it computed somewhere");
        self.free_slot(id);
        self.reply(index, id, Reply::Completed);
    }

    /// A withdrawn attempt has left the engine.
    fn left(&mut self, index: u32, prompt: u32, generated: u32) {
        let attempt = &self.attempts[index];
        let worker = attempt.worker().expect("it computed somewhere");
        self.observer.wasted(self.now, attempt, prompt, generated);
        self.attempts.discard(index);
        self.free_slot(worker);
    }

    /// An opaque worker is done with a request, unless the event is void.
    pub(super) fn service_end(&mut self, index: u32, service: u32) {
        let Some(attempt) = self.attempts.get(index) else { return };
        let (Stage::Engine, Some(id)) = (attempt.stage, attempt.worker()) else { return };
        if attempt.handle == service && self.engines[self.workers[Worker::index(id)].kind].is_opaque() {
            self.put_out(index, Reply::FirstToken);
            self.completed(index);
        }
    }

    /// A withdrawn attempt is to leave the engine: at the end of the step, or at once from an opaque worker.
    pub(super) fn abort(&mut self, index: u32, id: u32) {
        let worker = &self.workers[Worker::index(id)];
        if matches!(self.engines[worker.kind], Engine::Opaque(_)) {
            self.left(index, 0, 0);
            return;
        }
        let attempt = &self.attempts[index];
        let (group, _) = worker.group_of(attempt.rank().expect("it computes on a rank"));
        let mut events = std::mem::take(&mut self.step_events);
        let next = self.groups[group as usize].steps.leave(self.now, attempt.handle, &mut events);
        self.follow(group, next);
        self.take_step_events(group, &mut events);
        self.step_events = events;
    }
}
