//! Names, kinds, units, help texts and labels of every metric, as Dynamo's dashboards know them.

/// What kind of metric it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricKind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by bound, with sum and count.
    Histogram(LogBounds),
}

/// Log-spaced bounds of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogBounds {
    /// Where the geometric sequence starts; not a bound itself, as 0 stands in its place.
    pub min: f64,
    /// The last bound, before rounding.
    pub max: f64,
    /// How many bounds, 0 included, before equal ones are merged.
    pub count: usize,
}

impl LogBounds {
    /// The bounds: 0, then `min * (max / min)^(i / (count - 1))` for i from 1, each rounded to two significant figures.
    ///
    /// The root is found by bisection with multiplications alone, so that the bounds are the same on every platform.
    pub fn bounds(&self) -> Vec<f64> {
        let steps = self.count.saturating_sub(1);
        let power = |base: f64, n: usize| (0..n).fold(1.0, |product, _| product * base);
        let (mut low, mut high) = (1.0, self.max / self.min);
        for _ in 0..200 {
            let middle = low + (high - low) / 2.0;
            if power(middle, steps) <= self.max / self.min { low = middle } else { high = middle }
        }
        let mut bounds: Vec<f64> = std::iter::once(0.0)
            .chain((1..=steps).map(|i| {
                let exact = if i == steps { self.max } else { self.min * power(low, i) };
                two_figures(exact)
            }))
            .collect();
        bounds.dedup();
        bounds
    }
}

/// `value` to two significant figures: the float nearest to that decimal.
fn two_figures(value: f64) -> f64 {
    format!("{value:.1e}").parse().expect("the e format is a float")
}

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// Full name.
    pub name: &'static str,
    /// Kind.
    pub kind: MetricKind,
    /// Unit; empty for plain numbers.
    pub unit: &'static str,
    /// Help text.
    pub help: &'static str,
    /// Label names, in order.
    pub labels: &'static [&'static str],
}

const fn metric(
    kind: MetricKind,
    name: &'static str,
    unit: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Metric {
    Metric { name, kind, unit, help, labels }
}

const fn histogram(name: &'static str, unit: &'static str, (min, max, count): (f64, f64, usize), help: &'static str) -> Metric {
    metric(MetricKind::Histogram(LogBounds { min, max, count }), name, unit, MODEL, help)
}

const MODEL: &[&str] = &["model"];
const WORKER: &[&str] = &["worker_id"];
const RANK: &[&str] = &["worker_id", "dp_rank", "worker_type"];
const COUNTER: MetricKind = MetricKind::Counter;
const GAUGE: MetricKind = MetricKind::Gauge;

/// Requests refused by the worker's gate.
pub const REJECTION_REQUEST_TOTAL: Metric =
    metric(COUNTER, "dynamo_rejection_request_total", "", WORKER, "Requests the worker refused at capacity");
/// Engine slots in use.
pub const ENGINE_REQUEST: Metric = metric(GAUGE, "dynamo_engine_request", "", WORKER, "Engine slots in use");
/// Length of the overflow channel.
pub const REQUEST_QUEUE: Metric =
    metric(GAUGE, "dynamo_request_queue", "", WORKER, "Requests in the overflow channel, the dispatcher's not counted");
/// Overload responses of the frontend.
pub const MODEL_REJECTION_TOTAL: Metric = metric(
    COUNTER,
    "dynamo_frontend_model_rejection_total",
    "",
    &["model", "endpoint"],
    "Requests answered with the overload status",
);
/// Blocks by the router's own tracking.
pub const WORKER_ACTIVE_DECODE_BLOCKS: Metric =
    metric(GAUGE, "dynamo_frontend_worker_active_decode_blocks", "", RANK, "KV blocks the router tracks on the rank");
/// Prefill tokens by the router's own tracking.
pub const WORKER_ACTIVE_PREFILL_TOKENS: Metric =
    metric(GAUGE, "dynamo_frontend_worker_active_prefill_tokens", "", RANK, "Prefill tokens the router tracks on the rank");
/// Requests that reached the frontend.
pub const REQUESTS_STARTED_TOTAL: Metric = metric(
    COUNTER,
    "dynamo_frontend_requests_started_total",
    "",
    &["model", "endpoint", "request_type"],
    "Requests that reached the frontend",
);
/// Requests that are over.
pub const REQUESTS_TOTAL: Metric = metric(
    COUNTER,
    "dynamo_frontend_requests_total",
    "",
    &["model", "endpoint", "request_type", "status", "error_type"],
    "Requests that are over, by how they ended",
);
/// Requests without a first token.
pub const QUEUED_REQUESTS: Metric =
    metric(GAUGE, "dynamo_frontend_queued_requests", "", MODEL, "Requests that wait for their first token");
/// Requests inside the frontend.
pub const INFLIGHT_REQUESTS: Metric =
    metric(GAUGE, "dynamo_frontend_inflight_requests", "", MODEL, "Requests inside, from arrival to the end of the answer");
/// The newer name of [`INFLIGHT_REQUESTS`].
pub const ACTIVE_REQUESTS: Metric =
    metric(GAUGE, "dynamo_frontend_active_requests", "", MODEL, "Requests inside, from arrival to the end of the answer");
/// Time from arrival to end.
pub const REQUEST_DURATION_SECONDS: Metric = histogram(
    "dynamo_frontend_request_duration_seconds",
    "seconds",
    (1.0, 512.0, 10),
    "Time from arrival to the end of the answer",
);
/// Time to first token.
pub const TIME_TO_FIRST_TOKEN_SECONDS: Metric = histogram(
    "dynamo_frontend_time_to_first_token_seconds",
    "seconds",
    (0.001, 480.0, 18),
    "Time from arrival to the first output token",
);
/// Time between tokens.
pub const INTER_TOKEN_LATENCY_SECONDS: Metric = histogram(
    "dynamo_frontend_inter_token_latency_seconds",
    "seconds",
    (0.001, 80.0, 20),
    "Time between output tokens of a request",
);
/// Prompt lengths.
pub const INPUT_SEQUENCE_TOKENS: Metric =
    histogram("dynamo_frontend_input_sequence_tokens", "tokens", (50.0, 128_000.0, 12), "Prompt tokens of a request");
/// Output lengths.
pub const OUTPUT_SEQUENCE_TOKENS: Metric =
    histogram("dynamo_frontend_output_sequence_tokens", "tokens", (50.0, 32_000.0, 10), "Output tokens of a request");
/// Output tokens.
pub const OUTPUT_TOKENS_TOTAL: Metric =
    metric(COUNTER, "dynamo_frontend_output_tokens_total", "tokens", MODEL, "Output tokens sent");
/// Requests whose client left.
pub const MODEL_CANCELLATION_TOTAL: Metric = metric(
    COUNTER,
    "dynamo_frontend_model_cancellation_total",
    "",
    &["model", "endpoint", "request_type"],
    "Requests whose client left",
);
/// Further dispatches.
pub const MODEL_MIGRATION_TOTAL: Metric = metric(
    COUNTER,
    "dynamo_frontend_model_migration_total",
    "",
    &["model", "migration_type"],
    "Further dispatches of requests that failed at a worker",
);
/// Advertised blocks.
pub const MODEL_TOTAL_KV_BLOCKS: Metric =
    metric(GAUGE, "dynamo_frontend_model_total_kv_blocks", "", MODEL, "KV blocks of a rank, as advertised");
/// Advertised seats.
pub const MODEL_MAX_NUM_SEQS: Metric =
    metric(GAUGE, "dynamo_frontend_model_max_num_seqs", "", MODEL, "Running sequences of a rank, as advertised");
/// Advertised token budget.
pub const MODEL_MAX_NUM_BATCHED_TOKENS: Metric =
    metric(GAUGE, "dynamo_frontend_model_max_num_batched_tokens", "", MODEL, "Token budget of a step, as advertised");
/// Tokens in a block.
pub const MODEL_KV_CACHE_BLOCK_SIZE: Metric =
    metric(GAUGE, "dynamo_frontend_model_kv_cache_block_size", "tokens", MODEL, "Tokens in a KV block");
/// Migration limit.
pub const MODEL_MIGRATION_LIMIT: Metric =
    metric(GAUGE, "dynamo_frontend_model_migration_limit", "", MODEL, "Further dispatches a request may have");

/// The table of all metrics: the workers' first, then the frontend's.
pub const ALL: &[Metric] = &[
    REJECTION_REQUEST_TOTAL,
    ENGINE_REQUEST,
    REQUEST_QUEUE,
    MODEL_REJECTION_TOTAL,
    WORKER_ACTIVE_DECODE_BLOCKS,
    WORKER_ACTIVE_PREFILL_TOKENS,
    REQUESTS_STARTED_TOTAL,
    REQUESTS_TOTAL,
    QUEUED_REQUESTS,
    INFLIGHT_REQUESTS,
    ACTIVE_REQUESTS,
    REQUEST_DURATION_SECONDS,
    TIME_TO_FIRST_TOKEN_SECONDS,
    INTER_TOKEN_LATENCY_SECONDS,
    INPUT_SEQUENCE_TOKENS,
    OUTPUT_SEQUENCE_TOKENS,
    OUTPUT_TOKENS_TOTAL,
    MODEL_CANCELLATION_TOTAL,
    MODEL_MIGRATION_TOTAL,
    MODEL_TOTAL_KV_BLOCKS,
    MODEL_MAX_NUM_SEQS,
    MODEL_MAX_NUM_BATCHED_TOKENS,
    MODEL_KV_CACHE_BLOCK_SIZE,
    MODEL_MIGRATION_LIMIT,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_follow_the_stated_rule() {
        let bounds = |metric: Metric| match metric.kind {
            MetricKind::Histogram(log) => log.bounds(),
            _ => panic!("{} is no histogram", metric.name),
        };
        assert_eq!(bounds(REQUEST_DURATION_SECONDS), [0.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 130.0, 260.0, 510.0]);
        let ttft = bounds(TIME_TO_FIRST_TOKEN_SECONDS);
        assert_eq!((ttft.len(), ttft[1], ttft[17]), (18, 0.0022, 480.0));
        for metric in ALL.iter().filter(|m| matches!(m.kind, MetricKind::Histogram(_))) {
            let list = bounds(*metric);
            assert!(list[0] == 0.0 && list.is_sorted_by(|a, b| a < b), "{}: {list:?}", metric.name);
        }
    }

    #[test]
    fn names_are_unique_and_those_of_the_release() {
        for (i, metric) in ALL.iter().enumerate() {
            assert!(metric.name.starts_with("dynamo_"), "{}", metric.name);
            assert!(ALL[i + 1..].iter().all(|other| other.name != metric.name), "{}", metric.name);
            assert_eq!(metric.kind == MetricKind::Counter, metric.name.ends_with("_total"), "{}", metric.name);
        }
    }
}
