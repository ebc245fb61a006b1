//! A row per unit, measure and side after the first.

use crate::experiment::compare::Comparison;
use crate::experiment::measure_table::MEASURES;
use crate::stats::CsvRow;

/// The differences; what does not exist is empty.
pub fn comparison_csv(comparison: &Comparison) -> Vec<u8> {
    let mut bytes = Vec::new();
    let head = CsvRow::new(&mut bytes).text("settings").text("measure").text("unit").text("side").text("baseline");
    let head = head.text("value").text("baseline_value").text("difference").text("low").text("high");
    head.text("paired").text("replications").text("verdict").end();
    for unit in &comparison.units {
        for found in &unit.measures {
            let measure = &MEASURES[found.measure];
            for (place, against) in found.against.iter().enumerate() {
                let side = place + 1;
                let interval = against.and_then(|against| against.interval);
                let row = CsvRow::new(&mut bytes)
                    .text(&unit.label)
                    .text(measure.name)
                    .text(measure.unit.name())
                    .text(&comparison.sides[side].name)
                    .text(&comparison.sides[0].name)
                    .float(found.means[side])
                    .float(found.means[0])
                    .float(against.map(|against| against.difference))
                    .float(interval.map(|(low, _)| low))
                    .float(interval.map(|(_, high)| high));
                let row = row.flag(comparison.is_paired(side)).opt_int(against.map(|against| against.replications as u64));
                row.text(against.map_or("", |against| against.standing.name())).end();
            }
        }
    }
    bytes
}
