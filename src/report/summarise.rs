//! From a result to its [`Summary`].

use super::summary::{
    AttemptsSummary, ClassSummary, Conservation, Dropped, FleetSummary, LatencySet, LatencySummary, Level, MeasuresSummary,
    Named, Occupancy, PhaseSummary, RecoverySummary, RequestsSummary, SCHEMA, SessionSummary, SilentWorker, SloSummary,
    SloTargets, Summary, Thresholds, TokensSummary, TraceSummary, UpdateSummary, WarningEntry,
};
use crate::cluster::observer::PostAnswer;
use crate::control::{RefusalReason, ThresholdUpdate};
use crate::experiment::measure_table::MEASURES;
use crate::experiment::measures::{AttemptCounts, Latencies, Measures, RequestCounts, SloCounts, TokenCounts, share};
use crate::experiment::result::UpdateResult;
use crate::experiment::verdicts::Recovery;
use crate::experiment::{RunEnd, RunResult};
use crate::scenario::{QuantileMethod, Scenario, Warning};
use crate::stats::{Quantiles, RankRule, Window};
use crate::units::{SimTime, Span};
use crate::workload::sessions::SessionCounts;
use crate::workload::trace::{DropReason, TraceReport};

const NANOS_PER_SECOND: f64 = 1e9;

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
            measures: MEASURES.iter().map(|measure| (measure.name.to_owned(), measure.take(result, rule).value())).collect(),
            recovery: result.recovery.as_ref().map(RecoverySummary::of),
            phases: result.phases.iter().map(phase).collect(),
            classes: result.classes.iter().map(class).collect(),
            decision_quality: super::quality::QualitySummary::of(result),
            threshold_updates: result.updates.iter().map(UpdateSummary::of).collect(),
            trace: result.trace.as_ref().map(TraceSummary::of),
            sessions: result.sessions.map(SessionSummary::of),
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

impl RecoverySummary {
    fn of(recovery: &Recovery) -> Self {
        Self {
            disturbed_at_s: recovery.disturbed_at.as_secs_f64(),
            over_at_s: recovery.over_at.map(SimTime::as_secs_f64),
            recovered_after_s: recovery.recovered_at.map(|at| at.since(recovery.disturbed_at).as_secs_f64()),
            recovered_after_end_s: recovery
                .over_at
                .zip(recovery.recovered_at)
                .map(|(over, back)| back.since(over.min(back)).as_secs_f64()),
            resolution_s: recovery.resolution.as_secs_f64(),
            goodput_before: recovery.before.goodput,
            goodput_last_quarter: recovery.last_quarter.goodput,
            offered_before: recovery.before.offered,
            offered_last_quarter: recovery.last_quarter.offered,
            does_not_recover: recovery.fails(),
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
        Self {
            input: tokens.input,
            output: tokens.output,
            wasted: tokens.wasted,
            wasted_share: tokens.wasted_share(),
            wasted_attempts: tokens.wasted_attempts,
            output_rate,
        }
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

impl SessionSummary {
    fn of(counts: SessionCounts) -> Self {
        let SessionCounts { started, completed, at_max_context, broken, turns, cut } = counts;
        Self { started, completed, at_max_context, broken, unfinished: counts.unfinished(), turns, turns_cut: cut }
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
            effect_lag_s: lag(update.effect),
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
