//! The lengths of a stream: `input_tokens` and `output_tokens` side by side, or `lengths`, pairs drawn together.

use crate::units::SimTime;
use crate::workload::config::{LengthDistribution, PairPiece, PairSchedule, StreamLengths, WeightedPair};
use crate::workload::error::WorkloadError;
use crate::workload::pairs::{PairColumns, read_pairs};

use super::item::{Item, NumberRange};
use super::lengths::{self, MAX_TOKENS};
use super::section::Section;
use super::workload::Surroundings;

const MAX_PIECES: usize = 100_000;
const MAX_PAIRS: usize = 1_000_000;
const LONGEST_NAME: usize = 200;

/// Decodes the lengths of the stream that `section` describes.
pub(super) fn decode(section: &mut Section<'_>, around: &Surroundings<'_>) -> Option<StreamLengths> {
    if let Some(item) = section.item("lengths") {
        for key in ["input_tokens", "output_tokens", "length_correlation"] {
            section.forbid(key, "`lengths` says it", "give one of them only");
        }
        return pairs(&item).map(StreamLengths::Paired);
    }
    let input_tokens = side(section, "input_tokens", 0, around);
    let output_tokens = side(section, "output_tokens", 1, around);
    let correlation = section.number("length_correlation", NumberRange::between(-1.0, 1.0)).unwrap_or(0.0);
    Some(StreamLengths::Separate { input_tokens: input_tokens?, output_tokens: output_tokens?, correlation })
}

/// Lengths in one direction; opaque workers do without, and count one token then.
fn side(section: &mut Section<'_>, key: &'static str, least: u32, around: &Surroundings<'_>) -> Option<LengthDistribution> {
    match section.item(key) {
        Some(item) => lengths::decode(&item, least),
        None if around.lengths_optional() => Some(lengths::constant(1)),
        None => {
            section.require(key, "a number of tokens, or a table with a `distribution`; or give `lengths` as pairs");
            None
        }
    }
}

/// `{ pairs = [[in, out], ...] }`, `{ pieces = [{ at, pairs }, ...] }` or `{ csv = "FILE", ... }`.
fn pairs(item: &Item<'_>) -> Option<PairSchedule> {
    let mut section = item.table()?;
    let kinds = ["pairs", "pieces", "csv"].into_iter().filter(|kind| section.given(kind)).count();
    if kinds != 1 {
        let message = format!("`{}` has {kinds} of `pairs`, `pieces` and `csv`: expected one of them", section.path());
        section.fault(None, message, Some("for example `{ pairs = [[1200, 80], [300, 250]] }`".to_owned()));
    }
    let all = section.item("pairs").map(|item| list(&item).map(|pairs| vec![PairPiece { at: SimTime::ZERO, pairs }]));
    let pieces = section.item("pieces").map(|item| pieces(&item));
    let file = section.item("csv");
    let columns = columns(&mut section, file.is_some());
    section.finish();
    match (all, pieces, file) {
        _ if kinds != 1 => None,
        (Some(pieces), _, _) | (_, Some(pieces), _) => pieces.map(PairSchedule),
        (_, _, Some(file)) => from_file(&file, &columns),
        (None, None, None) => None,
    }
}

/// The columns of a file of pairs; they may be given with a file only.
fn columns(section: &mut Section<'_>, with_file: bool) -> PairColumns {
    let mut name = |key: &'static str| {
        if !with_file {
            section.forbid(key, "it names a column of `csv`", "remove it, or give the `csv`");
            return None;
        }
        section.optional(key).and_then(|item| item.text(LONGEST_NAME)).map(str::to_owned)
    };
    PairColumns {
        at: name("at_column"),
        input_tokens: name("input_column"),
        output_tokens: name("output_column"),
        weight: name("weight_column"),
    }
}

fn from_file(file: &Item<'_>, columns: &PairColumns) -> Option<PairSchedule> {
    let path = file.text(4_096).and_then(|text| file.existing(text))?;
    let schedule = read_pairs(&path, columns).map_err(|error| file.fault_of(&error)).ok()?;
    let most = schedule.0.iter().flat_map(|piece| &piece.pairs).map(|p| p.input_tokens.max(p.output_tokens)).max();
    if let Some(most) = most.filter(|most| *most > MAX_TOKENS) {
        file.fault(format!("`{}` has a length of {most} tokens: expected at most {MAX_TOKENS}", path.display()), None);
        return None;
    }
    Some(schedule)
}

fn pieces(item: &Item<'_>) -> Option<Vec<PairPiece>> {
    let piece = |item: &Item<'_>| {
        let mut section = item.table()?;
        section.require("at", "the instant from which the pairs hold");
        section.require("pairs", "a list of `[input, output]` or `[input, output, weight]`");
        let (at, pairs) = (section.instant("at"), section.item("pairs").and_then(|item| list(&item)));
        section.finish();
        Some(PairPiece { at: at?, pairs: pairs? })
    };
    let pieces: Vec<Option<PairPiece>> = item.filled_list(MAX_PIECES)?.iter().map(piece).collect();
    let pieces: Vec<PairPiece> = pieces.into_iter().collect::<Option<_>>()?;
    let wrong =
        (0..pieces.len()).find(|&n| if n == 0 { pieces[0].at != SimTime::ZERO } else { pieces[n].at <= pieces[n - 1].at });
    if let Some(n) = wrong {
        let expected =
            if n == 0 { "`\"0s\"`, the start of the run".to_owned() } else { "later than the piece before".to_owned() };
        item.fault(format!("`{}.{n}.at` is `\"{}\"`: expected {expected}", item.path(), pieces[n].at), None);
        return None;
    }
    Some(pieces)
}

/// A list of pairs.
fn list(item: &Item<'_>) -> Option<Vec<WeightedPair>> {
    let pairs: Vec<Option<WeightedPair>> = item.filled_list(MAX_PAIRS)?.iter().map(pair).collect();
    pairs.into_iter().collect()
}

/// `[input, output]` or `[input, output, weight]`.
fn pair(item: &Item<'_>) -> Option<WeightedPair> {
    let parts = item.filled_list(3)?;
    let (Some(input), Some(output)) = (parts.first(), parts.get(1)) else {
        let message = format!("`{}` has one number: expected `[input, output]` or `[input, output, weight]`", item.path());
        item.fault(message, None);
        return None;
    };
    let (input, output) = (input.u32(0, MAX_TOKENS), output.u32(1, MAX_TOKENS));
    let weight = parts.get(2).map_or(Some(1.0), |item| item.number(NumberRange::POSITIVE));
    Some(WeightedPair { input_tokens: input?, output_tokens: output?, weight: weight? })
}

impl Item<'_> {
    /// Records what is wrong with a file of lengths that this value names.
    pub(super) fn fault_of(&self, error: &WorkloadError) {
        let text = error.to_string();
        // Everything but the hint stands on the first line.
        let problem = text.lines().next().unwrap_or_default();
        self.fault(format!("`{}`: {problem}", self.path()), Some(error.hint().to_owned()));
    }
}
