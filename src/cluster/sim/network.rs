//! Dispatches and answers on their way between frontends and workers.
//!
//! Without a network delay both arrive within the event that sends them. With one, the parts of an answer reach the frontend in
//! the order in which they were sent, even if the delay shrinks meanwhile; the worker is done with a request when it has sent the
//! last part, and the frontend learns of everything one way later.

use super::{Event, Simulation, kind};
use crate::cluster::batching::StepGroup;
use crate::cluster::observer::{AttemptOutcome, Observer};
use crate::cluster::request::Stage;
use crate::cluster::worker::Worker;
use crate::control::{BookingId, DispatchFailure};

/// What a worker tells a frontend about an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reply {
    /// The first token is out.
    FirstToken,
    /// This many tokens are out (where output is tracked).
    Tokens(u32),
    /// The last token is out.
    Completed,
    /// At capacity.
    Rejected,
    /// Nobody there: the network's own reply.
    Unreachable,
    /// The stream broke after this many tokens.
    Cut(u32),
}

impl Reply {
    /// Whether nothing of this attempt comes after it.
    const fn is_last(self) -> bool {
        !matches!(self, Self::FirstToken | Self::Tokens(_))
    }
}

/// A part of an answer under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    attempt: u32,
    stamp: u32,
    worker: u32,
    reply: Reply,
}

impl<G: StepGroup, O: Observer> Simulation<'_, G, O> {
    /// The frontend sends an attempt to its worker.
    pub(super) fn send(&mut self, index: u32, id: u32) {
        let (delay, _) = self.workers[Worker::index(id)].network;
        if delay.is_zero() {
            self.reach_worker(index, id);
            return;
        }
        self.attempts[index].stage = Stage::UnderWay;
        let stamp = self.attempts.stamp(index);
        self.queue.push(self.now.saturating_add(delay), kind::RETRY, Event::Reach { attempt: index, stamp });
    }

    /// A dispatch reaches its worker, unless its client has left meanwhile.
    pub(super) fn reached(&mut self, index: u32, stamp: u32) {
        if let Some(attempt) = self.attempts.current(index, stamp) {
            self.reach_worker(index, attempt.worker().expect("a dispatched attempt has a worker"));
        }
    }

    /// A worker, or the network in its place, tells the frontend of an attempt.
    pub(super) fn reply(&mut self, index: u32, id: u32, reply: Reply) {
        let (delay, _) = self.workers[Worker::index(id)].network;
        let attempt = &mut self.attempts[index];
        let at = self.now.saturating_add(delay).max(attempt.answer_at);
        if at == self.now {
            self.hear(index, id, reply);
            return;
        }
        attempt.answer_at = at;
        if reply.is_last() {
            attempt.stage = Stage::Answered;
            attempt.answered = match reply {
                Reply::Completed => attempt.output_tokens,
                Reply::Cut(generated) => generated,
                _ => 0,
            };
        }
        let stamp = self.attempts.stamp(index);
        let answer = self.answers.insert(Answer { attempt: index, stamp, worker: id, reply });
        self.queue.push(at, kind::SERVICE_END, Event::Answer { answer });
    }

    /// A part of an answer arrives, unless its attempt is over.
    pub(super) fn answered(&mut self, answer: u32) {
        let answer = self.answers.remove(answer);
        let current = self.attempts.current(answer.attempt, answer.stamp);
        // A client that left took the attempt off its frontend: what its stream still brings is read by nobody.
        if current.is_some_and(|attempt| !attempt.abandoned) {
            self.hear(answer.attempt, answer.worker, answer.reply);
        }
    }

    /// The frontend hears of an attempt.
    fn hear(&mut self, index: u32, id: u32, reply: Reply) {
        match reply {
            Reply::FirstToken => self.first_token(index),
            Reply::Tokens(generated) => self.token(index, generated),
            Reply::Completed => {
                self.leave_frontend(index, id);
                self.end_attempt(index, &AttemptOutcome::Completed);
            }
            Reply::Rejected => self.turned_away(index, id),
            Reply::Unreachable => self.unreachable(index, id),
            Reply::Cut(generated) => self.cut(index, id, generated),
        }
    }

    /// The first token of an attempt is there.
    fn first_token(&mut self, index: u32) {
        let attempt = &mut self.attempts[index];
        let first = attempt.hear_first_token(self.now);
        let (request, frontend, worker) = (attempt.id, attempt.frontend, attempt.worker());
        if first {
            self.observer.first_token(self.now, &self.attempts[index]);
            self.tell(request, || crate::cluster::story::StoryEvent::FirstToken);
        }
        let published = self.frontends[frontend as usize].first_token(self.now, index);
        if let Some(worker) = worker {
            self.published(frontend, crate::control::WorkerId(worker), &published);
        }
    }

    /// Where output is tracked: more tokens are out.
    fn token(&mut self, index: u32, generated: u32) {
        let frontend = self.attempts[index].frontend;
        self.frontends[frontend as usize].control.output(BookingId(index), u64::from(generated));
        self.output_grew(index);
    }

    /// The stream of an attempt broke off after `generated` tokens: its worker is unreachable, and what it put out counts as
    /// prompt of the next dispatch.
    fn cut(&mut self, index: u32, id: u32, generated: u32) {
        let frontend = self.attempts[index].frontend;
        self.report_down(frontend, id);
        self.leave_frontend(index, id);
        self.attempts[index].cut(generated);
        if !self.migrate(index, id, DispatchFailure::StreamCut) {
            self.end_attempt(index, &AttemptOutcome::Failed);
        }
    }
}
