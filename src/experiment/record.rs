//! Measures a run while it happens, in memory that does not grow with it.

mod gates;
mod updates;

use super::measures::{Latencies, Measures};
use super::quality::Standings;
use super::result::{ClassResult, PhaseResult, Point, RankPoint, RankResult, RunEnd, RunResult, WorkerPoint};
use super::sink::Sink;
use super::verdicts::{IdleTimes, MonitorEnd};
use crate::cluster::observer::{
    AttemptOutcome, FleetSample, GateState, Judgement, Observer, PostAnswer, RequestOutcome, Standing, UpdateStage,
};
use crate::cluster::request::{Attempt, Request};
use crate::cluster::story::StoryEvent;
use crate::cluster::worker::Worker;
use crate::control::{Check, DispatchFailure, Refusal, RefusalReason, ThresholdUpdate, WorkerMonitor};
use crate::scenario::{Scenario, SloConfig};
use crate::stats::{Merge, ThinnedSeries};
use crate::units::{SimTime, Span};
use gates::Gates;
use updates::Updates;

/// Fleets up to this size are kept worker by worker, and rank by rank, in the series.
const WORKERS_IN_SERIES: usize = 64;
const RANKS_IN_SERIES: usize = 128;
/// Half the points a series keeps.
const HALF_SERIES: usize = 300;

/// A stretch of the run between two boundaries.
#[derive(Debug)]
struct Phase {
    name: String,
    start: SimTime,
    measures: Measures,
}

/// Steps of a story that are kept, at most.
const MOST_STORY: usize = 10_000;

/// The observer that measures a run.
#[derive(Debug)]
pub struct Recorder<'a, S> {
    scenario: &'a Scenario,
    sink: S,
    slo: SloConfig,
    retries: bool,
    /// Boundaries still ahead, the next one last.
    boundaries: Vec<(SimTime, String)>,
    next_boundary: SimTime,
    /// Whether the first phase is a warm-up, cut from the statistics.
    warm: bool,
    phases: Vec<Phase>,
    /// Whether there may be classes to tell apart.
    by_class: bool,
    classes: Vec<Measures>,
    gates: Gates,
    ranks: Vec<RankResult>,
    updates: Updates,
    /// What frontends think of workers, where decisions are judged.
    standings: Option<Standings>,
    idle: IdleTimes,
    monitors: Vec<MonitorEnd>,
    follows: Option<u64>,
    story: Vec<(SimTime, StoryEvent)>,
    series: ThinnedSeries<Point>,
    /// The interval of the series that is open.
    open: Option<Point>,
    /// Counts since the last sample.
    counts: Point,
    sampled: SimTime,
}

impl<'a, S: Sink> Recorder<'a, S> {
    /// A recorder for a run of `scenario`, with points of `interval` to begin with.
    pub fn new(scenario: &'a Scenario, warmup: Span, interval: Span, sink: S) -> Self {
        let mut boundaries = super::phases::boundaries(scenario, warmup);
        let (start, first) = boundaries.remove(0);
        boundaries.reverse();
        let fleet = &scenario.fleet;
        let types = fleet.types.iter().flat_map(|t| std::iter::repeat_n(t, t.count() as usize));
        let rank_of = |worker: u32, rank: u32, total: Option<u64>| RankResult {
            worker,
            rank,
            kv_total_blocks: total,
            ..RankResult::default()
        };
        let ranks = types
            .clone()
            .zip(Worker::FIRST_ID..)
            .flat_map(|(t, id)| (0..t.data_parallel_size).map(move |rank| rank_of(id, rank, t.kv_total_blocks)));
        Self {
            scenario,
            sink,
            slo: scenario.slo,
            retries: scenario.clients.retry.is_some(),
            next_boundary: boundaries.last().map_or(SimTime::NEVER, |(at, _)| *at),
            boundaries,
            warm: !warmup.is_zero(),
            phases: vec![Phase { name: first, start, measures: Measures::default() }],
            by_class: has_classes(scenario) || scenario.workload.trace.is_some(),
            classes: Vec::new(),
            ranks: ranks.collect(),
            gates: Gates::new(fleet),
            updates: Updates::new(scenario.frontend.frontends),
            standings: scenario
                .judges_decisions()
                .then(|| Standings::new(scenario.frontend.frontends, scenario.fleet.worker_count())),
            idle: IdleTimes::new(scenario.fleet.worker_count()),
            monitors: Vec::new(),
            follows: None,
            story: Vec::new(),
            series: ThinnedSeries::new(SimTime::ZERO, interval, HALF_SERIES),
            open: None,
            counts: Point::default(),
            sampled: SimTime::ZERO,
        }
    }

    /// Keeps the story of this request.
    #[must_use]
    pub fn with_story_of(mut self, request: Option<u64>) -> Self {
        self.follows = request;
        self
    }

    /// Begins the phases whose time has come.
    #[inline]
    fn enter(&mut self, now: SimTime) {
        while now >= self.next_boundary {
            self.next_phase();
        }
    }

    #[cold]
    fn next_phase(&mut self) {
        let (at, name) = self.boundaries.pop().expect("a boundary is ahead");
        self.close_phase(at);
        if self.warm && self.phases.len() == 1 {
            self.gates.cut_workers(at);
            if let Some(standings) = &mut self.standings {
                standings.cut(at);
            }
            for rank in &mut self.ranks {
                (rank.kv_used_blocks, rank.running, rank.waiting) = Default::default();
            }
        }
        self.phases.push(Phase { name, start: at, measures: Measures::default() });
        self.next_boundary = self.boundaries.last().map_or(SimTime::NEVER, |(at, _)| *at);
    }

    /// Writes down what belongs to the time of the current phase, which ends at `at`.
    fn close_phase(&mut self, at: SimTime) {
        let phase = self.phases.last_mut().expect("there is always a phase");
        phase.measures.span = at.since(phase.start);
        phase.measures.occupancy = self.gates.cut_fleet(at);
    }

    /// What is measured of a request: in the phase in which it arrived and, where there are several, in its class.
    #[inline]
    fn each(&mut self, tag: u16, class: u16, count: impl Fn(&mut Measures)) {
        count(&mut self.phases[usize::from(tag)].measures);
        if self.by_class && !(self.warm && tag == 0) {
            let class = usize::from(class);
            if class >= self.classes.len() {
                self.classes.resize_with(class + 1, Measures::default);
            }
            count(&mut self.classes[class]);
        }
    }

    /// A completed request: its latencies from `start` on.
    #[inline]
    fn latencies(into: &mut Latencies, now: SimTime, start: SimTime, attempt: &Attempt) {
        let first = attempt.first_token().unwrap_or(now);
        into.ttft.record(first.since(start).as_nanos());
        into.e2e.record(now.since(start).as_nanos());
        into.queue_wait.record(attempt.slot().unwrap_or(now).since(start).as_nanos());
        if let Some(tpot) = time_per_output_token(now, attempt) {
            into.tpot.record(tpot.as_nanos());
        }
    }

    /// Fills the point of the interval that ends now from what was counted and what the sample sees.
    fn point(&self, fleet: &FleetSample) -> Point {
        let mut point = self.counts.clone();
        point.unfinished = fleet.unfinished;
        point.thresholds = fleet.thresholds;
        for worker in &fleet.workers {
            let out = u32::from(!worker.present || worker.down || !worker.excluded.is_empty());
            point.present += u32::from(worker.present);
            point.excluded[0] += u32::from(worker.present && !worker.excluded.is_empty());
            point.slots[0] += u64::from(worker.gate.in_engine);
            point.waiting[0] += u64::from(worker.gate.waiting);
            point.gauge += u64::from(worker.gate.gauge);
            if fleet.workers.len() <= WORKERS_IN_SERIES {
                point.workers.push(WorkerPoint {
                    slots: [worker.gate.in_engine; 2],
                    waiting: [worker.gate.waiting; 2],
                    excluded: worker.excluded,
                    out: [out, 1],
                    absent: !worker.present || worker.down,
                });
            }
        }
        point.excluded[1] = point.excluded[0];
        point.slots[1] = point.slots[1].max(point.slots[0]);
        point.waiting[1] = point.waiting[1].max(point.waiting[0]);
        for rank in &fleet.ranks {
            point.running += u64::from(rank.running);
            point.engine_waiting += u64::from(rank.waiting);
            if fleet.ranks.len() <= RANKS_IN_SERIES {
                point.ranks.push(RankPoint {
                    kv_used_blocks: rank.kv_used_blocks,
                    running: rank.running,
                    waiting: rank.waiting,
                    observed_blocks: rank.observed_blocks,
                    observed_prefill_tokens: rank.observed_prefill_tokens,
                });
            }
        }
        point
    }

    /// What the samples say of single workers and ranks.
    fn sample_parts(&mut self, fleet: &FleetSample) {
        self.gates.sample(fleet);
        for (rank, sample) in self.ranks.iter_mut().zip(&fleet.ranks) {
            rank.kv_used_blocks.record(sample.kv_used_blocks);
            rank.running.record(u64::from(sample.running));
            rank.waiting.record(u64::from(sample.waiting));
            rank.preemptions = sample.preemptions;
        }
    }

    /// Everything found out by a run that ended at `now`.
    pub fn finish(mut self, now: SimTime, end: RunEnd, class_names: &[String]) -> (RunResult, S) {
        self.enter(now);
        self.close_phase(now);
        if let Some(point) = self.open.take() {
            self.series.finish(point, now);
        }
        let ends: Vec<SimTime> = self.phases.iter().skip(1).map(|p| p.start).chain([now]).collect();
        let mut phases: Vec<PhaseResult> = self
            .phases
            .into_iter()
            .zip(ends)
            .map(|(p, end)| PhaseResult { name: p.name, start: p.start, end, measures: p.measures })
            .collect();
        let merged = |phases: &[PhaseResult]| {
            let mut all = Measures::default();
            phases.iter().for_each(|p| all.merge(&p.measures));
            all
        };
        let whole = merged(&phases);
        // A run that ends within its warm-up has nothing else to show.
        if self.warm && phases.len() > 1 {
            phases.remove(0);
        }
        let total = merged(&phases);
        let measured_from = phases[0].start;
        let span = now.since(measured_from);
        // A trace may name classes that the scenario does not know of: then there are as many as requests were seen of.
        let known = has_classes(self.scenario);
        let seen = |measures: &Measures| known || measures.requests.offered > 0;
        let several = known || self.classes.iter().filter(|measures| seen(measures)).count() > 1;
        let classes = self.classes.into_iter().enumerate().filter(|(_, measures)| several && seen(measures));
        let classes = classes.map(|(i, measures)| ClassResult {
            name: class_names.get(i).cloned().unwrap_or_default(),
            measures: Measures { span, ..measures },
        });
        let result = RunResult {
            end,
            ended_at: now,
            measured_from,
            whole,
            total,
            classes: classes.collect(),
            workers: self.gates.finish(now, &self.scenario.fleet),
            ranks: self.ranks,
            updates: self.updates.listed,
            update_lags: self.updates.lags,
            quality: self.standings.map(|mut standings| standings.cut(now)).unwrap_or_default(),
            recovery: None,
            fired: self.idle.fired(),
            idle: self.idle.finish(),
            monitors: self.monitors,
            story: self.follows.map(|_| self.story),
            series: self.series,
            phases,
            trace: None,
            sessions: None,
            warnings: Vec::new(),
        };
        (result, self.sink)
    }
}

/// Whether the requests of a scenario are of more than one class.
fn has_classes(scenario: &Scenario) -> bool {
    let workload = &scenario.workload;
    let streams = workload.streams.iter().map(|s| s.class.as_str());
    let listed = workload.requests.iter().map(|r| r.class.as_str());
    let mut names: Vec<&str> = streams.chain(listed).chain(workload.trace.iter().map(|t| t.class.as_str())).collect();
    names.sort_unstable();
    names.dedup();
    names.len() > 1 || workload.trace.as_ref().is_some_and(|t| t.options.class_column.is_some())
}

/// Mean time per output token after the first; `None` for an answer of one token.
fn time_per_output_token(now: SimTime, attempt: &Attempt) -> Option<Span> {
    let tokens = u64::from(attempt.produced() + attempt.output_tokens);
    let first = attempt.first_token()?;
    (tokens > 1).then(|| Span::from_nanos(now.since(first).as_nanos() / (tokens - 1)))
}

fn count_decisive(measures: &mut Measures, refusal: &Refusal) {
    let decisive = &mut measures.decisive;
    if refusal.reason == RefusalReason::WorkerAtCapacity {
        decisive.worker_gate += 1;
    } else if refusal.is_joint() {
        decisive.joint += 1;
    } else {
        decisive.decode += u64::from(refusal.freed_by.contains(Check::Decode));
        decisive.prefill += u64::from(refusal.freed_by.contains(Check::Prefill));
        decisive.prefill_fraction += u64::from(refusal.freed_by.contains(Check::PrefillFraction));
        decisive.lease += u64::from(refusal.freed_by.contains(Check::Lease));
    }
}

impl<S: Sink> Observer for Recorder<'_, S> {
    fn classes_named(&mut self, names: &[String]) {
        self.sink.classes_named(names);
    }

    fn offered(&mut self, now: SimTime, request: &Request) -> u16 {
        self.enter(now);
        let tag = (self.phases.len() - 1) as u16;
        self.each(tag, request.class, |m| m.requests.offered += 1);
        self.counts.offered += 1;
        tag
    }

    fn attempt_started(&mut self, _now: SimTime, request: &Request) {
        self.each(request.tag, request.class, |m| m.attempts.started += 1);
        self.counts.attempts += 1;
        self.sink.attempt_started();
    }

    fn first_token(&mut self, now: SimTime, attempt: &Attempt) {
        self.sink.first_token(now, attempt);
    }

    fn migrated(&mut self, _now: SimTime, _attempt: &Attempt, failure: DispatchFailure) {
        self.sink.migrated(failure);
    }

    fn orphan_ended(&mut self, now: SimTime, attempt: &Attempt, outcome: &AttemptOutcome) {
        self.sink.orphan_ended(now, attempt, outcome);
    }

    fn worker_rejected(&mut self, now: SimTime, worker: u32) {
        self.enter(now);
        self.gates.rejected(worker);
        self.sink.worker_rejected(worker);
        self.phases.last_mut().expect("there is always a phase").measures.worker_rejections += 1;
    }

    fn gate_changed(&mut self, now: SimTime, worker: u32, state: GateState) {
        self.enter(now);
        self.gates.changed(now, worker, state);
        self.counts.slots[1] = self.counts.slots[1].max(self.gates.slots());
        self.counts.waiting[1] = self.counts.waiting[1].max(self.gates.waiting());
    }

    fn attempt_ended(&mut self, now: SimTime, attempt: &Attempt, request: &Request, outcome: &AttemptOutcome) {
        self.enter(now);
        match outcome {
            AttemptOutcome::Completed => {
                self.counts.completed += 1;
                let worker = attempt.worker().expect("it was served");
                self.gates.completed(worker);
            }
            AttemptOutcome::Refused { refusal, .. } => {
                self.counts.refused[refusal.reason as usize] += 1;
            }
            AttemptOutcome::Unavailable { .. } => self.counts.unavailable += 1,
            AttemptOutcome::Failed | AttemptOutcome::Cancelled | AttemptOutcome::Unservable => self.counts.other += 1,
        }
        let retries = self.retries;
        self.each(attempt.tag, attempt.class, |m| {
            m.attempts.count(outcome);
            match outcome {
                AttemptOutcome::Refused { refusal, .. } => count_decisive(m, refusal),
                AttemptOutcome::Completed if retries => {
                    Self::latencies(m.attempt_latencies.get_or_insert_default(), now, attempt.start, attempt);
                }
                _ => {}
            }
        });
        self.sink.attempt(now, attempt, request, outcome);
    }

    fn request_ended(&mut self, now: SimTime, request: &Request, last: &Attempt, outcome: RequestOutcome) {
        let slo = self.slo;
        let within = |limit: Option<Span>, value: Option<Span>| limit.is_none_or(|l| value.is_none_or(|v| v <= l));
        let completed = outcome == RequestOutcome::Completed;
        let ttft = completed && within(slo.ttft, last.first_token().map(|f| f.since(request.arrival)));
        let tpot = completed && within(slo.tpot, time_per_output_token(now, last));
        let e2e = completed && within(slo.e2e, Some(now.since(request.arrival)));
        let good = ttft && tpot && e2e;
        self.each(request.tag, request.class, |m| {
            m.requests.count(outcome);
            if completed {
                Self::latencies(&mut m.latencies, now, request.arrival, last);
                m.tokens.input += u64::from(request.input_tokens);
                m.tokens.output += u64::from(request.output_tokens);
            }
            m.slo.met += u64::from(good);
            m.slo.ttft += u64::from(ttft);
            m.slo.tpot += u64::from(tpot);
            m.slo.e2e += u64::from(e2e);
        });
        self.counts.good += u64::from(good);
    }

    fn wasted(&mut self, _now: SimTime, attempt: &Attempt, prompt: u32, generated: u32) {
        let tokens = u64::from(prompt) + u64::from(generated);
        let computed = u64::from(tokens > 0);
        self.each(attempt.tag, attempt.class, |m| {
            m.tokens.wasted += tokens;
            m.tokens.wasted_attempts += computed;
        });
        self.counts.orphans += computed;
    }

    fn threshold_post(&mut self, now: SimTime, post: u32, frontend: u32, update: &ThresholdUpdate, answer: PostAnswer) {
        self.updates.posted(now, post, frontend, update, answer);
    }

    fn update_stage(&mut self, now: SimTime, _post: u32, frontend: u32, stage: UpdateStage) {
        let since = self.updates.reached(now, frontend, stage);
        self.sink.update_reached(frontend, stage, since);
    }

    fn update_never(&mut self, _post: u32, frontend: u32, worker: u32, silent: Vec<u32>) {
        self.updates.never(frontend, worker, silent);
    }

    fn decision(&mut self, _now: SimTime, frontend: u32) {
        self.updates.decision(frontend);
    }

    fn wants_witness(&self) -> bool {
        self.sink.wants_witness()
    }

    fn wants_tracking(&self) -> bool {
        self.sink.wants_tracking()
    }

    fn judged(&mut self, _now: SimTime, attempt: &Attempt, judgement: &Judgement) {
        let tokens = u64::from(attempt.input_tokens) + u64::from(attempt.output_tokens);
        self.each(attempt.tag, attempt.class, |m| m.quality.count(judgement, tokens));
        self.counts.quality.count(judgement);
    }

    fn standing(&mut self, now: SimTime, frontend: u32, worker: u32, standing: Standing) {
        self.enter(now);
        if let Some(standings) = &mut self.standings {
            standings.set(now, frontend, worker, standing);
        }
    }

    fn engine_waits(&mut self, _now: SimTime, attempt: &Attempt) {
        self.each(attempt.tag, attempt.class, |m| m.quality.waited_in_engine += 1);
    }

    fn follows(&self) -> Option<u64> {
        self.follows
    }

    fn story(&mut self, now: SimTime, event: StoryEvent) {
        if self.story.len() < MOST_STORY {
            self.story.push((now, event));
        }
    }

    fn monitor_end(&mut self, now: SimTime, frontend: u32, monitor: &WorkerMonitor) {
        self.monitors.push(MonitorEnd::of(now, frontend, monitor));
    }

    fn attempt_in_system(&mut self, attempt: &Attempt, request: &Request) {
        self.each(attempt.tag, attempt.class, |m| m.attempts.in_system += 1);
        self.sink.attempt_in_system(attempt, request);
    }

    fn request_unfinished(&mut self, request: &Request) {
        self.each(request.tag, request.class, |m| m.requests.unfinished += 1);
    }

    fn sample(&mut self, now: SimTime, fleet: &FleetSample) {
        self.enter(now);
        if now == self.sampled && now > SimTime::ZERO {
            return; // the run ended at a sample
        }
        let point = self.point(fleet);
        self.sink.interval(self.sampled, now, &point, fleet);
        self.idle.sample(now.since(self.sampled), fleet);
        self.sample_parts(fleet);
        match &mut self.open {
            Some(open) => open.merge(&point),
            open @ None => *open = Some(point),
        }
        if now >= self.series.next_boundary() {
            self.series.push(self.open.take().expect("just filled"));
        }
        self.counts = Point::default();
        self.counts.slots[1] = self.gates.slots();
        self.counts.waiting[1] = self.gates.waiting();
        self.sampled = now;
    }
}
