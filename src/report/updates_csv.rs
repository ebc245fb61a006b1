//! `threshold_updates.csv`: how each post came into force, one row per post, frontend and stage.

use super::summarise::{answer_name, update_outcome};
use crate::experiment::result::UpdateResult;
use crate::stats::CsvRow;
use crate::units::SimTime;

const HEADER: &str = "post,frontend,at_s,answer,active_decode_blocks_threshold,active_prefill_tokens_threshold,\
active_prefill_tokens_threshold_frac,stage,worker,stage_at_s,lag_s,silent_ranks,decisions\n";

/// All posts, in the order of time, then frontend.
///
/// Stages: `effect` is the first decision that would have been another one without the post; `noticed` and `all` (with the decisions since the stage before), `worker` (one row each), `never` (one row per worker
/// that did not get there, with the ranks that kept silent), `superseded`, `no_op`, `refused`. Lags count from the post.
pub fn threshold_updates_csv(updates: &[UpdateResult]) -> Vec<u8> {
    let mut bytes = HEADER.as_bytes().to_vec();
    updates.iter().for_each(|update| stages(&mut bytes, update));
    bytes
}

/// A row of one stage, as far as it is about the stage.
#[derive(Default)]
struct Stage<'a> {
    name: &'a str,
    worker: Option<u32>,
    at: Option<SimTime>,
    silent: &'a str,
    decisions: Option<u64>,
}

fn stages(bytes: &mut Vec<u8>, update: &UpdateResult) {
    let mut row = |stage: Stage<'_>| write(bytes, update, &stage);
    if let Some(at) = update.noticed {
        row(Stage { name: "noticed", at: Some(at), decisions: Some(update.decisions[0]), ..Stage::default() });
    }
    for (worker, at) in &update.workers {
        row(Stage { name: "worker", worker: Some(*worker), at: Some(*at), ..Stage::default() });
    }
    if let Some(at) = update.effect {
        row(Stage { name: "effect", at: Some(at), ..Stage::default() });
    }
    let outcome = update_outcome(update);
    match outcome {
        "never" if !update.silent.is_empty() => {
            for (worker, ranks) in &update.silent {
                let silent = ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
                row(Stage { name: outcome, worker: Some(*worker), silent: &silent, ..Stage::default() });
            }
        }
        "all" => row(Stage { name: outcome, at: update.all, decisions: Some(update.decisions[1]), ..Stage::default() }),
        "superseded" => row(Stage { name: outcome, at: update.superseded, ..Stage::default() }),
        _ => row(Stage { name: outcome, ..Stage::default() }),
    }
}

fn write(bytes: &mut Vec<u8>, update: &UpdateResult, stage: &Stage<'_>) {
    CsvRow::new(bytes)
        .int(update.post.into())
        .int(update.frontend.into())
        .time(update.at)
        .text(answer_name(update.answer))
        .float(update.update.active_decode_blocks_threshold)
        .opt_int(update.update.active_prefill_tokens_threshold)
        .float(update.update.active_prefill_tokens_threshold_frac)
        .text(stage.name)
        .opt_int(stage.worker.map(u64::from))
        .opt_time(stage.at)
        .opt_span(stage.at.map(|at| at.since(update.at)))
        .text(stage.silent)
        .opt_int(stage.decisions)
        .end();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::observer::PostAnswer;
    use crate::control::ThresholdUpdate;

    fn update(answer: PostAnswer) -> UpdateResult {
        let posted = ThresholdUpdate { active_decode_blocks_threshold: Some(0.6), ..ThresholdUpdate::default() };
        let at = SimTime::from_nanos(2_000_000_000);
        UpdateResult { decisions: [3, 40], ..UpdateResult::posted(0, 1, at, posted, answer) }
    }

    fn rows(update: UpdateResult) -> Vec<String> {
        let text = String::from_utf8(threshold_updates_csv(&[update])).unwrap();
        text.lines().skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn each_stage_of_a_post_has_its_row() {
        let at = |ms: u64| SimTime::from_nanos(2_000_000_000 + ms * 1_000_000);
        let changed = UpdateResult {
            noticed: Some(at(1)),
            workers: vec![(1, at(1)), (2, at(250))],
            all: Some(at(250)),
            ..update(PostAnswer::Changed)
        };
        assert_eq!(
            rows(changed),
            [
                "0,1,2,changed,0.6,,,noticed,,2.001,0.001,,3",
                "0,1,2,changed,0.6,,,worker,1,2.001,0.001,,",
                "0,1,2,changed,0.6,,,worker,2,2.25,0.25,,",
                "0,1,2,changed,0.6,,,all,,2.25,0.25,,40",
            ]
        );
    }

    #[test]
    fn what_ends_otherwise_says_how() {
        let silent = UpdateResult {
            noticed: Some(SimTime::from_nanos(2_000_000_000)),
            silent: vec![(7, vec![0, 2])],
            ..update(PostAnswer::Changed)
        };
        assert_eq!(rows(silent), ["0,1,2,changed,0.6,,,noticed,,2,0,,3", "0,1,2,changed,0.6,,,never,7,,,0 2,"]);
        assert_eq!(rows(update(PostAnswer::Changed)), ["0,1,2,changed,0.6,,,never,,,,,"]);
        assert_eq!(rows(update(PostAnswer::Unchanged)), ["0,1,2,unchanged,0.6,,,no_op,,,,,"]);
        assert_eq!(rows(update(PostAnswer::Invalid)), ["0,1,2,invalid,0.6,,,refused,,,,,"]);
        let later = UpdateResult { superseded: Some(SimTime::from_nanos(3_000_000_000)), ..update(PostAnswer::Changed) };
        assert_eq!(rows(later), ["0,1,2,changed,0.6,,,superseded,,3,1,,"]);
    }
}
