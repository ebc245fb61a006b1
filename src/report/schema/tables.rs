//! Columns of the CSV tables, as a Table Schema.

use serde_json::{Value, json};

use crate::experiment::measure_table::{Extract, MEASURES, MeasureUnit};

/// A table of results.
pub(super) struct Table {
    /// Name of its schema: that of the file, unless another command writes a file of the same name or the user chooses it.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its columns: names with blanks between them; `*` stands for one column per swept field, `%` for those of all measures, `+` for
    /// one per target that is not among these.
    columns: &'static str,
    /// What `%` stands for.
    measures: Measures,
    /// Columns that mean something else than in other tables.
    own: &'static [(&'static str, &'static str, &'static str)],
}

/// How a table shows measures.
enum Measures {
    /// Not at all.
    None,
    /// Mean, ends of the interval, and which interval it is.
    Estimates,
    /// Values.
    Values,
}

/// Every table.
pub(super) const TABLES: &[Table] = &[
    Table {
        name: "requests.csv",
        about: "a row per attempt, with `--requests-csv`: those that ended in the order of their ends, then those in the system at the end, by request",
        columns: "request attempt class arrival_s start_s end_s frontend worker rank input_tokens output_tokens outcome status reason \
                  decisive layer ttft_s tpot_s e2e_s queue_wait_s migrations request_e2e_s rule why_worker why_rank measured limit age_s",
        measures: Measures::None,
        own: &[
            ("end_s", "number", "End, seconds from the start of the run; empty where the attempt is in the system at the end."),
            (
                "outcome",
                "string",
                "What became of the attempt: `completed`, `refused`, `unavailable`, `failed`, `cancelled`, `unservable`, or \
                 `in_system` at the end of the run.",
            ),
        ],
    },
    Table {
        name: "timeseries.csv",
        about: "a row per interval of time, fleet as a whole",
        columns: "start_s end_s offered attempts completed good refused all_workers_busy worker_at_capacity pinned_worker_busy \
                  unavailable other rate_529 unfinished workers excluded_workers active_decode_blocks_threshold \
                  active_prefill_tokens_threshold active_prefill_tokens_threshold_frac engine_slots engine_slots_max queue queue_max \
                  queue_gauge running engine_waiting orphaned decisions unlike_fresh refused_with_room_fresh refused_with_room_engine \
                  routed_without_room_fresh routed_without_room_engine",
        measures: Measures::None,
        own: &[],
    },
    Table {
        name: "worker_timeseries.csv",
        about: "a row per interval and rank, for fleets of up to 64 workers",
        columns: "end_s worker rank present down excluded_by engine_slots queue queue_gauge kv_used_blocks running waiting preemptions \
                  observed_blocks observed_prefill_tokens",
        measures: Measures::None,
        own: &[],
    },
    Table {
        name: "workers.csv",
        about: "a row per worker",
        columns: "worker type data_parallel_size engine_request_limit request_queue_limit completed rejected engine_slots_mean \
                  engine_slots_p50 engine_slots_p90 engine_slots_p99 engine_slots_max queue_mean queue_p50 queue_p90 queue_p99 queue_max \
                  queue_gauge_mean queue_gauge_max full_share excluded_share wrongly_out_share wrongly_in_share exclusion_changes",
        measures: Measures::None,
        own: &[
            ("completed", "integer", "Attempts that it completed after the warm-up, whenever their requests arrived."),
            ("rejected", "integer", "Requests that it turned away after the warm-up, whenever they arrived."),
        ],
    },
    Table {
        name: "ranks.csv",
        about: "a row per rank",
        columns: "worker rank kv_total_blocks kv_used_blocks_mean kv_used_blocks_p50 kv_used_blocks_p90 kv_used_blocks_p99 \
                  kv_used_blocks_max running_mean running_p99 running_max waiting_mean waiting_p99 waiting_max preemptions samples",
        measures: Measures::None,
        own: &[],
    },
    Table {
        name: "threshold_updates.csv",
        about: "a row per threshold post, frontend and stage of its lag",
        columns: "post frontend at_s answer active_decode_blocks_threshold active_prefill_tokens_threshold \
                  active_prefill_tokens_threshold_frac stage worker stage_at_s lag_s silent_ranks decisions",
        measures: Measures::None,
        own: &[],
    },
    Table {
        name: "cells.csv",
        about: "a row per cell of a sweep: means and 95 % intervals",
        columns: "cell * status replications warnings %",
        measures: Measures::Estimates,
        own: &[],
    },
    Table {
        name: "replications.csv",
        about: "a row per run of a sweep",
        columns: "cell * replication end error warnings %",
        measures: Measures::Values,
        own: &[],
    },
    Table {
        name: "differences.csv",
        about: "a row per cell and measure of a sweep: the cell minus the baseline, paired by replication",
        columns: "cell * baseline measure unit difference low high variance_reduction replications",
        measures: Measures::None,
        own: &[],
    },
    Table {
        name: "plan-runs.csv",
        about: "runs.csv of a plan: a row per run",
        columns: "variant factor cell * replication horizon end warnings % +",
        measures: Measures::Values,
        own: &[
            ("variant", "string", "What differs from the scenario as asked; `asked` where nothing does."),
            ("cell", "integer", "Number of the cell of the plan's grid, from 0."),
            ("horizon", "number", "Length of the run, seconds; empty where it is that of the scenario."),
        ],
    },
    Table {
        name: "plan-cells.csv",
        about: "cells.csv of a plan: a row per cell that was looked at and target",
        columns: "cell * cost runs verdict saturated target value tested bound low high batches target_verdict",
        measures: Measures::None,
        own: &[
            ("cell", "integer", "Number of the cell of the plan's grid, from 0."),
            ("verdict", "string", "Of all targets: `met`, `missed` or `undecided`."),
            ("value", "number", "The measure."),
        ],
    },
    Table {
        name: "comparison.csv",
        about: "`compare --format csv`: a row per run or cell, measure and side after the first",
        columns: "settings measure unit side baseline value baseline_value difference low high paired replications verdict",
        measures: Measures::None,
        own: &[
            ("baseline", "string", "The first side."),
            ("value", "number", "Mean of the side."),
            ("difference", "number", "Mean of the side less that of the first side."),
            ("replications", "integer", "Replications on the side that has fewer."),
            ("verdict", "string", "`same`, `unclear`, `better`, `worse`, `higher` or `lower`."),
        ],
    },
    Table {
        name: "trace.csv",
        about: "requests of `trace convert`: a row per request",
        columns: "arrival_ns input_tokens output_tokens class service_time_ns worker",
        measures: Measures::None,
        own: &[("worker", "integer", "The worker it is pinned to; the column is only there where requests may be.")],
    },
    Table {
        name: "lengths.csv",
        about: "NAME-lengths.csv of `trace fit`: a row per pair of lengths and piece of time",
        columns: "at_s input_tokens output_tokens weight",
        measures: Measures::None,
        own: &[("at_s", "number", "Start of the piece of time, seconds.")],
    },
];

/// The columns of a table as a Table Schema. What a row does not have is empty.
pub(super) fn schema(table: &Table) -> Value {
    let fields: Vec<Value> = table.columns.split_whitespace().flat_map(|name| fields(table, name)).collect();
    json!({ "title": table.name, "description": table.about, "missingValues": [""], "fields": fields })
}

fn fields(table: &Table, name: &str) -> Vec<Value> {
    match name {
        "*" => vec![field("*", "any", "One column for each swept field, named by its path.")],
        "%" => MEASURES
            .iter()
            .flat_map(|measure| {
                estimate(table, measure.name, measure.label, measure.unit, matches!(measure.extract, Extract::Share(_)))
            })
            .collect(),
        "+" => vec![field("+", "number", "One column for each target whose measure has none.")],
        _ => {
            let (kind, about) = column(table, name);
            vec![field(name, kind, about)]
        }
    }
}

fn estimate(table: &Table, name: &str, label: &str, unit: MeasureUnit, share: bool) -> Vec<Value> {
    let about = format!("{label} ({})", unit.name());
    match table.measures {
        Measures::None => Vec::new(),
        Measures::Values => vec![field(name, "number", &about)],
        Measures::Estimates => {
            let mut all = vec![
                field(name, "number", &format!("{about}: mean")),
                field(&format!("{name}_low"), "number", "Lower end of its interval."),
                field(&format!("{name}_high"), "number", "Upper end of its interval."),
            ];
            if share {
                all.push(field(&format!("{name}_interval"), "string", "How its interval is taken."));
            }
            all
        }
    }
}

fn field(name: &str, kind: &str, about: &str) -> Value {
    json!({ "name": name, "type": kind, "description": about })
}

/// Type and meaning of a column: by its name, its own one in this table first, else by its ending.
fn column(table: &Table, name: &str) -> (&'static str, &'static str) {
    let found = table.own.iter().chain(COLUMNS).find(|(known, ..)| *known == name).map(|(_, kind, about)| (*kind, *about));
    let by_ending = || ENDINGS.iter().find(|(ending, ..)| name.ends_with(ending)).map(|(_, kind, about)| (*kind, *about));
    found.or_else(by_ending).unwrap_or(("any", ""))
}

const ENDINGS: &[(&str, &str, &str)] = &[
    ("_mean", "number", "Time-weighted mean."),
    ("_p50", "number", "Time-weighted median."),
    ("_p90", "number", "Time-weighted 90th percentile."),
    ("_p99", "number", "Time-weighted 99th percentile."),
    ("_max", "number", "Maximum."),
];

const COLUMNS: &[(&str, &str, &str)] = &[
    ("request", "integer", "Number of the request, from 0."),
    ("attempt", "integer", "Number of the attempt of its request, from 1."),
    ("class", "string", "Class of the request."),
    ("arrival_s", "number", "Instant at which the request arrived first, seconds."),
    ("start_s", "number", "Start, seconds from the start of the run."),
    ("end_s", "number", "End, seconds from the start of the run."),
    ("frontend", "integer", "The frontend, from 0."),
    ("worker", "integer", "The worker, from 1."),
    ("rank", "integer", "The rank, from 0."),
    ("input_tokens", "integer", "Prompt tokens."),
    ("output_tokens", "integer", "Generated tokens asked for."),
    ("outcome", "string", "What became of the attempt."),
    ("status", "any", "HTTP status of an attempt; how a cell ended."),
    ("reason", "string", "Why it was refused."),
    ("decisive", "string", "Checks of which each alone, unset, would have let it through; `joint` where none would."),
    ("layer", "string", "Where it was refused."),
    ("ttft_s", "number", "Time to the first token."),
    ("tpot_s", "number", "Mean time per output token after the first."),
    ("e2e_s", "number", "Time from the start of the attempt to its end."),
    ("queue_wait_s", "number", "Time in the overflow queue of the worker."),
    ("migrations", "integer", "How often it moved on to another worker."),
    ("request_e2e_s", "number", "Time from the arrival of the request to the end of this attempt."),
    ("rule", "string", "The check that fired on the worker that is shown as the reason."),
    ("why_worker", "integer", "That worker."),
    ("why_rank", "integer", "Its rank."),
    ("measured", "number", "What was measured there."),
    ("limit", "number", "The limit it is beyond."),
    ("age_s", "number", "How old the measurement was."),
    ("offered", "integer", "Requests that arrived."),
    ("attempts", "integer", "Attempts that started."),
    ("completed", "integer", "Attempts that completed."),
    ("good", "integer", "Attempts that completed within the targets."),
    ("refused", "integer", "Attempts that were refused for overload."),
    ("all_workers_busy", "integer", "Of those, because every worker was excluded."),
    ("worker_at_capacity", "integer", "Of those, because a worker was at capacity (N + Q)."),
    ("pinned_worker_busy", "integer", "Of those, because the worker they were pinned to was busy."),
    ("unavailable", "integer", "Attempts that found nobody there (503)."),
    ("other", "integer", "Attempts that ended otherwise."),
    ("rate_529", "number", "Refused over ended attempts."),
    ("unfinished", "integer", "Requests in the system or waiting to retry at the end."),
    ("workers", "integer", "Workers that are there."),
    ("excluded_workers", "number", "Workers that frontends exclude, mean over the frontends."),
    ("active_decode_blocks_threshold", "number", "The threshold in force, or posted."),
    ("active_prefill_tokens_threshold", "number", "The threshold in force, or posted."),
    ("active_prefill_tokens_threshold_frac", "number", "The threshold in force, or posted."),
    ("engine_slots", "number", "Requests in engines."),
    ("queue", "number", "Requests in overflow queues, truly."),
    ("queue_gauge", "number", "What `dynamo_request_queue` reads: it misses what the dispatchers hold."),
    ("running", "number", "Running sequences."),
    ("engine_waiting", "number", "Sequences that wait in the ranks' own lines."),
    ("waiting", "number", "Sequences that wait in the rank's own line."),
    ("orphaned", "number", "Attempts that nobody waits for any more."),
    ("decisions", "integer", "Decisions of frontends."),
    ("unlike_fresh", "integer", "Decisions unlike those of a frontend told everything at once."),
    ("refused_with_room_fresh", "integer", "Refused although a frontend told everything at once would not have."),
    ("refused_with_room_engine", "integer", "Refused although a worker would have taken it."),
    ("routed_without_room_fresh", "integer", "Routed although a frontend told everything at once would not have."),
    ("routed_without_room_engine", "integer", "Routed although no worker would have taken it."),
    ("present", "any", "Whether the worker is there."),
    ("down", "any", "Whether frontends were told that it is down."),
    ("excluded_by", "any", "Frontends that exclude the worker."),
    ("kv_used_blocks", "number", "KV blocks in use."),
    ("preemptions", "integer", "Sequences that were preempted."),
    ("observed_blocks", "number", "KV blocks in use as the first frontend knows them."),
    ("observed_prefill_tokens", "number", "Prefill tokens as the first frontend knows them."),
    ("type", "string", "Type of the worker."),
    ("data_parallel_size", "integer", "Ranks."),
    ("engine_request_limit", "integer", "N."),
    ("request_queue_limit", "integer", "Q."),
    ("rejected", "integer", "Requests that the worker turned away."),
    ("full_share", "number", "Share of time with N + Q requests."),
    ("excluded_share", "number", "Share of time excluded, mean over the frontends."),
    ("wrongly_out_share", "number", "Share of time excluded although it would have taken a request."),
    ("wrongly_in_share", "number", "Share of time routable although it would not have taken one."),
    ("exclusion_changes", "number", "How often frontends changed their mind about it."),
    ("kv_total_blocks", "integer", "KV blocks."),
    ("samples", "integer", "Samples of the rank."),
    ("post", "integer", "Number of the post."),
    ("at_s", "number", "Instant of the post."),
    ("answer", "any", "Status of its answer."),
    ("stage", "string", "Stage of the lag: noticed, worker, all, effect."),
    ("stage_at_s", "number", "Instant of the stage."),
    ("lag_s", "number", "Time from the post to the stage."),
    ("silent_ranks", "string", "Ranks that have not been heard of."),
    ("cell", "integer", "Number of the cell, from 0."),
    ("replication", "integer", "Number of the run of its cell, from 0."),
    ("replications", "integer", "Runs."),
    ("warnings", "string", "Codes of warnings."),
    ("end", "string", "Why the run ended."),
    ("error", "string", "What went wrong."),
    ("baseline", "integer", "The cell that is subtracted."),
    ("measure", "string", "The measure."),
    ("unit", "string", "Its unit."),
    ("difference", "number", "Mean difference."),
    ("low", "number", "Lower end of the interval."),
    ("high", "number", "Upper end of the interval."),
    ("variance_reduction", "number", "Variance of unpaired over that of paired differences."),
    ("factor", "number", "Times as much of it."),
    ("cost", "number", "Cost of its fleet, if costs are asked for."),
    ("runs", "integer", "Its runs."),
    ("saturated", "any", "Whether more is offered than is served."),
    ("target", "string", "The target as it was written."),
    ("tested", "number", "What is held against the bound: the measure, or of a quantile the share of requests beyond it."),
    ("bound", "number", "What `tested` must keep."),
    ("batches", "integer", "Stretches that were counted as independent."),
    ("target_verdict", "string", "Of this target."),
    ("settings", "string", "What tells it from the others; empty for runs."),
    ("side", "string", "The side that is compared: a directory."),
    ("baseline_value", "number", "Mean of the first side."),
    ("paired", "any", "Whether it is compared pair by pair."),
    ("arrival_ns", "integer", "Instant of the arrival, nanoseconds."),
    ("service_time_ns", "integer", "Service time, nanoseconds; empty where the worker gives it."),
    ("weight", "number", "How often the pair comes, relative to the others."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_told() {
        for table in TABLES {
            for name in table.columns.split_whitespace().filter(|name| !matches!(*name, "*" | "%" | "+")) {
                assert!(!column(table, name).1.is_empty(), "{}: add words about the column `{name}`", table.name);
            }
        }
    }
}
