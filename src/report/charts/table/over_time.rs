//! Curves over time, row by row.

use super::super::data::{Sample, Unit};
use super::super::thin::Join;
use super::{DataTable, NONE, between, instant};

/// Most rows.
const MOST: usize = 60;

/// A column: what is in it, and its samples in ascending time, of one curve or of several that share a column.
pub(super) struct Column<'a> {
    name: String,
    unit: Unit,
    join: Join,
    curves: Vec<&'a [Sample]>,
}

impl<'a> Column<'a> {
    /// A column of one curve or of several.
    pub(super) fn new(name: impl Into<String>, unit: Unit, curves: Vec<&'a [Sample]>) -> Self {
        Self { name: name.into(), unit, join: Join::Straight, curves }
    }

    /// A column of a curve with a sample only where its value changes: it holds until the next one.
    pub(super) fn held(name: impl Into<String>, unit: Unit, curve: &'a [Sample]) -> Self {
        Self { join: Join::Step, ..Self::new(name, unit, vec![curve]) }
    }

    /// Lowest and highest value of the curves in `[from, to)`.
    fn cell(&self, from: f64, to: f64) -> String {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for curve in &self.curves {
            let (first, end) = (curve.partition_point(|s| s[0] < from), curve.partition_point(|s| s[0] < to));
            // What holds at the start of the row was sampled before it.
            let held = self.join == Join::Step && curve.get(first).is_none_or(|sample| sample[0] > from);
            let first = if held { first.saturating_sub(1) } else { first };
            for [_, value] in curve[first..end.max(first)].iter().filter(|sample| sample[1].is_finite()) {
                (low, high) = (low.min(*value), high.max(*value));
            }
        }
        if low > high { NONE.to_owned() } else { between(low, high, &self.unit) }
    }
}

/// A row per interval, or per several where there are many. The rows begin at samples of the columns that are not held, up to
/// `end`, where the last samples of some curves stand that only close them.
pub(super) fn over_time(columns: &[Column<'_>], end: f64) -> DataTable {
    let sampled = columns.iter().filter(|column| column.join == Join::Straight).flat_map(|column| &column.curves);
    let mut starts: Vec<f64> =
        sampled.flat_map(|curve| curve.iter()).map(|s| s[0]).filter(|at| at.is_finite() && *at < end).collect();
    starts.sort_by(f64::total_cmp);
    starts.dedup();
    let each = starts.len().div_ceil(MOST).max(1);
    let rows = starts.chunks(each).enumerate().map(|(i, chunk)| {
        let next = starts.get((i + 1) * each).copied().unwrap_or(f64::INFINITY);
        let cells = columns.iter().map(|column| column.cell(chunk[0], next));
        std::iter::once(instant(chunk[0])).chain(cells).collect()
    });
    let note = if each > 1 {
        format!("Each row covers {each} intervals of the run: the lowest and the highest value in them.")
    } else {
        String::new()
    };
    let names = columns.iter().map(|column| column.name.clone());
    DataTable { columns: std::iter::once("from".to_owned()).chain(names).collect(), rows: rows.collect(), note }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_show_what_holds_and_gaps_stay_gaps() {
        let load = [[0.0, 0.5], [1.0, f64::NAN], [2.0, 0.75]];
        let limit = [[0.0, 3.0], [1.5, 2.0]];
        let columns = [Column::new("load", Unit::Share, vec![&load]), Column::held("limit", Unit::Number, &limit)];
        let table = over_time(&columns, 3.0);
        assert_eq!(table.columns, ["from", "load", "limit"]);
        assert_eq!(table.rows, [["0s", "50.0 %", "3"], ["1s", "-", "2 – 3"], ["2s", "75.0 %", "2"]]);
    }

    proptest! {
        #[test]
        fn no_peak_is_lost(values in prop::collection::vec(0u32..1000, 1..400)) {
            let curve: Vec<Sample> = values.iter().enumerate().map(|(i, v)| [i as f64, f64::from(*v)]).collect();
            let table = over_time(&[Column::new("x", Unit::Number, vec![&curve])], values.len() as f64);
            prop_assert!(table.rows.len() <= MOST);
            let most = values.iter().max().expect("not empty").to_string();
            let least = values.iter().min().expect("not empty").to_string();
            prop_assert!(table.rows.iter().any(|row| row[1].ends_with(&most)) && table.rows.iter().any(|row| row[1].starts_with(&least)));
        }
    }
}
