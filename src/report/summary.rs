//! Every figure that is shown of a run, in base units: the one source of JSON, text and pages.

use serde::{Deserialize, Serialize};

use crate::cluster::observer::PostAnswer;
use crate::control::{RefusalReason, ThresholdUpdate};
use crate::experiment::measures::{AttemptCounts, Latencies, Measures, RequestCounts, SloCounts, TokenCounts, share};
use crate::experiment::result::UpdateResult;
use crate::experiment::{RunEnd, RunResult};
use crate::scenario::{QuantileMethod, Scenario, Warning};
use crate::stats::{Quantiles, RankRule, Window};
use crate::units::{SimTime, Span};
use crate::workload::trace::{DropReason, TraceReport};

/// Name and version of the format of `summary.json`.
pub const SCHEMA: &str = "shedcast.summary/1";

const NANOS_PER_SECOND: f64 = 1e9;

/// A finished run in figures. Seconds, counts and shares (0 to 1); what does not exist is absent (`null`), never 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the scenario.
    pub name: String,
    /// What the scenario shows.
    pub description: Option<String>,
    /// Root of all randomness.
    pub seed: u64,
    /// Why the run ended, see [`RunEnd::name`].
    pub end: String,
    /// Whether it went as far as the scenario asks.
    pub complete: bool,
    /// Instant of the end.
    pub ended_at_s: f64,
    /// Start of what `total` covers: the end of the warm-up.
    pub measured_from_s: f64,
    /// Status of an overload response.
    pub overload_status_code: u16,
    /// Router mode.
    pub router_mode: String,
    /// Workers.
    pub fleet: FleetSummary,
    /// Attempts and requests of the whole run, warm-up included, against the sum of their outcomes.
    pub conservation: Conservation,
    /// How a quantile is taken of ordered samples: `nearest_rank` or `rounded_rank`.
    pub quantile_method: String,
    /// Latency targets.
    pub slo: SloTargets,
    /// What the statistics cover.
    pub total: MeasuresSummary,
    /// Stretches between scheduled changes.
    pub phases: Vec<PhaseSummary>,
    /// Client classes, where there are several.
    pub classes: Vec<ClassSummary>,
    /// Threshold posts, per frontend.
    pub threshold_updates: Vec<UpdateSummary>,
    /// What became of the rows of the trace.
    pub trace: Option<TraceSummary>,
    /// What a reader should know.
    pub warnings: Vec<WarningEntry>,
}

/// The fleet as the scenario has it, workers on standby included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetSummary {
    /// Workers.
    pub workers: u32,
    /// Ranks of all of them.
    pub ranks: u64,
    /// Workers with a gate (N is set).
    pub gated_workers: u32,
    /// Sum of N over those.
    pub engine_request_limit: Option<u64>,
    /// Sum of Q over those.
    pub request_queue_limit: Option<u64>,
}

/// Whether nothing was lost or counted twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conservation {
    /// Both sums hold.
    pub holds: bool,
    /// Attempts of the whole run.
    pub attempts: AttemptsSummary,
    /// Logical requests of the whole run.
    pub requests: RequestsSummary,
}

/// Latency targets in seconds; an absent one is always met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SloTargets {
    /// Time to first token.
    pub ttft_s: Option<f64>,
    /// Time per output token after the first.
    pub tpot_s: Option<f64>,
    /// End to end.
    pub e2e_s: Option<f64>,
}

/// Attempts by outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptsSummary {
    /// Sent by clients: the sum of the others.
    pub started: u64,
    /// Answered in full.
    pub completed: u64,
    /// Overload responses.
    pub refused: u64,
    /// 503, no usable worker.
    pub unavailable: u64,
    /// Worker lost or stream broken.
    pub failed: u64,
    /// Client gone.
    pub cancelled: u64,
    /// Fits no worker.
    pub unservable: u64,
    /// Still there at the end.
    pub in_system: u64,
}

/// Logical requests by outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestsSummary {
    /// Arrived: the sum of the others.
    pub offered: u64,
    /// Answered in full.
    pub completed: u64,
    /// Last answer an overload response.
    pub lost_to_overload: u64,
    /// Last answer 503, no usable worker.
    pub lost_to_unavailability: u64,
    /// Last attempt failed.
    pub failed: u64,
    /// Client out of patience.
    pub gave_up: u64,
    /// Fits no worker.
    pub unservable: u64,
    /// In the system or waiting to retry at the end.
    pub unfinished: u64,
}

/// A count under a name: a reason or a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// How many attempts.
    pub attempts: u64,
}

/// Everything measured over one stretch of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuresSummary {
    /// Length of the stretch.
    pub span_s: f64,
    /// Overload responses over attempts.
    pub rate_529: Option<f64>,
    /// Requests lost to overload over requests offered.
    pub lost_to_overload_share: Option<f64>,
    /// Requests offered per second.
    pub offered_rate: Option<f64>,
    /// Requests completed per second.
    pub throughput: Option<f64>,
    /// Requests completed within the latency targets, per second.
    pub goodput: Option<f64>,
    /// Attempts per request.
    pub amplification: Option<f64>,
    /// Attempts by outcome.
    pub attempts: AttemptsSummary,
    /// Requests by outcome.
    pub requests: RequestsSummary,
    /// Overload responses by reason.
    pub refused_by_reason: Vec<Named>,
    /// Overload responses by decisive check: a check that alone unset would have routed the request.
    pub refused_by_decisive_check: Vec<Named>,
    /// Dispatches that workers refused, those of migrated attempts included.
    pub worker_rejections: u64,
    /// Latencies of completed requests, from their arrival on.
    pub latency: LatencySet,
    /// Latencies of completed attempts, from their own start on; only where clients retry.
    pub attempt_latency: Option<LatencySet>,
    /// Latency targets met.
    pub slo: SloSummary,
    /// Tokens.
    pub tokens: TokensSummary,
    /// Gates over time; absent for a client class.
    pub occupancy: Option<Occupancy>,
}

/// The latencies of one set of requests, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencySet {
    /// Time to the first output token.
    pub ttft_s: LatencySummary,
    /// Mean time per output token after the first.
    pub tpot_s: LatencySummary,
    /// Time to the last output token.
    pub e2e_s: LatencySummary,
    /// Time to an engine slot.
    pub queue_wait_s: LatencySummary,
}

/// One latency in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Samples.
    pub count: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Least.
    pub min: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Greatest.
    pub max: Option<f64>,
    /// `exact`, or `histogram_0.05_percent` where quantiles come from a histogram with that bound of their error.
    pub precision: String,
}

/// Latency targets met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SloSummary {
    /// Requests that met all.
    pub met: u64,
    /// Over requests offered.
    pub share: Option<f64>,
    /// Over requests completed.
    pub share_of_completed: Option<f64>,
    /// Met the target of the first token, over offered.
    pub ttft_share: Option<f64>,
    /// Met the target of the time per output token, over offered.
    pub tpot_share: Option<f64>,
    /// Met the target of the whole answer, over offered.
    pub e2e_share: Option<f64>,
}

/// Tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokensSummary {
    /// Prompt tokens of completed requests.
    pub input: u64,
    /// Output tokens of completed requests.
    pub output: u64,
    /// Tokens computed for attempts nobody waited for.
    pub wasted: u64,
    /// Output tokens of completed requests per second.
    pub output_rate: Option<f64>,
}

/// Gates of the fleet over time, summed over workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Engine slots in use (without a gate: requests in the engines).
    pub engine_slots: Level,
    /// Requests waiting in overflow queues, as they are.
    pub queue: Level,
    /// The same as the gauges `dynamo_request_queue` read.
    pub queue_gauge: Level,
    /// Requests inside workers.
    pub in_workers: Level,
    /// Workers with every slot and every place in the queue taken.
    pub full_workers: Level,
    /// Share of time for which a worker with a gate was full, mean over those workers.
    pub full_share: Option<f64>,
}

/// A time-weighted quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Mean.
    pub mean: Option<f64>,
    /// Median by time.
    pub p50: Option<u64>,
    /// 90th percentile by time.
    pub p90: Option<u64>,
    /// 99th percentile by time.
    pub p99: Option<u64>,
    /// Greatest value that held for some time.
    pub max: Option<u64>,
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseSummary {
    /// What begins it.
    pub name: String,
    /// Its start.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
    /// What was measured of the requests that arrived in it, and of its time.
    pub measures: MeasuresSummary,
}

/// One client class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassSummary {
    /// Its name.
    pub name: String,
    /// What was measured of its requests.
    pub measures: MeasuresSummary,
}

/// One threshold post at one frontend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpdateSummary {
    /// Counts the posts of the run from 0.
    pub post: u32,
    /// Frontend.
    pub frontend: u32,
    /// When it was posted.
    pub at_s: f64,
    /// Thresholds it carried.
    pub thresholds: Thresholds,
    /// What the frontend answered: `changed`, `unchanged`, `invalid` or `unknown_model`.
    pub answer: String,
    /// How far it came: `all`, `superseded`, `never`, `no_op` or `refused`.
    pub outcome: String,
    /// From the post to the first event that re-evaluated under it.
    pub noticed_lag_s: Option<f64>,
    /// From the post to the switch of the last worker.
    pub all_lag_s: Option<f64>,
    /// From the post to the later one that replaced it.
    pub superseded_lag_s: Option<f64>,
    /// Workers that switched.
    pub workers_switched: u64,
    /// Workers that did not, with the ranks that kept silent.
    pub silent: Vec<SilentWorker>,
    /// Routing decisions between the post and `noticed`.
    pub decisions_before_noticed: u64,
    /// Routing decisions between `noticed` and `all`.
    pub decisions_until_all: u64,
}

/// Thresholds; an absent one is not set, or not in the post.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// Share of KV blocks.
    pub active_decode_blocks_threshold: Option<f64>,
    /// Prefill tokens.
    pub active_prefill_tokens_threshold: Option<u64>,
    /// Multiple of `max_num_batched_tokens`.
    pub active_prefill_tokens_threshold_frac: Option<f64>,
}

/// A worker whose state never rested on the posted thresholds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilentWorker {
    /// Its id.
    pub worker: u32,
    /// Ranks that were not observed since the post.
    pub ranks: Vec<u32>,
}

/// What became of the rows of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceSummary {
    /// The file.
    pub path: String,
    /// Its format.
    pub format: String,
    /// Rows read.
    pub rows_read: u64,
    /// Requests replayed.
    pub replayed: u64,
    /// Rows dropped, by reason.
    pub dropped: Vec<Dropped>,
    /// Arrival of the last request.
    pub last_arrival_s: Option<f64>,
}

/// Rows dropped for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// The reason.
    pub reason: String,
    /// How many.
    pub rows: u64,
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarningEntry {
    /// Stable name for machines.
    pub code: String,
    /// What it is about.
    pub subject: String,
    /// What was found and why it matters.
    pub cause: String,
    /// What to do about it, where the cause does not say so already.
    pub next_step: Option<String>,
}

impl Summary {
    /// The figures of `result`, a run of `scenario`.
    pub fn of(scenario: &Scenario, result: &RunResult) -> Self {
        let fleet = FleetSummary::of(scenario);
        let rule = rank_rule(scenario.output.quantile_method);
        let gated = fleet.gated_workers;
        let measures = |m: &Measures, with_gates: bool| MeasuresSummary::of(m, rule, with_gates.then_some(gated));
        let secs = |span: Option<Span>| span.map(Span::as_secs_f64);
        let phase = |p: &crate::experiment::result::PhaseResult| PhaseSummary {
            name: p.name.clone(),
            start_s: p.start.as_secs_f64(),
            end_s: p.end.as_secs_f64(),
            measures: measures(&p.measures, true),
        };
        let class = |c: &crate::experiment::result::ClassResult| ClassSummary {
            name: c.name.clone(),
            measures: measures(&c.measures, false),
        };
        Self {
            schema: SCHEMA.to_owned(),
            name: scenario.name.clone(),
            description: scenario.description.clone(),
            seed: scenario.seed,
            end: result.end.name().to_owned(),
            complete: result.end.is_complete(),
            ended_at_s: result.ended_at.as_secs_f64(),
            measured_from_s: result.measured_from.as_secs_f64(),
            overload_status_code: scenario.frontend.overload_status_code,
            router_mode: router_mode(scenario).to_owned(),
            fleet,
            conservation: Conservation::of(&result.whole),
            quantile_method: quantile_method(scenario.output.quantile_method).to_owned(),
            slo: SloTargets { ttft_s: secs(scenario.slo.ttft), tpot_s: secs(scenario.slo.tpot), e2e_s: secs(scenario.slo.e2e) },
            total: measures(&result.total, true),
            phases: result.phases.iter().map(phase).collect(),
            classes: result.classes.iter().map(class).collect(),
            threshold_updates: result.updates.iter().map(UpdateSummary::of).collect(),
            trace: result.trace.as_ref().map(TraceSummary::of),
            warnings: warnings(scenario, result),
        }
    }

    /// Whether the run was stopped by its user.
    pub fn was_interrupted(&self) -> bool {
        self.end == RunEnd::Interrupted.name()
    }
}

/// The warnings of the scenario, of the run and of its trace.
fn warnings(scenario: &Scenario, result: &RunResult) -> Vec<WarningEntry> {
    let entry = |w: &Warning| WarningEntry {
        code: w.code.to_owned(),
        subject: w.subject.clone(),
        cause: w.cause.clone(),
        next_step: Some(w.next_step.clone()),
    };
    let own: Vec<Warning> = scenario.warnings();
    let mut all: Vec<WarningEntry> = own.iter().map(entry).collect();
    // A run that ends early may repeat what the scenario alone already told.
    let of_run = result.warnings.iter().map(entry);
    for warning in of_run {
        if !all.contains(&warning) {
            all.push(warning);
        }
    }
    for trace in result.trace.iter() {
        all.extend(trace.warnings.iter().map(|w| WarningEntry {
            code: w.name().to_owned(),
            subject: trace.path.display().to_string(),
            cause: w.to_string(),
            next_step: None,
        }));
    }
    all
}

/// How quantiles are taken.
pub(super) const fn rank_rule(method: QuantileMethod) -> RankRule {
    match method {
        QuantileMethod::NearestRank => RankRule::NearestRank,
        QuantileMethod::RoundedRank => RankRule::RoundedRank,
    }
}

const fn quantile_method(method: QuantileMethod) -> &'static str {
    match method {
        QuantileMethod::NearestRank => "nearest_rank",
        QuantileMethod::RoundedRank => "rounded_rank",
    }
}

fn router_mode(scenario: &Scenario) -> &'static str {
    use crate::cluster::config::RouterMode;
    match scenario.frontend.router_mode {
        RouterMode::RoundRobin => "round-robin",
        RouterMode::Random => "random",
        RouterMode::PowerOfTwo => "power-of-two",
        RouterMode::LeastLoaded => "least-loaded",
        RouterMode::Kv => "kv",
    }
}

impl FleetSummary {
    fn of(scenario: &Scenario) -> Self {
        let types = &scenario.fleet.types;
        let gated = || types.iter().filter_map(|t| t.engine_request_limit.map(|n| (t, n)));
        let gated_workers = gated().map(|(t, _)| t.count()).sum();
        let sum = |of: &dyn Fn(&crate::cluster::config::WorkerType, u32) -> u32| {
            let total = gated().map(|(t, n)| u64::from(t.count()) * u64::from(of(t, n))).sum();
            (gated_workers > 0).then_some(total)
        };
        Self {
            workers: scenario.fleet.worker_count(),
            ranks: types.iter().map(|t| u64::from(t.count()) * u64::from(t.data_parallel_size)).sum(),
            gated_workers,
            engine_request_limit: sum(&|_, n| n),
            request_queue_limit: sum(&|t, _| t.request_queue_limit),
        }
    }
}

impl Conservation {
    fn of(whole: &Measures) -> Self {
        Self {
            holds: whole.attempts.accounted() == whole.attempts.started && whole.requests.accounted() == whole.requests.offered,
            attempts: AttemptsSummary::of(&whole.attempts),
            requests: RequestsSummary::of(&whole.requests),
        }
    }
}

impl AttemptsSummary {
    fn of(a: &AttemptCounts) -> Self {
        Self {
            started: a.started,
            completed: a.completed,
            refused: a.refused_total(),
            unavailable: a.unavailable,
            failed: a.failed,
            cancelled: a.cancelled,
            unservable: a.unservable,
            in_system: a.in_system,
        }
    }

    /// Name and count of each outcome, in a fixed order.
    pub fn outcomes(&self) -> [(&'static str, u64); 7] {
        [
            ("completed", self.completed),
            ("refused", self.refused),
            ("unavailable", self.unavailable),
            ("failed", self.failed),
            ("cancelled", self.cancelled),
            ("unservable", self.unservable),
            ("in system", self.in_system),
        ]
    }
}

impl RequestsSummary {
    fn of(r: &RequestCounts) -> Self {
        Self {
            offered: r.offered,
            completed: r.completed,
            lost_to_overload: r.lost_to_overload,
            lost_to_unavailability: r.lost_to_unavailability,
            failed: r.failed,
            gave_up: r.gave_up,
            unservable: r.unservable,
            unfinished: r.unfinished,
        }
    }

    /// Name and count of each outcome, in a fixed order.
    pub fn outcomes(&self) -> [(&'static str, u64); 7] {
        [
            ("completed", self.completed),
            ("lost to overload", self.lost_to_overload),
            ("lost to unavailability", self.lost_to_unavailability),
            ("failed", self.failed),
            ("gave up", self.gave_up),
            ("unservable", self.unservable),
            ("unfinished", self.unfinished),
        ]
    }
}

impl MeasuresSummary {
    /// `gated` is the number of workers with a gate, or `None` where occupancy was not measured.
    fn of(m: &Measures, rule: RankRule, gated: Option<u32>) -> Self {
        let reasons = RefusalReason::ALL.iter().zip(m.attempts.refused);
        let named = |name: &str, attempts| Named { name: name.to_owned(), attempts };
        Self {
            span_s: m.span.as_secs_f64(),
            rate_529: m.rate_529(),
            lost_to_overload_share: m.lost_share(),
            offered_rate: m.offered_rate(),
            throughput: m.throughput(),
            goodput: m.goodput(),
            amplification: m.amplification(),
            attempts: AttemptsSummary::of(&m.attempts),
            requests: RequestsSummary::of(&m.requests),
            refused_by_reason: reasons.map(|(reason, n)| named(reason.name(), n)).collect(),
            refused_by_decisive_check: m.decisive.named().map(|(name, n)| named(name, n)).to_vec(),
            worker_rejections: m.worker_rejections,
            latency: LatencySet::of(&m.latencies, rule),
            attempt_latency: m.attempt_latencies.as_ref().map(|l| LatencySet::of(l, rule)),
            slo: SloSummary::of(&m.slo, &m.requests),
            tokens: TokensSummary::of(&m.tokens, m.span),
            occupancy: gated.map(|gated| Occupancy::of(m, gated)),
        }
    }
}

impl LatencySet {
    fn of(latencies: &Latencies, rule: RankRule) -> Self {
        let of = |q| LatencySummary::of(q, rule);
        Self {
            ttft_s: of(&latencies.ttft),
            tpot_s: of(&latencies.tpot),
            e2e_s: of(&latencies.e2e),
            queue_wait_s: of(&latencies.queue_wait),
        }
    }

    /// Name for people and figures of each, in a fixed order.
    pub fn named(&self) -> [(&'static str, &LatencySummary); 4] {
        [
            ("time to first token", &self.ttft_s),
            ("time per output token", &self.tpot_s),
            ("end to end", &self.e2e_s),
            ("wait for a slot", &self.queue_wait_s),
        ]
    }
}

impl LatencySummary {
    fn of(recorded: &Quantiles, rule: RankRule) -> Self {
        let mut sorted = recorded.clone();
        sorted.sort();
        let secs = |nanos: Option<u64>| nanos.map(|n| n as f64 / NANOS_PER_SECOND);
        let quantile = |p| secs(sorted.quantile_by(rule, p));
        Self {
            count: sorted.count(),
            mean: sorted.mean().map(|m| m / NANOS_PER_SECOND),
            min: secs(sorted.min()),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max: secs(sorted.max()),
            precision: match sorted.method() {
                crate::stats::QuantileMethod::Exact => "exact".to_owned(),
                crate::stats::QuantileMethod::Histogram => "histogram_0.05_percent".to_owned(),
            },
        }
    }
}

impl SloSummary {
    fn of(slo: &SloCounts, requests: &RequestCounts) -> Self {
        Self {
            met: slo.met,
            share: share(slo.met, requests.offered),
            share_of_completed: share(slo.met, requests.completed),
            ttft_share: share(slo.ttft, requests.offered),
            tpot_share: share(slo.tpot, requests.offered),
            e2e_share: share(slo.e2e, requests.offered),
        }
    }
}

impl TokensSummary {
    fn of(tokens: &TokenCounts, span: Span) -> Self {
        let output_rate = (!span.is_zero()).then(|| tokens.output as f64 / span.as_secs_f64());
        Self { input: tokens.input, output: tokens.output, wasted: tokens.wasted, output_rate }
    }
}

impl Occupancy {
    fn of(m: &Measures, gated: u32) -> Self {
        let occupancy = &m.occupancy;
        let full = occupancy.full_workers.mean().filter(|_| gated > 0);
        Self {
            engine_slots: Level::of(&occupancy.slots),
            queue: Level::of(&occupancy.waiting),
            queue_gauge: Level::of(&occupancy.gauge),
            in_workers: Level::of(&occupancy.in_workers),
            full_workers: Level::of(&occupancy.full_workers),
            full_share: full.map(|mean| mean / f64::from(gated)),
        }
    }
}

impl Level {
    /// The figures of a time-weighted quantity.
    pub fn of(window: &Window) -> Self {
        Self {
            mean: window.mean(),
            p50: window.quantile(0.5),
            p90: window.quantile(0.9),
            p99: window.quantile(0.99),
            max: window.max(),
        }
    }
}

impl UpdateSummary {
    fn of(update: &UpdateResult) -> Self {
        let lag = |at: Option<SimTime>| at.map(|at| at.since(update.at).as_secs_f64());
        let silent = update.silent.iter().map(|(worker, ranks)| SilentWorker { worker: *worker, ranks: ranks.clone() });
        Self {
            post: update.post,
            frontend: update.frontend,
            at_s: update.at.as_secs_f64(),
            thresholds: Thresholds::of(&update.update),
            answer: answer_name(update.answer).to_owned(),
            outcome: update_outcome(update).to_owned(),
            noticed_lag_s: lag(update.noticed),
            all_lag_s: lag(update.all),
            superseded_lag_s: lag(update.superseded),
            workers_switched: update.workers.len() as u64,
            silent: silent.collect(),
            decisions_before_noticed: update.decisions[0],
            decisions_until_all: update.decisions[1],
        }
    }
}

impl Thresholds {
    fn of(update: &ThresholdUpdate) -> Self {
        // A post may carry values that the frontend refuses, NaN among them.
        let finite = |value: Option<f64>| value.filter(|v| v.is_finite());
        Self {
            active_decode_blocks_threshold: finite(update.active_decode_blocks_threshold),
            active_prefill_tokens_threshold: update.active_prefill_tokens_threshold,
            active_prefill_tokens_threshold_frac: finite(update.active_prefill_tokens_threshold_frac),
        }
    }

    /// In a few words: `decode 0.6, prefill 5000 tokens`.
    pub fn in_words(&self) -> String {
        let parts = [
            self.active_decode_blocks_threshold.map(|v| format!("decode {v}")),
            self.active_prefill_tokens_threshold.map(|v| format!("prefill {v} tokens")),
            self.active_prefill_tokens_threshold_frac.map(|v| format!("prefill fraction {v}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "no threshold".to_owned() } else { parts.join(", ") }
    }
}

/// Name of an answer in machine formats.
pub(super) const fn answer_name(answer: PostAnswer) -> &'static str {
    match answer {
        PostAnswer::Changed => "changed",
        PostAnswer::Unchanged => "unchanged",
        PostAnswer::Invalid => "invalid",
        PostAnswer::UnknownModel => "unknown_model",
    }
}

/// How far a post came.
pub(super) const fn update_outcome(update: &UpdateResult) -> &'static str {
    match update.answer {
        PostAnswer::Invalid | PostAnswer::UnknownModel => "refused",
        PostAnswer::Unchanged => "no_op",
        PostAnswer::Changed if update.all.is_some() => "all",
        PostAnswer::Changed if update.superseded.is_some() => "superseded",
        PostAnswer::Changed => "never",
    }
}

impl TraceSummary {
    fn of(report: &TraceReport) -> Self {
        let dropped = DropReason::ALL.into_iter().filter(|r| report.dropped_for(*r) > 0);
        Self {
            path: report.path.display().to_string(),
            format: report.format.name().to_owned(),
            rows_read: report.rows_read,
            replayed: report.emitted,
            dropped: dropped.map(|r| Dropped { reason: r.name().to_owned(), rows: report.dropped_for(r) }).collect(),
            last_arrival_s: report.last_arrival.map(SimTime::as_secs_f64),
        }
    }
}
