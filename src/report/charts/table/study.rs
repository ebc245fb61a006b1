//! Tables of the figures of sweeps and plans.

use super::super::data::*;
use super::{DataTable, NONE, written};

/// A place along an axis: a category or a number.
fn place(x: f64, axis: &Quantity) -> String {
    match axis.categories.get(x as usize) {
        Some(name) if x >= 0.0 => name.clone(),
        _ => written(x, &axis.unit),
    }
}

/// A mean with its interval.
fn estimate(point: &SweepPoint, unit: &Unit) -> String {
    let mean = written(point.mean, unit);
    if point.low.is_finite() && point.high.is_finite() {
        format!("{mean} ({} – {})", written(point.low, unit), written(point.high, unit))
    } else {
        mean
    }
}

/// How a column of a measure is called.
fn named(measure: &Quantity) -> String {
    match &measure.unit {
        Unit::Named(unit) if !unit.is_empty() => format!("{} ({unit})", measure.label),
        _ => measure.label.clone(),
    }
}

const INTERVALS: &str = "Means with their 95 % intervals, where there are several replications.";

/// The rows of a panel: a place along x each, then a cell per series.
fn rows(x: &Quantity, panel: &SweepPanel) -> Vec<Vec<String>> {
    let mut places: Vec<f64> = panel.series.iter().flat_map(|s| &s.points).map(|p| p.x).filter(|x| x.is_finite()).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let at = |series: &SweepSeries, x: f64| series.points.iter().find(|p| p.x == x).map(|p| estimate(p, &panel.measure.unit));
    let row = |x_at: f64| {
        let cells = panel.series.iter().map(|series| at(series, x_at).unwrap_or_else(|| NONE.to_owned()));
        std::iter::once(place(x_at, x)).chain(cells).collect()
    };
    places.into_iter().map(row).collect()
}

fn series_name(series: &SweepSeries, measure: &Quantity) -> String {
    if series.name.is_empty() { named(measure) } else { series.name.clone() }
}

/// A measure along one axis.
pub(in super::super) fn line(data: &SweepData) -> DataTable {
    let names = data.panel.series.iter().map(|series| series_name(series, &data.panel.measure));
    let columns = std::iter::once(named(&data.x)).chain(names).collect();
    DataTable { columns, rows: rows(&data.x, &data.panel), note: INTERVALS.to_owned() }
}

/// The panels below each other.
pub(in super::super) fn multiples(data: &MultiplesData) -> DataTable {
    let Some((_, first)) = data.panels.iter().max_by_key(|(_, panel)| panel.series.len()) else { return DataTable::default() };
    let names = first.series.iter().map(|series| series_name(series, &first.measure));
    let columns: Vec<String> = ["panel".to_owned(), named(&data.x)].into_iter().chain(names).collect();
    let of = |(caption, panel): &(String, SweepPanel)| -> Vec<Vec<String>> {
        let filled = |mut row: Vec<String>| {
            row.insert(0, caption.clone());
            row.resize(columns.len(), NONE.to_owned());
            row
        };
        rows(&data.x, panel).into_iter().map(filled).collect()
    };
    let rows = data.panels.iter().flat_map(of).collect();
    DataTable { rows, note: format!("{}. {INTERVALS}", named(&first.measure)), columns }
}

/// A row per line and load, a column per measure.
pub(in super::super) fn load_curve(data: &LoadCurveData) -> DataTable {
    let Some(first) = data.panels.first() else { return DataTable::default() };
    let several = first.series.len() > 1;
    let lines = several.then(|| "line".to_owned()).into_iter();
    let columns = lines.chain([named(&data.x)]).chain(data.panels.iter().map(|panel| named(&panel.measure))).collect();
    let mut rows = Vec::new();
    for (i, series) in first.series.iter().enumerate() {
        for point in &series.points {
            let cell = |panel: &SweepPanel| {
                let found = panel.series.get(i).and_then(|s| s.points.iter().find(|p| p.x == point.x));
                found.map_or(NONE.to_owned(), |p| estimate(p, &panel.measure.unit))
            };
            let name = several.then(|| series.name.clone()).into_iter();
            rows.push(name.chain([place(point.x, &data.x)]).chain(data.panels.iter().map(cell)).collect());
        }
    }
    DataTable { columns, rows, note: INTERVALS.to_owned() }
}

/// The map as it is drawn, the top row first.
pub(in super::super) fn heat_map(data: &HeatMapData) -> DataTable {
    let width = data.x_values.len();
    let corner = format!("{} (rows), {} (columns)", data.y_label, data.x_label);
    let columns = std::iter::once(corner).chain(data.x_values.iter().cloned()).collect();
    let row = |(place, name): (usize, &String)| {
        let cells = (0..width).map(|x| data.values.get(place * width + x).copied().unwrap_or(f64::NAN));
        std::iter::once(name.clone()).chain(cells.map(|value| written(value, &data.measure.unit))).collect()
    };
    let rows = data.y_values.iter().enumerate().rev().map(row).collect();
    DataTable { columns, rows, note: format!("{}: means over the replications.", named(&data.measure)) }
}

/// The settings.
pub(in super::super) fn pareto(data: &ParetoData) -> DataTable {
    let setting = if data.point_label.is_empty() { "setting".to_owned() } else { data.point_label.clone() };
    let columns = vec![setting, named(&data.x), named(&data.y), "on the front".to_owned(), "recommended".to_owned()];
    let yes = |is: bool| if is { "yes" } else { "" }.to_owned();
    let row = |p: &ParetoPoint| {
        vec![p.label.clone(), written(p.x, &data.x.unit), written(p.y, &data.y.unit), yes(p.on_front), yes(p.chosen)]
    };
    DataTable { columns, rows: data.points.iter().map(row).collect(), note: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel() -> SweepPanel {
        let point = |x, mean| SweepPoint { x, mean, low: mean - 0.125, high: mean + 0.125 };
        SweepPanel {
            measure: Quantity { label: "529 rate".into(), unit: Unit::Share, ..Quantity::default() },
            series: vec![
                SweepSeries { name: "a".into(), points: vec![point(1.0, 0.25), point(2.0, 0.5)] },
                SweepSeries {
                    name: "b".into(),
                    points: vec![SweepPoint { x: 2.0, mean: f64::NAN, low: f64::NAN, high: f64::NAN }],
                },
            ],
            ..SweepPanel::default()
        }
    }

    #[test]
    fn a_line_shows_means_with_intervals_and_leaves_gaps() {
        let table = line(&SweepData { panel: panel(), ..SweepData::default() });
        assert_eq!(table.rows, [["1", "25.0 % (12.5 % – 37.5 %)", "-"], ["2", "50.0 % (37.5 % – 62.5 %)", "-"]]);
    }

    #[test]
    fn panels_and_measures_stand_in_rows_of_equal_length() {
        let multiples = multiples(&MultiplesData {
            panels: vec![
                ("Q = 1".into(), panel()),
                ("Q = 2".into(), SweepPanel { series: panel().series[..1].to_vec(), ..panel() }),
            ],
            ..MultiplesData::default()
        });
        let curve = load_curve(&LoadCurveData { panels: vec![panel(), panel()], ..LoadCurveData::default() });
        for table in [multiples, curve] {
            assert!(table.rows.len() == 4 || table.rows.len() == 3);
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{table:?}");
        }
    }

    #[test]
    fn a_map_is_read_from_its_top_row_down() {
        let map = HeatMapData {
            heading: Heading::default(),
            x_label: "rate".into(),
            x_values: vec!["10".into(), "20".into()],
            y_label: "threshold".into(),
            y_values: vec!["0.5".into(), "0.9".into()],
            measure: Quantity { unit: Unit::Share, ..Quantity::default() },
            values: vec![0.1, 0.2, 0.3, f64::NAN],
            target: None,
            best: None,
        };
        assert_eq!(heat_map(&map).rows, [["0.9", "30.0 %", "-"], ["0.5", "10.0 %", "20.0 %"]]);
    }
}
