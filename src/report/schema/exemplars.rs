//! Documents that lead readers through everything they take: each kind of worker, arrival, length, event and option. Whether
//! they are valid is of no concern, only what is asked of them: so a file that is not there is named here.

/// Scenarios.
pub(super) const SCENARIOS: [&str; 15] = [
    BATCHING,
    TYPES,
    OPAQUE,
    STREAMS,
    CLASSES,
    TRACE,
    EVENTS,
    CLOSED,
    CLOSED_CLASSES,
    SESSIONS,
    PAIRS,
    PAIRS_IN_PLACE,
    SWEEP,
    PLAN,
    PLAN_IN_NUMBERS,
];

/// Preset files.
pub(super) const PRESETS: [&str; 3] = [
    "name = \"a\"\nkind = \"fitted\"\nsource = \"b\"\nvalidity = \"c\"\nkv_total_blocks = 1\nkv_cache_block_size = 1\nmax_num_seqs = 1\n\
     max_num_batched_tokens = 1\nengine = { base = 1, prefill = 1, prefill_squared = 1, decode = 1, context = 1, served_factor = 1.5 }",
    "name = \"a\"\nkv_total_blocks = 1\nblock_size = 1\nengine = { prefill = [1, 1, 1], decode = [1, 1, 1] }",
    "name = \"a\"\nkv_total_blocks = 1\nengine = { timing = \"mocker\", preset = \"dynamo-mocker\" }",
];

/// A batching fleet, frontends, telemetry, and the small tables.
const BATCHING: &str = r#"
"$schema" = "x"
name = "a"
description = "b"
seed = 1
horizon = "1s"
requests = 1
warmup = "mser-5"
phases = "auto"
[fleet]
workers = 1
standby = 1
cost = 1
engine = { preset = "a", served_factor = 1, base = "1ms", prefill = 1, prefill_squared = 1, decode = 1, context = 1 }
data_parallel_size = 1
kv_total_blocks = 1
kv_cache_block_size = 1
max_num_batched_tokens = 1
max_num_seqs = 1
max_model_len = 1
engine_request_limit = 1
request_queue_limit = 2
rank_dispatch = "round_robin"
dp_lockstep = true
advertised = { kv_total_blocks = 1, max_num_batched_tokens = 1, data_parallel_size = 1 }
[frontend]
frontends = 4096
spread = "random"
router_mode = "kv"
active_decode_blocks_threshold = 0.5
active_prefill_tokens_threshold = 1
active_prefill_tokens_threshold_frac = 0.5
router_track_output_blocks = true
router_track_prefill_tokens = true
router_track_active_blocks = true
migration_limit = 1
overload_status_code = 529
overload_lease = "1s"
runtime_inhibited_duration = "1s"
discovery_delay = "1s"
retry_after = "1s"
model = "a"
[telemetry]
worker_kv_metrics = true
debounce = "1ms"
delay = "1ms"
loss = 0.5
reorder = true
[workload]
requests = [{ at = "0s", count = 1, every = "1s", input_tokens = 1, output_tokens = 1, service_time = "1s", worker = 1, class = "a" }]
[slo]
ttft = "1s"
tpot = "1s"
e2e = "1s"
[output]
requests = true
timeseries_interval = "1s"
quantile_method = "nearest_rank"
decision_quality = true
metrics = true
metrics_epoch = "2026-01-01T00:00:00Z"
[limits]
max_events = 1
max_requests_in_system = 1
max_output_bytes = 1
"#;

/// Several types of workers, and texts where others have numbers.
const TYPES: &str = r#"
max_events = 1
phases = ["1s"]
[fleet]
block_size = 1
advertised = { kv_total_blocks = "truth", max_num_batched_tokens = "absent", data_parallel_size = "truth" }
engine = "dynamo-mocker"
[[fleet.worker_types]]
name = "a"
workers = 1
standby = 1
cost = 1
engine = { prefill = [1, 1, 1], decode = ["1ms", 1, 1], served_factor = 1 }
data_parallel_size = 1
kv_total_blocks = 1
kv_cache_block_size = 1
max_num_batched_tokens = 1
max_num_seqs = 1
max_model_len = 1
engine_request_limit = 1
request_queue_limit = 2
rank_dispatch = "round_robin"
dp_lockstep = true
advertised = { kv_total_blocks = 1, max_num_batched_tokens = 1, data_parallel_size = 1 }
[[fleet.worker_types]]
name = "b"
workers = 1
block_size = 1
engine = { preset = "a", served_factor = 1, base = "1ms", prefill = 1, prefill_squared = 1, decode = 1, context = 1 }
advertised = { kv_total_blocks = "truth", max_num_batched_tokens = "truth", data_parallel_size = "truth" }
[[fleet.worker_types]]
name = "c"
workers = 1
engine = { timing = "mocker" }
kv_total_blocks = "none"
[[fleet.worker_types]]
name = "d"
workers = 1
engine = "dynamo-mocker"
[[fleet.worker_types]]
name = "e"
workers = 1
engine = { preset = "dynamo-mocker" }
[[fleet.worker_types]]
name = "f"
workers = 1
service_time = "per_request"
[[fleet.worker_types]]
name = "g"
workers = 1
service_time = { distribution = "constant", value = "1s" }
[[fleet.worker_types]]
name = "h"
workers = 1
service_time = { distribution = "uniform", low = "1s", high = "1s" }
[[fleet.worker_types]]
name = "i"
workers = 1
service_time = { distribution = "exponential", mean = "1s" }
[[fleet.worker_types]]
name = "j"
workers = 1
service_time = { distribution = "gamma", mean = "1s", cv = 1 }
[[fleet.worker_types]]
name = "k"
workers = 1
service_time = { distribution = "empirical", values = ["1s"], weights = [1] }
[frontend]
frontends = 2
spread = [1, 1]
http_overload_status_code = 529
[telemetry]
delay = { distribution = "uniform", low = "1s", high = "1s" }
[workload]
trace = "no-such-file.csv"
"#;

/// Opaque workers; more engines and delays.
const OPAQUE: &str = r#"
horizon = "1s"
warmup = "1s"
[fleet]
workers = 1
service_time = { distribution = "uniform", low = "1s", high = "1s" }
[telemetry]
delay = { distribution = "gamma", mean = "1s", cv = 1 }
[workload]
arrivals = { process = "on_off", on_rate = 1, off_rate = 1, mean_on = "1s", mean_off = "1s" }
requests = [{ at = "0s" }]
"#;

/// One stream, with lengths of each kind in turn.
const STREAMS: &str = r#"
horizon = "1s"
[fleet]
workers = 1
engine = { prefill = [1, 1, 1], decode = ["1ms", 1, 1] }
[telemetry]
delay = { distribution = "empirical", values = ["1s"], weights = [1] }
[workload]
arrivals = { process = "gamma", rate = 1, cv = 1 }
input_tokens = { distribution = "lognormal", mean = 1, p99 = 1, min = 1, max = 1 }
output_tokens = { distribution = "lognormal", mean = 1, p99 = 1, min = 1, max = 1 }
length_correlation = 0.5
[clients]
retry = { statuses = [529], attempts = 2, initial = "1s", max = "1s", backoff = "fixed", jitter = "full", on_timeout = true, timeout_delay = "1s", budget = { max_tokens = 1, token_ratio = 1 }, obey_retry_after = true }
patience = "1s"
patience_first_token = "1s"
server_notices = true
closed_loop = "none"
max_in_flight = "none"
"#;

/// Classes of clients, with every length there is.
const CLASSES: &str = r#"
horizon = "1s"
[fleet]
workers = 1
engine = { timing = "mocker" }
service_time = { distribution = "gamma", mean = "1s", cv = 1 }
[telemetry]
delay = { distribution = "constant", value = "1s" }
[[workload.classes]]
class = "a"
arrivals = { process = "poisson", rate = [{ at = "0s", rate = 1, ramp = true }, { at = "1s", rate = 1 }] }
input_tokens = 1
output_tokens = 1
length_correlation = 0.5
[[workload.classes]]
class = "b"
arrivals = { process = "weibull", rate = 1, cv = 1 }
input_tokens = { distribution = "constant", value = 1 }
output_tokens = { distribution = "constant", value = 1 }
[[workload.classes]]
class = "c"
arrivals = { process = "on_off", on_rate = 1, off_rate = 1, mean_on = "1s", mean_off = "1s" }
input_tokens = { distribution = "uniform", low = 1, high = 1 }
output_tokens = { distribution = "uniform", low = 1, high = 1 }
[[workload.classes]]
class = "d"
arrivals = { process = "constant", rate = 1 }
input_tokens = { distribution = "pareto", scale = 1, alpha = 1 }
output_tokens = { distribution = "pareto", scale = 1, alpha = 1 }
[[workload.classes]]
class = "e"
arrivals = { process = "constant", rate = 1 }
input_tokens = { distribution = "empirical", values = [1], weights = [1] }
output_tokens = { distribution = "empirical", values = [1], weights = [1] }
[[workload.classes]]
class = "f"
arrivals = { process = "constant", rate = 1 }
input_tokens = { distribution = "lognormal", mean = 1, cv = 1, min = 1, max = 1 }
output_tokens = { distribution = "lognormal", mean = 1, cv = 1, min = 1, max = 1 }
[[workload.classes]]
class = "g"
arrivals = { process = "constant", rate = 1 }
input_tokens = { distribution = "lognormal", mean = 1, p99 = 1 }
output_tokens = { distribution = "lognormal", mean = 1, p99 = 1 }
[[workload.classes]]
class = "h"
arrivals = { process = "constant", rate = 1 }
input_tokens = { distribution = "gamma", mean = 1, cv = 1 }
output_tokens = { distribution = "gamma", mean = 1, cv = 1 }
"#;

/// A trace with every option.
const TRACE: &str = r#"
[fleet]
workers = 1
engine = { preset = "dynamo-mocker", served_factor = 1 }
service_time = "per_request"
[workload.trace]
path = "no-such-file.csv"
format = "azure"
class = "a"
sessions = "follow"
columns = { arrival = "a", arrival_unit = "s", input_tokens = "b", output_tokens = "c", service_time = "d", service_time_unit = "s", header = true }
time_unit = "s"
window_start = "1s"
window_end = "1s"
rate_scale = 1
max_gap = "1s"
repeat = true
dequantise = "1s"
max_rows = 1
max_input_tokens = 1
max_output_tokens = 1
strict = true
sort = true
prefix_reuse = "off"
hash_block_size = 1
class_column = "a"
input_tokens = 1
output_tokens = 1
"#;

/// Every event.
const EVENTS: &str = r#"
[fleet]
service_time = { distribution = "empirical", values = ["1s"], weights = [1] }
engine = "dynamo-mocker"
workers = 1
[frontend]
frontends = 4096
[[events]]
at = "1s"
every = "1s"
until = "1s"
frontends = "all"
post_busy_threshold = { active_decode_blocks_threshold = 1, active_prefill_tokens_threshold = 1, active_prefill_tokens_threshold_frac = 1, model = "a" }
[[events]]
at = "1s"
frontends = [0]
load = { worker = 1, rank = 0, active_decode_blocks = 1, active_prefill_tokens = 1, kv_used_blocks = 1 }
[[events]]
at = "1s"
load = [{ worker = 1, rank = 0, active_decode_blocks = 1, active_prefill_tokens = 1, kv_used_blocks = 1 }]
[[events]]
at = "1s"
scheduler_load = { worker = 1, rank = 0, active_decode_blocks = 1, active_prefill_tokens = 1 }
[[events]]
at = "1s"
scheduler_load = [{ worker = 1, rank = 0, active_decode_blocks = 1, active_prefill_tokens = 1 }]
[[events]]
at = "1s"
worker_leave = 1
[[events]]
at = "1s"
worker_join = 1
[[events]]
at = "1s"
report_down = 1
[[events]]
at = "1s"
worker_drain = 1
[[events]]
at = "1s"
worker_crash = 1
[[events]]
at = "1s"
worker_crash = { worker = 1, rejoin_after = "1s", load_time = "1s" }
[[events]]
at = "1s"
worker_slow = { worker = 1, factor = 1, for = "1s" }
[[events]]
at = "1s"
network_delay = "1s"
[[events]]
at = "1s"
network_delay = { delay = "1s", worker = 1, for = "1s" }
[[events]]
at = "1s"
scale = { workers = 1, load_time = "1s", type = "default" }
[[events]]
at = "1s"
telemetry_outage = "1s"
[[events]]
at = "1s"
telemetry_outage = { for = "1s", worker = 1, rank = 1 }
[[events]]
at = "1s"
telemetry_freeze = "1s"
[[events]]
at = "1s"
telemetry_freeze = { for = "1s", worker = 1, rank = 1 }
[[events]]
at = "1s"
runtime_config = { worker = 1, data_parallel_size = 1, kv_total_blocks = 1, max_num_batched_tokens = 1 }
[[events]]
at = "1s"
runtime_config = { worker = 1, kv_total_blocks = "absent", max_num_batched_tokens = "absent" }
"#;

/// Users who wait for their answers; mixed lengths.
const CLOSED: &str = r#"
horizon = "1s"
[fleet]
workers = 1
service_time = { distribution = "constant", value = "1s" }
[clients]
closed_loop = { users = 1, think_time = { distribution = "gamma", mean = "1s", cv = 1 }, turns = 1, turn_think_time = "1s", context = "grow", max_context_tokens = 2, at_max_context = "cut" }
[workload]
input_tokens = { distribution = "mixture", components = [{ weight = 1, tokens = 1 }], max = 1 }
output_tokens = { distribution = "mixture", components = [{ weight = 1, tokens = 1 }] }
"#;

/// Users of several classes.
const CLOSED_CLASSES: &str = r#"
horizon = "1s"
[fleet]
workers = 1
service_time = "1s"
[clients]
max_in_flight = 1
closed_loop = { users = 1, think_time = "1s" }
[[workload.classes]]
class = "a"
"#;

/// Sessions of an open loop; lengths in pairs, and lengths from files.
const SESSIONS: &str = r#"
horizon = "1s"
[fleet]
workers = 1
service_time = "1s"
[clients]
sessions = { turns = { distribution = "uniform", low = 1, high = 1 }, turn_think_time = { distribution = "exponential", mean = "1s" }, context = "grow", max_context_tokens = 2, at_max_context = "cut" }
[workload]
arrivals = { process = "poisson", rate = 1 }
lengths = { pieces = [{ at = "0s", pairs = [[1, 1, 1]] }] }
[[workload.classes]]
class = "a"
weight = 1
lengths = { csv = "no-such-file.csv", at_column = "a", input_column = "b", output_column = "c", weight_column = "d" }
[[workload.classes]]
class = "b"
weight = 1
lengths = { pairs = [[1, 1, 1]] }
[[workload.classes]]
class = "c"
weight = 1
input_tokens = { distribution = "empirical", csv = "no-such-file.csv", column = "a", weight_column = "b" }
output_tokens = { distribution = "empirical", csv = "no-such-file.csv", column = "a", weight_column = "b" }
"#;

/// One stream of pairs from a file.
const PAIRS: &str = r#"
horizon = "1s"
[fleet]
workers = 1
service_time = "1s"
[workload]
arrivals = { process = "poisson", rate = 1 }
lengths = { csv = "no-such-file.csv", at_column = "a", input_column = "b", output_column = "c", weight_column = "d" }
"#;

/// One stream of pairs written out; a class of pieces.
const PAIRS_IN_PLACE: &str = r#"
horizon = "1s"
[fleet]
workers = 1
service_time = "1s"
[workload]
arrivals = { process = "poisson", rate = 1 }
lengths = { pairs = [[1, 1, 1]] }
[[workload.classes]]
class = "a"
weight = 1
lengths = { pieces = [{ at = "0s", pairs = [[1, 1, 1]] }] }
"#;

/// What a sweep reads.
const SWEEP: &str = r#"
horizon = "1s"
[fleet]
workers = 1
service_time = { distribution = "exponential", mean = "1s" }
[clients]
max_in_flight = 1
[workload]
input_tokens = { distribution = "uniform", low = 1, high = 1 }
output_tokens = { distribution = "uniform", low = 1, high = 1 }
[sweep]
replications = 1
max_replications = 1
until_halfwidth = "rate_529=0.1"
target = ["rate_529<=1%"]
best = "goodput"
baseline = { fleet.workers = 1 }
grid = { fleet.workers = [1] }
paired = [{ fleet.workers = [1], seed = [1] }]
"#;

/// What a plan reads.
const PLAN: &str = r#"
horizon = "1s"
[fleet]
workers = 1
service_time = "1s"
[workload]
arrivals = { process = "poisson", rate = 1 }
[plan]
target = ["rate_529<=1%"]
minimise = "fleet.workers"
maximise = "load"
range = "1..2"
survive = 1
growth = "20%"
confidence = "95%"
max_runs = 1
run_length = "auto"
analytic = true
sensitivity = true
grid = { fleet.workers = [1] }
paired = [{ fleet.workers = [1], fleet.standby = [1] }]
"#;

/// The same, otherwise written.
const PLAN_IN_NUMBERS: &str = r#"
horizon = "1s"
[fleet]
workers = 1
service_time = "1s"
[workload]
arrivals = { process = "poisson", rate = 1 }
[plan]
target = "rate_529<=1%"
range = [1, 2]
growth = 0.2
confidence = 0.95
"#;
