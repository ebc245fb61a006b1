//! Sessions of several turns: who is at which turn, how long its context has grown, and what became of them.

use super::config::{AtMaxContext, SessionConfig, SessionContext};
use super::slab::Slab;
use crate::engine::{SimRng, Streams};
use crate::units::{SimTime, Span};
use crate::workload::error::WorkloadError;
use crate::workload::lengths::LengthSampler;
use crate::workload::sessions::SessionCounts;
use crate::workload::source::{DrawnLengths, LengthSource};
use crate::workload::spans::SpanSampler;

/// A session under way.
#[derive(Clone, Debug)]
struct Session {
    /// Its own randomness: a session is the same whatever the cluster does to it.
    rng: SimRng,
    /// Index of its stream of lengths.
    stream: usize,
    /// Turns after the next one.
    left: u32,
    /// The next turn, or the one that is under way.
    turn: DrawnLengths,
}

/// A user with the session it is in.
#[derive(Clone, Debug, Default)]
struct User {
    begun: u32,
    session: Option<Box<Session>>,
}

/// The sessions of all users, or of all who arrive.
#[derive(Clone, Debug)]
pub struct Sessions {
    turns: LengthSampler,
    pause: SpanSampler,
    context: SessionContext,
    most: Option<u32>,
    at_most: AtMaxContext,
    streams: Streams,
    users: Vec<User>,
    /// Sessions that arrivals began.
    visits: Slab<Session>,
    counts: SessionCounts,
}

impl Sessions {
    /// No session yet for any of `users`; random streams `sessions` by user and number of the session, `visits` by number of the
    /// arrival.
    ///
    /// # Errors
    /// If a distribution has no meaning.
    pub fn new(config: &SessionConfig, users: u32, streams: Streams) -> Result<Self, WorkloadError> {
        Ok(Self {
            turns: LengthSampler::new(&config.turns)?,
            pause: SpanSampler::new(&config.turn_think_time)?,
            context: config.context,
            most: config.max_context_tokens,
            at_most: config.at_max_context,
            streams,
            users: vec![User::default(); users as usize],
            visits: Slab::new(),
            counts: SessionCounts::default(),
        })
    }

    /// What became of sessions so far.
    pub const fn counts(&self) -> SessionCounts {
        self.counts
    }

    /// A user sends its next turn: that of its session, or the first of a new one.
    pub fn send(&mut self, user: u32, now: SimTime, lengths: &LengthSource) -> DrawnLengths {
        let begun = &mut self.users[user as usize];
        if let Some(session) = &begun.session {
            self.counts.turns += 1;
            return session.turn;
        }
        let mut rng = self.streams.stream("sessions", u64::from(user) | u64::from(begun.begun) << 32);
        let stream = lengths.choose(u64::from(user) + u64::from(begun.begun), &mut rng);
        begun.begun += 1;
        let drawn = lengths.draw_by(stream, now, &mut rng);
        let session = self.begin(rng, stream, drawn);
        let turn = session.turn;
        self.users[user as usize].session = Some(Box::new(session));
        turn
    }

    /// A user's turn is over, `answered` or not: how long until it sends the next turn of its session; `None` if the session
    /// is over.
    pub fn ended(&mut self, user: u32, now: SimTime, answered: bool, lengths: &LengthSource) -> Option<Span> {
        let session = *self.users[user as usize].session.take()?;
        let (session, pause) = self.advance(session, now, answered, lengths)?;
        self.users[user as usize].session = Some(Box::new(session));
        Some(pause)
    }

    /// An arrival begins a session with lengths of its own, the `number`-th to do so: the session's index and its first turn.
    pub fn visit(&mut self, number: u64, stream: usize, drawn: DrawnLengths) -> (u32, DrawnLengths) {
        let session = self.begin(self.streams.stream("visits", number), stream, drawn);
        let turn = session.turn;
        (self.visits.insert(session), turn)
    }

    /// The turn that is due in a session that an arrival began.
    pub fn turn_of_visit(&mut self, visit: u32) -> DrawnLengths {
        self.counts.turns += 1;
        self.visits[visit].turn
    }

    /// As [`ended`](Self::ended), of a session that an arrival began.
    pub fn visit_ended(&mut self, visit: u32, now: SimTime, answered: bool, lengths: &LengthSource) -> Option<Span> {
        let session = self.visits[visit].clone();
        match self.advance(session, now, answered, lengths) {
            Some((session, pause)) => {
                self.visits[visit] = session;
                Some(pause)
            }
            None => {
                self.visits.discard(visit);
                None
            }
        }
    }

    /// A session whose first turn is sent now.
    fn begin(&mut self, mut rng: SimRng, stream: usize, drawn: DrawnLengths) -> Session {
        self.counts.started += 1;
        self.counts.turns += 1;
        let left = self.turns.draw(&mut rng).max(1) - 1;
        // Nobody starts a conversation that cannot be had: the first turn is cut, whatever becomes of later ones.
        Session { rng, stream, left, turn: self.cut(drawn) }
    }

    /// The session with its next turn after one that was `answered` or not, and the pause before it; `None` if it is over.
    fn advance(&mut self, mut session: Session, now: SimTime, answered: bool, lengths: &LengthSource) -> Option<(Session, Span)> {
        if !answered {
            self.counts.broken += 1;
            return None;
        }
        if session.left == 0 {
            self.counts.completed += 1;
            return None;
        }
        session.left -= 1;
        let pause = self.pause.draw(&mut session.rng);
        let before = session.turn;
        let mut next = lengths.draw_by(session.stream, now.saturating_add(pause), &mut session.rng);
        if self.context == SessionContext::Grow {
            let context = before.input_tokens.saturating_add(before.output_tokens);
            next.input_tokens = context.saturating_add(next.input_tokens);
        }
        if self.exceeds(&next) && self.at_most == AtMaxContext::End {
            self.counts.at_max_context += 1;
            return None;
        }
        session.turn = self.cut(next);
        Some((session, pause))
    }

    fn exceeds(&self, turn: &DrawnLengths) -> bool {
        self.most.is_some_and(|most| turn.input_tokens.saturating_add(turn.output_tokens) > most)
    }

    /// A turn without its oldest tokens, as far as the longest context asks for it: an answer leaves at least one token for
    /// the prompt.
    fn cut(&mut self, mut turn: DrawnLengths) -> DrawnLengths {
        if let Some(most) = self.most.filter(|_| self.exceeds(&turn)) {
            turn.output_tokens = turn.output_tokens.min(most.saturating_sub(1).max(1));
            turn.input_tokens = turn.input_tokens.min(most.saturating_sub(turn.output_tokens)).max(1);
            self.counts.cut += 1;
        }
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::config::{
        LengthDistribution, LengthShape, PairPiece, PairSchedule, SpanDistribution, StreamConfig, StreamLengths, WeightedPair,
        WorkloadConfig,
    };

    fn lengths() -> LengthSource {
        let pair = WeightedPair { input_tokens: 10, output_tokens: 5, weight: 1.0 };
        let lengths = StreamLengths::Paired(PairSchedule(vec![PairPiece { at: SimTime::ZERO, pairs: vec![pair] }]));
        let stream = |class: &str| StreamConfig { class: class.into(), arrivals: None, weight: None, lengths: lengths.clone() };
        let config = WorkloadConfig { streams: vec![stream("a"), stream("b")], ..WorkloadConfig::default() };
        LengthSource::open(&config, Streams::new(1)).unwrap()
    }

    fn lengths_of(lengths: &LengthSource) -> DrawnLengths {
        lengths.draw_by(1, SimTime::ZERO, &mut Streams::new(1).stream("any", 0))
    }

    fn config(turns: u32) -> SessionConfig {
        SessionConfig {
            turns: LengthDistribution { shape: LengthShape::Constant { value: turns }, min: 0, max: None },
            turn_think_time: SpanDistribution::Constant { value: Span::from_secs(2) },
            context: SessionContext::Grow,
            max_context_tokens: None,
            at_max_context: AtMaxContext::End,
        }
    }

    /// Prompts of a user's turns until its session ends, all answered.
    fn prompts(sessions: &mut Sessions) -> Vec<(u32, u32)> {
        let lengths = lengths();
        let mut turns = vec![];
        loop {
            let turn = sessions.send(0, SimTime::ZERO, &lengths);
            turns.push((turn.input_tokens, turn.output_tokens));
            match sessions.ended(0, SimTime::ZERO, true, &lengths) {
                Some(pause) => assert_eq!(pause, Span::from_secs(2)),
                None => return turns,
            }
        }
    }

    #[test]
    fn a_prompt_holds_what_was_said_before() {
        let mut sessions = Sessions::new(&config(3), 1, Streams::new(1)).unwrap();
        assert_eq!(prompts(&mut sessions), [(10, 5), (25, 5), (40, 5)]);
        let counts = sessions.counts();
        assert_eq!((counts.started, counts.completed, counts.turns, counts.unfinished()), (1, 1, 3, 0));
        let fresh = SessionConfig { context: SessionContext::None, ..config(2) };
        assert_eq!(prompts(&mut Sessions::new(&fresh, 1, Streams::new(1)).unwrap()), [(10, 5), (10, 5)]);
        assert_eq!(prompts(&mut Sessions::new(&config(0), 1, Streams::new(1)).unwrap()), [(10, 5)], "a turn at least");
    }

    #[test]
    fn the_longest_context_ends_a_session_or_cuts_its_prompt() {
        let limited = |at_max_context| SessionConfig { max_context_tokens: Some(32), at_max_context, ..config(4) };
        let mut ending = Sessions::new(&limited(AtMaxContext::End), 1, Streams::new(1)).unwrap();
        assert_eq!(prompts(&mut ending), [(10, 5), (25, 5)], "45 tokens are too many");
        assert_eq!((ending.counts().at_max_context, ending.counts().completed, ending.counts().cut), (1, 0, 0));
        let mut cutting = Sessions::new(&limited(AtMaxContext::Cut), 1, Streams::new(1)).unwrap();
        assert_eq!(prompts(&mut cutting), [(10, 5), (25, 5), (27, 5), (27, 5)]);
        assert_eq!((cutting.counts().completed, cutting.counts().cut), (1, 2));
        let tiny = SessionConfig { max_context_tokens: Some(4), ..config(1) };
        assert_eq!(prompts(&mut Sessions::new(&tiny, 1, Streams::new(1)).unwrap()), [(1, 3)], "a first turn is cut");
    }

    #[test]
    fn an_arrival_begins_a_session_with_its_own_lengths() {
        let (lengths, mut sessions) = (lengths(), Sessions::new(&config(2), 0, Streams::new(1)).unwrap());
        let arrived = DrawnLengths { input_tokens: 100, output_tokens: 7, ..lengths_of(&lengths) };
        let (visit, first) = sessions.visit(0, 1, arrived);
        let (other, _) = sessions.visit(1, 0, arrived);
        assert_eq!((first, visit), (arrived, 0));
        assert_eq!(sessions.visit_ended(visit, SimTime::ZERO, true, &lengths), Some(Span::from_secs(2)));
        let second = sessions.turn_of_visit(visit);
        assert_eq!((second.input_tokens, second.output_tokens), (117, 5));
        assert_eq!(sessions.visit_ended(visit, SimTime::ZERO, true, &lengths), None);
        assert_eq!(sessions.visit_ended(other, SimTime::ZERO, false, &lengths), None);
        let counts = sessions.counts();
        assert_eq!((counts.started, counts.completed, counts.broken, counts.turns), (2, 1, 1, 3));
    }

    #[test]
    fn a_turn_without_answer_breaks_its_session() {
        let lengths = lengths();
        let mut sessions = Sessions::new(&config(5), 2, Streams::new(1)).unwrap();
        let first = sessions.send(1, SimTime::ZERO, &lengths);
        assert_eq!(sessions.counts().unfinished(), 1);
        assert_eq!(sessions.ended(1, SimTime::ZERO, false, &lengths), None);
        let counts = sessions.counts();
        assert_eq!((counts.started, counts.broken, counts.unfinished()), (1, 1, 0));
        let again = sessions.send(1, SimTime::ZERO, &lengths);
        assert_eq!((first.input_tokens, again.input_tokens), (10, 10), "it starts anew");
        assert_ne!(first.class, again.class, "a user goes through the classes in turn");
    }
}
