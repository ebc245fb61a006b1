//! Which series there are, and where each takes its values from.

use super::distribution::Distribution;
use super::own;
use super::tally::{End, Tally, bounds};
use crate::cluster::config::{RouterMode, WorkerEngine};
use crate::cluster::observer::FleetSample;
use crate::cluster::worker::{Worker, advertised};
use crate::control::metrics::{self, Metric, MetricKind};
use crate::scenario::Scenario;
use crate::units::Span;

/// Label `endpoint`: what LLM clients ask for most.
const ENDPOINT: &str = "chat_completions";
/// Label `request_type`: answers are streamed, or there would be no time to a first token.
const REQUEST_TYPE: &str = "stream";
/// Label `worker_type` of workers that do everything.
const WORKER_TYPE: &str = "decode";
/// Label `migration_type`: before and after the first output.
const MIGRATION_TYPES: [&str; 2] = ["new_request", "ongoing_request"];

/// Label `threshold`.
const THRESHOLDS: [&str; 3] =
    ["active_decode_blocks_threshold", "active_prefill_tokens_threshold", "active_prefill_tokens_threshold_frac"];
/// Label `stage` of a threshold update, in the order of [`Tally::lags`].
const STAGES: [&str; 3] = ["noticed", "all", "effect"];

/// Where a series takes its value from at a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Rejections(usize),
    EngineSlots(usize),
    QueueGauge(usize),
    TrackedBlocks(usize),
    TrackedPrefillTokens(usize),
    Started,
    Ended(End),
    Queued,
    Inflight,
    OutputTokens,
    Migrated(usize),
    /// A histogram: several columns.
    Duration,
    Ttft,
    InterToken,
    Input,
    Output,
    /// Does not change.
    Fixed(u64),
    Excluded(usize),
    Threshold(usize),
    /// By frontend and stage.
    UpdateLag(usize, usize),
}

/// One label set of a metric.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    /// `name="value"` pairs, separated by commas.
    pub labels: String,
    source: Source,
}

/// A metric with its label sets, at least one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Family {
    pub metric: &'static Metric,
    pub series: Vec<Series>,
}

impl Family {
    /// Columns of each of its series.
    pub fn width(&self) -> usize {
        match self.metric.kind {
            MetricKind::Counter | MetricKind::Gauge => 1,
            MetricKind::Histogram(bounds) => Distribution::width(bounds),
        }
    }
}

/// All series of a scenario: those of the release in the order of [`metrics::ALL`], then shedcast's own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Catalogue {
    pub families: Vec<Family>,
}

impl Catalogue {
    pub fn of(scenario: &Scenario) -> Self {
        let families = metrics::ALL.iter().chain(own::ALL).map(|metric| Family { metric, series: series_of(metric, scenario) });
        Self { families: families.filter(|family| !family.series.is_empty()).collect() }
    }

    /// Columns of a row.
    pub fn width(&self) -> usize {
        self.families.iter().map(|family| family.width() * family.series.len()).sum()
    }

    /// Fills `row` with every column, in order; `NaN` is what does not exist at this instant.
    pub fn fill(&self, tally: &Tally, fleet: &FleetSample, row: &mut Vec<f64>) {
        row.clear();
        for series in self.families.iter().flat_map(|family| &family.series) {
            series.source.push(tally, fleet, row);
        }
    }
}

impl Source {
    fn push(self, tally: &Tally, fleet: &FleetSample, row: &mut Vec<f64>) {
        // What is not registered is not scraped.
        let worker = |at: usize| fleet.workers.get(at).filter(|worker| worker.present);
        let tracked = |at: usize, which: usize| fleet.ranks.get(at).and_then(|rank| rank.tracked).map(|loads| loads[which]);
        let value = match self {
            Self::Duration => return tally.duration.push_to(row),
            Self::Ttft => return tally.ttft.push_to(row),
            Self::InterToken => return tally.inter_token.push_to(row),
            Self::Input => return tally.input.push_to(row),
            Self::Output => return tally.output.push_to(row),
            Self::Rejections(at) => worker(at).map(|_| tally.rejections[at]),
            Self::EngineSlots(at) => worker(at).map(|w| w.gate.in_engine.into()),
            Self::QueueGauge(at) => worker(at).map(|w| w.gate.gauge.into()),
            Self::TrackedBlocks(at) => tracked(at, 0),
            Self::TrackedPrefillTokens(at) => tracked(at, 1),
            Self::Started => Some(tally.started),
            Self::Ended(end) => Some(tally.ended[end as usize]),
            Self::Queued => Some(tally.queued()),
            Self::Inflight => Some(tally.inflight()),
            Self::OutputTokens => Some(tally.output_tokens),
            Self::Migrated(kind) => Some(tally.migrated[kind]),
            Self::Fixed(value) => Some(value),
            Self::Excluded(at) => worker(at).map(|w| u64::from(!w.excluded.is_empty())),
            Self::Threshold(at) => return row.push(threshold(fleet, at).unwrap_or(f64::NAN)),
            Self::UpdateLag(frontend, stage) => {
                return row.push(tally.lags[frontend][stage].map_or(f64::NAN, Span::as_secs_f64));
            }
        };
        row.push(value.map_or(f64::NAN, |value| value as f64));
    }
}

/// A threshold stored at the first frontend, if it is set.
fn threshold(fleet: &FleetSample, which: usize) -> Option<f64> {
    let stored = &fleet.thresholds;
    match which {
        0 => stored.active_decode_blocks_threshold,
        1 => stored.active_prefill_tokens_threshold.map(|tokens| tokens as f64),
        _ => stored.active_prefill_tokens_threshold_frac,
    }
}

/// The label sets of `metric`; none where the cluster of the scenario does not export it.
fn series_of(metric: &'static Metric, scenario: &Scenario) -> Vec<Series> {
    let workers = scenario.fleet.worker_count() as usize;
    let each_worker =
        |source: fn(usize) -> Source| (0..workers).map(|at| one(metric, &[&id(at)], source(at))).collect::<Vec<_>>();
    let model = scenario.frontend.model.as_str();
    let of_model = |source| vec![one(metric, &[model], source)];
    match metric.name {
        name if name == metrics::REJECTION_REQUEST_TOTAL.name => each_worker(Source::Rejections),
        name if name == metrics::ENGINE_REQUEST.name => each_worker(Source::EngineSlots),
        name if name == metrics::REQUEST_QUEUE.name => each_worker(Source::QueueGauge),
        name if name == metrics::MODEL_REJECTION_TOTAL.name => {
            vec![one(metric, &[model, ENDPOINT], Source::Ended(End::Overload))]
        }
        name if name == metrics::WORKER_ACTIVE_DECODE_BLOCKS.name => each_rank(metric, scenario, Source::TrackedBlocks),
        name if name == metrics::WORKER_ACTIVE_PREFILL_TOKENS.name => each_rank(metric, scenario, Source::TrackedPrefillTokens),
        name if name == metrics::REQUESTS_STARTED_TOTAL.name => {
            vec![one(metric, &[model, ENDPOINT, REQUEST_TYPE], Source::Started)]
        }
        name if name == metrics::REQUESTS_TOTAL.name => {
            let each = End::ALL.iter().map(|end| {
                let [status, error] = end.labels();
                one(metric, &[model, ENDPOINT, REQUEST_TYPE, status, error], Source::Ended(*end))
            });
            each.collect()
        }
        name if name == metrics::QUEUED_REQUESTS.name => of_model(Source::Queued),
        name if name == metrics::INFLIGHT_REQUESTS.name || name == metrics::ACTIVE_REQUESTS.name => of_model(Source::Inflight),
        name if name == metrics::REQUEST_DURATION_SECONDS.name => of_model(Source::Duration),
        name if name == metrics::TIME_TO_FIRST_TOKEN_SECONDS.name => of_model(Source::Ttft),
        name if name == metrics::INTER_TOKEN_LATENCY_SECONDS.name => of_model(Source::InterToken),
        name if name == metrics::INPUT_SEQUENCE_TOKENS.name => of_model(Source::Input),
        name if name == metrics::OUTPUT_SEQUENCE_TOKENS.name => of_model(Source::Output),
        name if name == metrics::OUTPUT_TOKENS_TOTAL.name => of_model(Source::OutputTokens),
        name if name == metrics::MODEL_CANCELLATION_TOTAL.name => {
            vec![one(metric, &[model, ENDPOINT, REQUEST_TYPE], Source::Ended(End::Cancelled))]
        }
        name if name == metrics::MODEL_MIGRATION_TOTAL.name => {
            let kinds = MIGRATION_TYPES.iter().enumerate();
            kinds.map(|(at, kind)| one(metric, &[model, kind], Source::Migrated(at))).collect()
        }
        name if name == own::WORKER_EXCLUDED.name => each_worker(Source::Excluded),
        name if name == own::BUSY_THRESHOLD.name => {
            THRESHOLDS.iter().enumerate().map(|(at, name)| one(metric, &[name], Source::Threshold(at))).collect()
        }
        name if name == own::THRESHOLD_UPDATE_LAG_SECONDS.name => {
            let frontends = 0..scenario.frontend.frontends as usize;
            let each = frontends.flat_map(|frontend| STAGES.iter().enumerate().map(move |(at, stage)| (frontend, at, stage)));
            each.map(|(frontend, at, stage)| one(metric, &[&frontend.to_string(), stage], Source::UpdateLag(frontend, at)))
                .collect()
        }
        _ => fixed(metric, scenario).into_iter().flat_map(|value| of_model(Source::Fixed(value))).collect(),
    }
}

/// What the model's workers advertise at the start, by the first of their types.
fn fixed(metric: &Metric, scenario: &Scenario) -> Option<u64> {
    let first = scenario.fleet.types.first()?;
    let config = advertised(first);
    match metric.name {
        name if name == metrics::MODEL_TOTAL_KV_BLOCKS.name => config.kv_total_blocks,
        name if name == metrics::MODEL_MAX_NUM_SEQS.name => match &first.engine {
            WorkerEngine::Batching(engine) => Some(engine.max_num_seqs.into()),
            WorkerEngine::Opaque { .. } => None,
        },
        name if name == metrics::MODEL_MAX_NUM_BATCHED_TOKENS.name => config.max_num_batched_tokens,
        name if name == metrics::MODEL_KV_CACHE_BLOCK_SIZE.name => Some(first.kv_cache_block_size.into()),
        name if name == metrics::MODEL_MIGRATION_LIMIT.name => Some(scenario.frontend.migration_limit.into()),
        _ => unreachable!("every metric has its source"),
    }
}

/// A series for each rank; none but in kv mode, where routers track loads.
fn each_rank(metric: &'static Metric, scenario: &Scenario, source: fn(usize) -> Source) -> Vec<Series> {
    if scenario.frontend.router_mode != RouterMode::Kv {
        return Vec::new();
    }
    let types = scenario.fleet.types.iter().flat_map(|t| std::iter::repeat_n(t.data_parallel_size, t.count() as usize));
    let ranks = types.enumerate().flat_map(|(worker, ranks)| (0..ranks).map(move |rank| (worker, rank)));
    let series =
        ranks.enumerate().map(|(at, (worker, rank))| one(metric, &[&id(worker), &rank.to_string(), WORKER_TYPE], source(at)));
    series.collect()
}

fn id(worker: usize) -> String {
    (Worker::FIRST_ID as usize + worker).to_string()
}

/// One series: values for the labels of `metric`, in their order.
fn one(metric: &Metric, values: &[&str], source: Source) -> Series {
    debug_assert_eq!(metric.labels.len(), values.len(), "{}", metric.name);
    let pairs = metric.labels.iter().zip(values).map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    Series { labels: pairs.collect::<Vec<_>>().join(","), source }
}

/// A label's value as it stands in quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Bounds of the histogram that a family is, if it is one.
pub(super) fn bounds_of(family: &Family) -> Option<Vec<f64>> {
    matches!(family.metric.kind, MetricKind::Histogram(_)).then(|| bounds(family.metric).bounds())
}
