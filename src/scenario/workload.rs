//! `[workload]`: streams, a trace, and requests written out.

use crate::cluster::config::{FleetConfig, WorkerEngine};
use crate::units::SimTime;
use crate::workload::config::{ArrivalProcess, ListedRequest, RatePiece, RateSchedule, StreamConfig, WorkloadConfig};

use super::item::{Item, NumberRange};
use super::lengths;
use super::section::Section;
use super::spans::CV;
use super::stream_lengths;
use super::trace;

/// Class of requests that name none.
pub(super) const DEFAULT_CLASS: &str = "default";

/// Requests per second of one stream at most.
const RATE: NumberRange = NumberRange::between(0.0, 1e9);
const MAX_CLASSES: usize = 1_000;
const MAX_PIECES: usize = 100_000;
const MAX_LISTED: usize = 1_000_000;
const MAX_COUNT: u64 = 10_000_000_000;

#[derive(Clone, Copy)]
enum Process {
    Poisson,
    Constant,
    Gamma,
    Weibull,
    OnOff,
}

const PROCESSES: [(&str, Process); 5] = [
    ("poisson", Process::Poisson),
    ("constant", Process::Constant),
    ("gamma", Process::Gamma),
    ("weibull", Process::Weibull),
    ("on_off", Process::OnOff),
];

/// What the workload has to agree with.
pub(super) struct Surroundings<'a> {
    /// The fleet, unless something in it is wrong.
    pub fleet: Option<&'a FleetConfig>,
    /// Clients decide when requests arrive.
    pub closed_loop: bool,
}

impl Surroundings<'_> {
    /// Whether requests may leave their lengths out: opaque workers do not ask for them.
    pub(super) fn lengths_optional(&self) -> bool {
        self.fleet.is_none_or(|fleet| fleet.types.iter().all(|t| t.is_opaque()))
    }

    /// Whether some opaque worker has no service time but those the requests bring.
    fn service_times_needed(&self) -> bool {
        let bare = |engine: &WorkerEngine| matches!(engine, WorkerEngine::Opaque { service_time: None, .. });
        self.fleet.is_some_and(|fleet| fleet.types.iter().any(|t| bare(&t.engine)))
    }

    fn all_batching(&self) -> bool {
        self.fleet.is_some_and(|fleet| !fleet.types.is_empty() && fleet.types.iter().all(|t| !t.is_opaque()))
    }
}

/// Decodes `[workload]`.
pub(super) fn decode(section: &mut Section<'_>, around: &Surroundings<'_>) -> WorkloadConfig {
    let (streams, shared_arrivals) = streams(section, around);
    let trace = section.item("trace").and_then(|item| trace::decode(&item));
    let requests = requests(section, around);
    if around.service_times_needed() && !streams.is_empty() {
        let message =
            "`fleet.service_time` is `\"per_request\"`, but generated requests bring none: expected a distribution there";
        section.fault(None, message, Some("requests of a trace or of `workload.requests` may bring a service time".to_owned()));
    }
    WorkloadConfig { streams, shared_arrivals, trace, requests }
}

/// Keys of a single stream, which stand in `[workload]` itself.
const SINGLE: [&str; 5] = ["arrivals", "input_tokens", "output_tokens", "length_correlation", "lengths"];

/// The streams, and the arrivals that they share.
fn streams(section: &mut Section<'_>, around: &Surroundings<'_>) -> (Vec<StreamConfig>, Option<ArrivalProcess>) {
    if section.given("classes") {
        for key in &SINGLE[1..] {
            section.forbid(key, "the classes say it", "move it into one of `workload.classes`");
        }
        return classes(section, around);
    }
    if SINGLE.iter().any(|key| section.given(key)) || around.closed_loop {
        let arrivals = own_arrivals(section, around);
        let lengths = stream_lengths::decode(section, around);
        let stream = arrivals.zip(lengths).map(|(arrivals, lengths)| StreamConfig {
            class: DEFAULT_CLASS.to_owned(),
            arrivals,
            weight: None,
            lengths,
        });
        return (stream.into_iter().collect(), None);
    }
    SINGLE.iter().for_each(|key| section.ignore(key));
    (Vec::new(), None)
}

/// `[[workload.classes]]`, with arrivals of their own or a share of `workload.arrivals`.
fn classes(section: &mut Section<'_>, around: &Surroundings<'_>) -> (Vec<StreamConfig>, Option<ArrivalProcess>) {
    let shared = section.given("arrivals");
    let process = match around.closed_loop {
        true => own_arrivals(section, around).flatten(),
        false => section.item("arrivals").and_then(|item| arrivals(&item)),
    };
    let items = section.item("classes").and_then(|item| item.filled_list(MAX_CLASSES)).unwrap_or_default();
    let mut names: Vec<String> = Vec::new();
    let mut streams: Vec<StreamConfig> = Vec::new();
    let mut shares = false;
    for mut table in items.iter().filter_map(Item::table) {
        table.require("class", "a name for reports");
        let name = table.text("class", 100).unwrap_or_default().to_owned();
        if names.contains(&name) && !name.is_empty() {
            let path = table.path_of("class");
            table.fault(Some("class"), format!("`{path}` is `\"{name}\"`: another class has this name"), None);
        }
        names.push(name.clone());
        shares |= !table.given("arrivals");
        streams.extend(class(&mut table, name, shared, around));
        table.finish();
    }
    if shared && !shares && !around.closed_loop {
        let hint = "remove it, or the `arrivals` of the classes that shall share it";
        let message = "`workload.arrivals` is for classes without arrivals of their own, and there is none";
        section.fault(Some("arrivals"), message, Some(hint.to_owned()));
    }
    (streams, process)
}

/// One class; `shared` where the workload has arrivals to share.
fn class(section: &mut Section<'_>, class: String, shared: bool, around: &Surroundings<'_>) -> Option<StreamConfig> {
    let shares = shared && !section.given("arrivals") && !around.closed_loop;
    let arrivals = if shares { Some(None) } else { own_arrivals(section, around) };
    let weight = if shares || around.closed_loop {
        let weight = section.number("weight", NumberRange::POSITIVE);
        if shares && !section.given("weight") { Some(1.0) } else { weight }
    } else {
        section.forbid(
            "weight",
            "the class has arrivals of its own",
            "remove it, or its `arrivals` so that it shares `workload.arrivals`",
        );
        None
    };
    let lengths = stream_lengths::decode(section, around);
    Some(StreamConfig { class, arrivals: arrivals?, weight, lengths: lengths? })
}

/// The arrivals of one stream, `Some(None)` in a closed loop; `None` if they are wrong.
fn own_arrivals(section: &mut Section<'_>, around: &Surroundings<'_>) -> Option<Option<ArrivalProcess>> {
    if around.closed_loop {
        let hint = "remove it, or remove `clients.closed_loop`";
        section.forbid("arrivals", "in a closed loop the clients decide when requests arrive", hint);
        return Some(None);
    }
    section.require("arrivals", "an arrival process, such as `{ process = \"poisson\", rate = 40 }`");
    section.item("arrivals").and_then(|item| arrivals(&item)).map(Some)
}

fn arrivals(item: &Item<'_>) -> Option<ArrivalProcess> {
    if item.is_number() {
        let hint = "for example `{ process = \"poisson\", rate = 40 }`";
        item.mistake("a table with a `process` and its `rate`", Some(hint.to_owned()));
        return None;
    }
    let mut section = item.table()?;
    section.require("process", "`poisson`, `constant`, `gamma`, `weibull` or `on_off`");
    let process = section.one_of("process", &PROCESSES)?;
    let arrivals = match process {
        Process::OnOff => on_off(&mut section),
        _ => renewal(&mut section, process),
    };
    section.finish();
    arrivals
}

fn renewal(section: &mut Section<'_>, process: Process) -> Option<ArrivalProcess> {
    section.require("rate", "requests per second, or a list of `{ at, rate }`");
    let rate = section.item("rate").and_then(|item| rate(&item));
    let cv = match process {
        Process::Gamma | Process::Weibull => {
            section.require("cv", "the coefficient of variation of the gaps, above 0");
            section.number("cv", CV)
        }
        _ => Some(1.0),
    };
    let (rate, cv) = (rate?, cv?);
    Some(match process {
        Process::Constant => ArrivalProcess::Constant { rate },
        Process::Gamma => ArrivalProcess::Gamma { rate, cv },
        Process::Weibull => ArrivalProcess::Weibull { rate, cv },
        Process::Poisson | Process::OnOff => ArrivalProcess::Poisson { rate },
    })
}

fn on_off(section: &mut Section<'_>) -> Option<ArrivalProcess> {
    section.require("on_rate", "requests per second while on");
    section.require("mean_on", "the mean time in the on state");
    section.require("mean_off", "the mean time in the off state");
    let (on_rate, off_rate) = (section.number("on_rate", RATE), section.number("off_rate", RATE).unwrap_or(0.0));
    let (mean_on, mean_off) = (section.positive_span("mean_on"), section.positive_span("mean_off"));
    Some(ArrivalProcess::OnOff { on_rate: on_rate?, off_rate, mean_on: mean_on?, mean_off: mean_off? })
}

/// A number, or pieces in ascending order from 0 on.
fn rate(item: &Item<'_>) -> Option<RateSchedule> {
    if !item.is_list() {
        return item.number(RATE).map(|rate| RateSchedule(vec![RatePiece { at: SimTime::ZERO, rate, ramp: false }]));
    }
    let pieces: Vec<Option<RatePiece>> = item.filled_list(MAX_PIECES)?.iter().map(piece).collect();
    let pieces: Vec<RatePiece> = pieces.into_iter().collect::<Option<_>>()?;
    if pieces[0].at != SimTime::ZERO {
        item.fault(format!("`{}.0.at` is `\"{}\"`: expected `\"0s\"`, the start of the run", item.path(), pieces[0].at), None);
        return None;
    }
    if let Some(n) = (1..pieces.len()).find(|&n| pieces[n].at <= pieces[n - 1].at) {
        let (at, last) = (pieces[n].at, pieces[n - 1].at);
        item.fault(format!("`{}.{n}.at` is `\"{at}\"`: expected later than the piece before, `\"{last}\"`", item.path()), None);
        return None;
    }
    if pieces.last().is_some_and(|last| last.ramp) {
        let message = format!("`{}.{}.ramp` is `true`: expected a further piece to ramp to", item.path(), pieces.len() - 1);
        item.fault(message, None);
        return None;
    }
    Some(RateSchedule(pieces))
}

fn piece(item: &Item<'_>) -> Option<RatePiece> {
    let mut section = item.table()?;
    section.require("at", "the instant from which the rate holds");
    section.require("rate", "requests per second");
    let (at, rate, ramp) = (section.instant("at"), section.number("rate", RATE), section.boolean("ramp").unwrap_or(false));
    section.finish();
    Some(RatePiece { at: at?, rate: rate?, ramp })
}

fn requests(section: &mut Section<'_>, around: &Surroundings<'_>) -> Vec<ListedRequest> {
    let Some(item) = section.item("requests") else { return Vec::new() };
    let items = item.filled_list(MAX_LISTED).unwrap_or_default();
    items.iter().filter_map(|item| listed(item, around)).collect()
}

fn listed(item: &Item<'_>, around: &Surroundings<'_>) -> Option<ListedRequest> {
    let mut section = item.table()?;
    section.require("at", "the instant of arrival");
    if !around.lengths_optional() {
        section.require("input_tokens", "a number of tokens");
        section.require("output_tokens", "a number of tokens");
    }
    if around.all_batching() {
        section.forbid(
            "service_time",
            "batching workers compute it from the tokens",
            "give `fleet.service_time` for opaque workers",
        );
    }
    let count = section.u64("count", 1, MAX_COUNT);
    let worker = section.item("worker").and_then(|item| worker(&item, around.fleet));
    let at = section.instant("at");
    let every = section.span("every");
    if section.given("every") && !section.given("count") {
        section.fault(
            Some("every"),
            format!("`{}` needs `count`: how many requests are that far apart", section.path_of("every")),
            None,
        );
    }
    let (input, output) =
        (section.u32("input_tokens", 0, lengths::MAX_TOKENS), section.u32("output_tokens", 1, lengths::MAX_TOKENS));
    let service_time = section.span("service_time");
    let class = section.text("class", 100).unwrap_or(DEFAULT_CLASS).to_owned();
    if around.service_times_needed() {
        section.require("service_time", "a duration, because `fleet.service_time` is `\"per_request\"`");
    }
    if let (Some(at), Some(every), Some(count)) = (at, every, count)
        && at.saturating_add(every.saturating_mul(count)).as_nanos() > super::item::MAX_SPAN.as_nanos()
    {
        section.fault(Some("every"), format!("`{}` requests later than 100 years from the start", section.path()), None);
    }
    section.finish();
    Some(ListedRequest {
        at: at?,
        count: count.unwrap_or(1),
        every,
        input_tokens: input.unwrap_or(1),
        output_tokens: output.unwrap_or(1),
        service_time,
        worker,
        class,
    })
}

/// The id of a worker that exists; not checked while the fleet itself is faulty.
pub(super) fn worker(item: &Item<'_>, fleet: Option<&FleetConfig>) -> Option<u32> {
    let id = item.u32(1, super::fleet::MAX_WORKERS)?;
    match fleet.map(FleetConfig::worker_count) {
        Some(0) => {
            item.fault(format!("`{}` is `{id}`: the fleet has no workers", item.path()), None);
            None
        }
        Some(count) if id > count => {
            let hint = "workers that join later are counted by `standby`".to_owned();
            item.fault(format!("`{}` is `{id}`: expected a worker that exists, 1 to {count}", item.path()), Some(hint));
            None
        }
        _ => Some(id),
    }
}
