//! OpenMetrics text 1.0.0: families, then series, then time.

use std::io::{self, Read, Seek, Write};

use super::catalogue::{Catalogue, Family, bounds_of};
use super::scrape::ScrapeError;
use super::spool::Spool;
use crate::control::metrics::{Metric, MetricKind};

/// Values that are held in memory at a time: 32 MB.
const MOST_VALUES: usize = 4_000_000;

/// Writes everything that is in the spool, a row for each of `dates` (seconds since 1970).
pub(super) fn write<F: Read + Write + Seek>(
    catalogue: &Catalogue,
    dates: &[i64],
    spool: &mut Spool<F>,
    out: &mut impl Write,
) -> Result<(), ScrapeError> {
    let stamps: Vec<String> = dates.iter().map(i64::to_string).collect();
    let mut first = 0;
    for family in &catalogue.families {
        head(family.metric, out).map_err(ScrapeError::Text)?;
        let width = family.width();
        let at_a_time = (MOST_VALUES / width / stamps.len().max(1)).max(1);
        for some in family.series.chunks(at_a_time) {
            let count = width * some.len();
            let values = spool.columns(first, count).map_err(ScrapeError::Spool)?;
            for (place, series) in some.iter().enumerate() {
                let names = names(family, &series.labels);
                let rows = values.chunks(count).map(|row| &row[place * width..(place + 1) * width]);
                samples(&names, rows.zip(&stamps), out).map_err(ScrapeError::Text)?;
            }
            first += count;
        }
    }
    out.write_all(b"# EOF\n").and_then(|()| out.flush()).map_err(ScrapeError::Text)
}

/// What stands before the samples of a family. A counter is described by the name of its samples, `_total` included: the older
/// text format, which `promtool check metrics` reads, knows no other, and Prometheus takes either in OpenMetrics.
fn head(metric: &Metric, out: &mut impl Write) -> io::Result<()> {
    let family = metric.name;
    let kind = match metric.kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram(_) => "histogram",
    };
    writeln!(out, "# HELP {family} {}.", metric.help)?;
    writeln!(out, "# TYPE {family} {kind}")?;
    // The format allows a unit only where the name ends with it.
    let named = !metric.unit.is_empty() && family.strip_suffix(metric.unit).is_some_and(|rest| rest.ends_with('_'));
    if named { writeln!(out, "# UNIT {family} {}", metric.unit) } else { Ok(()) }
}

/// What stands before the value of each column of a series.
fn names(family: &Family, labels: &str) -> Vec<String> {
    let name = family.metric.name;
    let Some(bounds) = bounds_of(family) else { return vec![format!("{name}{{{labels}}} ")] };
    let bounds = bounds.iter().map(|bound| format!("{bound:?}")).chain(["+Inf".to_owned()]);
    let buckets = bounds.map(|bound| format!("{name}_bucket{{{labels},le=\"{bound}\"}} "));
    buckets.chain([format!("{name}_sum{{{labels}}} ")]).collect()
}

fn samples<'a>(names: &[String], rows: impl Iterator<Item = (&'a [f64], &'a String)>, out: &mut impl Write) -> io::Result<()> {
    // A histogram has a count too, which equals its last bucket.
    let count = (names.len() > 1).then(|| names[names.len() - 1].replacen("_sum{", "_count{", 1));
    for (row, stamp) in rows {
        for (name, value) in names.iter().zip(row).filter(|(_, value)| !value.is_nan()) {
            writeln!(out, "{name}{value} {stamp}")?;
        }
        if let (Some(name), [.., all, _]) = (&count, row) {
            writeln!(out, "{name}{all} {stamp}")?;
        }
    }
    Ok(())
}
