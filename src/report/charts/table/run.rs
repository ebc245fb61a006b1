//! Tables of the figures of one run.

use super::super::data::*;
use super::over_time::{Column, over_time};
use super::{DataTable, NANOS_PER_SECOND, NONE, written};
use crate::stats::text::{count, duration, percent};

/// Members that get a column of their own, at most; more share one.
const OWN_COLUMN: usize = 4;
/// Rows of workers or posts at most.
const MOST_ROWS: usize = 64;

/// Engine slots, queue, busy workers and refusals side by side.
pub(in super::super) fn overview(data: &OverviewData) -> DataTable {
    let refused = data.refusals.as_ref().map(all_reasons).unwrap_or_default();
    let mut columns = Vec::new();
    if data.refusals.is_some() {
        columns.push(Column::new("refused", Unit::Share, vec![&refused]));
    }
    if let Some(of) = &data.occupancy {
        columns.extend(occupancy_columns(of, 0));
    }
    if let Some(busy) = &data.busy {
        columns.push(Column::new("busy workers", Unit::Number, vec![&busy.busy]));
        columns.push(Column::new("registered", Unit::Number, vec![&busy.discovered]));
    }
    over_time(&columns, data.time.end)
}

/// The sum of all reasons in each bin.
fn all_reasons(refusals: &Refusals) -> Vec<Sample> {
    let sum = |i: usize| refusals.reasons.iter().filter_map(|reason| reason.shares.get(i)).sum();
    refusals.bins.iter().enumerate().map(|(i, at)| [*at, sum(i)]).collect()
}

/// Rates of requests.
pub(in super::super) fn traffic(data: &TrafficData) -> DataTable {
    let rate = || Unit::Named("per second".to_owned());
    let mut columns = vec![
        Column::new("offered per s", rate(), vec![&data.offered]),
        Column::new("attempts per s", rate(), vec![&data.attempts]),
        Column::new("goodput per s", rate(), vec![&data.goodput]),
    ];
    if !data.orphans.is_empty() {
        columns.push(Column::new("worked on for nobody per s", rate(), vec![&data.orphans]));
    }
    // Taken at the end of each interval, so it is read as what held until then.
    let unfinished: Vec<Sample> = data.unfinished.iter().zip(&data.offered).map(|(level, start)| [start[0], level[1]]).collect();
    columns.push(Column::new("not done at the end", Unit::Number, vec![&unfinished]));
    over_time(&columns, data.time.end)
}

/// Share of attempts refused, by reason.
pub(in super::super) fn refusals(time: &TimeFrame, data: &Refusals) -> DataTable {
    let curve =
        |reason: &Reason| -> Vec<Sample> { data.bins.iter().zip(&reason.shares).map(|(at, share)| [*at, *share]).collect() };
    let curves: Vec<Vec<Sample>> = data.reasons.iter().map(curve).collect();
    let named = data.reasons.iter().zip(&curves);
    let columns: Vec<Column<'_>> =
        named.map(|(reason, curve)| Column::new(reason.name.clone(), Unit::Share, vec![curve])).collect();
    over_time(&columns, time.end)
}

/// Engine slots and queue.
pub(in super::super) fn occupancy(time: &TimeFrame, data: &Occupancy) -> DataTable {
    over_time(&occupancy_columns(data, OWN_COLUMN), time.end)
}

/// Columns of slots and queue; up to `own` workers get columns of their own.
fn occupancy_columns(data: &Occupancy, own: usize) -> Vec<Column<'_>> {
    match data {
        Occupancy::Workers(workers) if workers.len() <= own => workers
            .iter()
            .flat_map(|worker| {
                [
                    Column::new(format!("{}: slots", worker.name), Unit::Number, vec![&worker.slots]),
                    Column::new(format!("{}: queue", worker.name), Unit::Number, vec![&worker.queue]),
                ]
            })
            .collect(),
        Occupancy::Workers(workers) => {
            let of = |curve: fn(&WorkerOccupancy) -> &Vec<Sample>| workers.iter().map(|w| curve(w).as_slice()).collect();
            vec![
                Column::new("slots of a worker", Unit::Number, of(|w| &w.slots)),
                Column::new("queue of a worker", Unit::Number, of(|w| &w.queue)),
            ]
        }
        Occupancy::Fleet { slots, queue, .. } => vec![
            Column::new("slots per worker", Unit::Number, band(slots)),
            Column::new("queue per worker", Unit::Number, band(queue)),
        ],
    }
}

fn band(band: &Band) -> Vec<&[Sample]> {
    vec![&band.low, &band.mean, &band.high]
}

/// Loads and thresholds.
pub(in super::super) fn loads(time: &TimeFrame, data: &Loads) -> DataTable {
    let mut columns = Vec::new();
    let panels = [("KV blocks in use", Unit::Share, &data.decode), ("prefill tokens", Unit::Number, &data.prefill)];
    for (what, unit, panel) in panels.into_iter().filter_map(|(what, unit, panel)| Some((what, unit, panel.as_ref()?))) {
        match &panel.load {
            Spread::Each(curves) if curves.len() <= OWN_COLUMN => {
                let each = |c| column_of(c, what, unit.clone());
                columns.extend(curves.iter().map(each));
            }
            Spread::Each(curves) => {
                let all = curves.iter().map(|curve| curve.points.as_slice()).collect();
                columns.push(Column::new(format!("{what}, of a rank"), unit.clone(), all));
            }
            Spread::Band(of) => columns.push(Column::new(format!("{what}, of a rank"), unit.clone(), band(of))),
        }
        columns.extend(panel.thresholds.iter().map(|line| Column::held(line.name.clone(), unit.clone(), &line.points)));
    }
    over_time(&columns, time.end + f64::EPSILON * time.end)
}

fn column_of<'a>(curve: &'a Curve, what: &str, unit: Unit) -> Column<'a> {
    Column::new(format!("{}: {what}", curve.name), unit, vec![&curve.points])
}

/// For how much of the time each worker was kept from requests, by cause.
pub(in super::super) fn busy(data: &BusyData) -> DataTable {
    let states = [
        (BusyState::Decode, "busy: decode"),
        (BusyState::Prefill, "busy: prefill"),
        (BusyState::Mixed, "busy: both"),
        (BusyState::Lease, "lease"),
        (BusyState::Absent, "not routable"),
    ];
    let length = data.time.end - data.time.start;
    let row = |worker: &BusyRow| {
        let of = |state| worker.spans.iter().filter(|s| s.state == state).map(|s| s.to - s.from).sum::<f64>();
        let shares = states.iter().map(|(state, _)| percent((of(*state) / length).clamp(0.0, 1.0)));
        std::iter::once(worker.name.clone()).chain(shares).collect()
    };
    let columns = std::iter::once("worker").chain(states.iter().map(|(_, name)| *name)).map(str::to_owned).collect();
    let rows = data.workers.iter().take(MOST_ROWS).map(row).collect();
    let note = match data.workers.len().saturating_sub(MOST_ROWS) {
        0 => "Shares of the run.".to_owned(),
        more => format!("Shares of the run. {more} more workers are in workers.csv."),
    };
    DataTable { columns, rows, note }
}

/// The stages of each post.
pub(in super::super) fn updates(data: &UpdatesData) -> DataTable {
    let stage = |stage: Stage| match stage {
        Stage::After(0.0) => "at once".to_owned(),
        Stage::After(delay) => duration(delay * NANOS_PER_SECOND),
        Stage::Superseded => "superseded".to_owned(),
        Stage::NoOp => "no change".to_owned(),
        Stage::Never => "never".to_owned(),
    };
    let row = |post: &PostStages| {
        let switched = post.workers.iter().filter(|(_, stage)| matches!(stage, Stage::After(_))).count();
        vec![
            post.label.clone(),
            stage(post.noticed),
            format!("{switched} of {}", post.workers.len()),
            stage(post.all),
            stage(post.effect),
            count(post.decisions_before_noticed),
            count(post.decisions_until_all),
        ]
    };
    let columns = [
        "post",
        "noticed after",
        "workers that switched",
        "all of them after",
        "first other decision after",
        "decisions before noticed",
        "decisions until all",
    ];
    let note = match data.posts.len().saturating_sub(MOST_ROWS) {
        0 => String::new(),
        more => format!("{more} more posts are in threshold_updates.csv."),
    };
    DataTable { columns: columns.map(str::to_owned).to_vec(), rows: data.posts.iter().take(MOST_ROWS).map(row).collect(), note }
}

/// Quantiles of each latency.
pub(in super::super) fn latency(data: &LatencyData) -> DataTable {
    const SHARES: [(f64, &str); 9] = [
        (0.01, "p1"),
        (0.1, "p10"),
        (0.25, "p25"),
        (0.5, "p50"),
        (0.75, "p75"),
        (0.9, "p90"),
        (0.95, "p95"),
        (0.99, "p99"),
        (0.999, "p99.9"),
    ];
    let value = |curve: &LatencyCurve, (share, name): (f64, &str)| {
        // The marked percentiles are taken by the run's own rule, the others are read off the curve.
        let marked = curve.quantiles.iter().find(|(known, _)| known == name).map(|(_, at)| *at);
        marked.or_else(|| curve.cumulative.iter().find(|sample| sample[1] >= share).map(|sample| sample[0]))
    };
    let mut rows: Vec<Vec<String>> = SHARES
        .into_iter()
        .map(|at| {
            let cells = data.curves.iter().map(|c| value(c, at).map_or(NONE.to_owned(), |v| written(v, &Unit::Seconds)));
            std::iter::once(at.1.to_owned()).chain(cells).collect()
        })
        .collect();
    if data.curves.iter().any(|curve| curve.objective.is_some()) {
        let cells = data.curves.iter().map(|c| c.objective.map_or(NONE.to_owned(), |v| written(v, &Unit::Seconds)));
        rows.push(std::iter::once("objective".to_owned()).chain(cells).collect());
    }
    let columns = std::iter::once("quantile".to_owned()).chain(data.curves.iter().map(|c| c.name.clone())).collect();
    DataTable { columns, rows, note: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_fleet_shares_a_column_that_shows_its_range() {
        let worker = |i: u32| WorkerOccupancy {
            name: format!("worker {i}"),
            slots: vec![[0.0, f64::from(i)]],
            queue: vec![[0.0, 0.0]],
            ..WorkerOccupancy::default()
        };
        let time = TimeFrame { start: 0.0, end: 1.0, marks: Vec::new() };
        let of = |n| occupancy(&time, &Occupancy::Workers((1..=n).map(worker).collect()));
        assert_eq!(of(2).columns, ["from", "worker 1: slots", "worker 1: queue", "worker 2: slots", "worker 2: queue"]);
        assert_eq!(of(9).rows, [["0s", "1 – 9", "0"]]);
    }

    #[test]
    fn refusals_of_all_reasons_add_up_in_the_overview() {
        let reason = |name: &str, share| Reason { name: name.to_owned(), shares: vec![share] };
        let refusals = Refusals { bins: vec![0.0], reasons: vec![reason("a", 0.25), reason("b", 0.125)] };
        let time = TimeFrame { start: 0.0, end: 1.0, marks: Vec::new() };
        let table = overview(&OverviewData { time, refusals: Some(refusals), ..OverviewData::default() });
        assert_eq!(
            (table.columns, table.rows),
            (vec!["from".into(), "refused".into()], vec![vec!["0s".into(), "37.5 %".into()]])
        );
    }

    #[test]
    fn marked_percentiles_are_those_of_the_run() {
        let curve = LatencyCurve {
            name: "ttft".to_owned(),
            cumulative: vec![[0.1, 0.5], [0.2, 0.995], [0.3, 1.0]],
            quantiles: vec![("p50".to_owned(), 0.11)],
            objective: Some(1.0),
        };
        let table = latency(&LatencyData { curves: vec![curve], ..LatencyData::default() });
        let of = |name: &str| table.rows.iter().find(|row| row[0] == name).map(|row| row[1].clone());
        assert_eq!([of("p50"), of("p99"), of("objective")].map(Option::unwrap), ["110 ms", "200 ms", "1.00 s"]);
    }
}
