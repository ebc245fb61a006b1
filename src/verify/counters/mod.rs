//! Counters and gauges exported from production, over time.

mod csv;
mod exposition;

use std::io;
use std::path::Path;

use super::check::VerifyError;
use crate::calibrate::bounded;
use crate::stats::sample_mean_and_variance;

/// Bytes of a file at most.
const MAX_BYTES: u64 = 1 << 30;

/// One series: a metric with one set of labels.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterSeries {
    /// Name of the metric.
    pub metric: String,
    /// Its labels as they stand in the file, for telling series apart.
    pub labels: String,
    /// Seconds, and value; in the order of time.
    pub points: Vec<(f64, f64)>,
}

/// A gauge over a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Its mean.
    pub mean: f64,
    /// The standard error that its own scatter gives a mean of so few samples.
    pub error: f64,
    /// Variance of such a mean, of that of a sample.
    pub weight: f64,
}

/// Everything exported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    series: Vec<CounterSeries>,
}

impl Counters {
    /// Reads a file: Prometheus' text exposition, scrape after scrape, or CSV with a column for the time. `scrape_interval` gives
    /// samples without a time of their own, in seconds, one.
    ///
    /// # Errors
    /// It cannot be read, or holds nothing that changes over time.
    pub fn read(path: &Path, scrape_interval: Option<f64>) -> Result<Self, VerifyError> {
        let fault = |problem: &str, hint: &str| VerifyError::Other(format!("{}: {problem}\n  hint: {hint}", path.display()));
        let text = read_text(path).map_err(|problem| fault(&problem, "expected exported counters as text"))?;
        if text.trim().is_empty() {
            return Err(fault(
                "the file is empty",
                "expected Prometheus' text exposition with times, or CSV with a column for the time",
            ));
        }
        let is_csv = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).is_some_and(csv::is_header);
        let read = if is_csv { csv::parse(&text) } else { exposition::parse(&text, scrape_interval) };
        let mut counters = read.map_err(|problem| {
            VerifyError::Other(format!(
                "{}:{problem}\n  hint: expected Prometheus' text exposition with times, or CSV with a column for the time",
                path.display()
            ))
        })?;
        counters.zero();
        if counters.length() <= 0.0 {
            let hint = "samples need times: by the exporter, or `--scrape-interval` for scrapes one after the other";
            return Err(fault("no series has samples at two instants", hint));
        }
        Ok(counters)
    }

    /// Counts time from the first sample of any series.
    fn zero(&mut self) {
        let first = self.series.iter().flat_map(|s| &s.points).map(|p| p.0).fold(f64::INFINITY, f64::min);
        for series in &mut self.series {
            series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
            series.points.iter_mut().for_each(|p| p.0 -= first);
        }
    }

    /// Adds a sample.
    fn push(&mut self, metric: &str, labels: &str, at: f64, value: f64) {
        if !value.is_finite() {
            return;
        }
        match self.series.iter_mut().find(|s| s.metric == metric && s.labels == labels) {
            Some(series) => series.points.push((at, value)),
            None => {
                let points = vec![(at, value)];
                self.series.push(CounterSeries { metric: metric.to_owned(), labels: labels.to_owned(), points });
            }
        }
    }

    /// Seconds from the first sample to the last.
    pub fn length(&self) -> f64 {
        self.series.iter().flat_map(|s| &s.points).map(|p| p.0).fold(0.0, f64::max)
    }

    /// Median time between samples of a series, seconds.
    pub fn sample_interval(&self) -> f64 {
        let mut gaps: Vec<f64> =
            self.series.iter().flat_map(|s| s.points.windows(2).map(|pair| pair[1].0 - pair[0].0)).filter(|g| *g > 0.0).collect();
        gaps.sort_by(f64::total_cmp);
        gaps.get(gaps.len() / 2).copied().unwrap_or(0.0)
    }

    /// Metrics that are there.
    pub fn metrics(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.series.iter().map(|s| s.metric.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// By how much a counter grew from `from` to `to`, over all its series; growth between two samples is spread evenly, and a
    /// counter that falls was reset to 0. `None` if it is not there, or not sampled over all of that time.
    pub fn growth(&self, metric: &str, from: f64, to: f64) -> Option<f64> {
        let mut growth = None;
        for series in self.of(metric) {
            for pair in series.points.windows(2) {
                let [(start, before), (end, after)] = [pair[0], pair[1]];
                let overlap = end.min(to) - start.max(from);
                if overlap > 0.0 {
                    let grown = if after >= before { after - before } else { after };
                    *growth.get_or_insert(0.0) += grown * overlap / (end - start);
                }
            }
        }
        growth.filter(|_| self.covers(metric, from, to))
    }

    /// Mean over time of a gauge from `from` to `to`, summed over its series and straight between samples. `None` if it is not there,
    /// or not sampled over all of that time.
    pub fn level(&self, metric: &str, from: f64, to: f64) -> Option<Level> {
        let (mut sum, mut variance, mut weight) = (None, 0.0, 0.0f64);
        for series in self.of(metric) {
            for pair in series.points.windows(2) {
                let [(start, before), (end, after)] = [pair[0], pair[1]];
                let (left, right) = (start.max(from), end.min(to));
                if right > left {
                    let at = |t: f64| before + (after - before) * (t - start) / (end - start);
                    *sum.get_or_insert(0.0) += (at(left) + at(right)) / 2.0 * (right - left);
                }
            }
            let (of_series, of_mean) = scatter(series, from, to);
            variance += of_series * of_mean;
            weight = weight.max(of_mean);
        }
        let level = |sum: f64| Level { mean: sum / (to - from), error: variance.sqrt(), weight };
        sum.map(level).filter(|_| self.covers(metric, from, to))
    }

    fn of<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = &'a CounterSeries> {
        self.series.iter().filter(move |s| s.metric == metric)
    }

    /// Whether some series of the metric is sampled from `from` to `to`.
    fn covers(&self, metric: &str, from: f64, to: f64) -> bool {
        self.of(metric).any(|s| s.points.first().is_some_and(|p| p.0 <= from) && s.points.last().is_some_and(|p| p.0 >= to))
    }
}

/// Samples at least from which a gauge's scatter is taken: a few that happen to be alike would say that there is none.
const SCATTERED: usize = 12;

/// Variance of a series' samples in a window and of one to either side, of more where those are few; and what share of it the mean
/// over the window has, straight between samples that know nothing of each other.
fn scatter(series: &CounterSeries, from: f64, to: f64) -> (f64, f64) {
    let points = &series.points;
    let mut first = points.partition_point(|p| p.0 < from).saturating_sub(1);
    let mut last = (points.partition_point(|p| p.0 <= to) + 1).min(points.len());
    let more = SCATTERED.saturating_sub(last.saturating_sub(first)).div_ceil(2);
    (first, last) = (first.saturating_sub(more), (last + more).min(points.len()));
    let near = points.get(first..last).unwrap_or_default();
    let values: Vec<f64> = near.iter().map(|p| p.1).collect();
    let (Some((_, Some(variance))), [start, .., end]) = (sample_mean_and_variance(&values), near) else { return (0.0, 0.0) };
    // The samples at both ends of k gaps weigh half.
    let gaps = ((to - from) * (near.len() - 1) as f64 / (end.0 - start.0)).max(1.0);
    (variance, (gaps - 0.5) / (gaps * gaps))
}

fn read_text(path: &Path) -> Result<String, String> {
    let bytes = bounded(path, MAX_BYTES, true).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge | io::ErrorKind::InvalidData => error.to_string(),
        _ => format!("cannot read the file: {error}"),
    })?;
    String::from_utf8(bytes).map_err(|_| "it is no text in UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(points: &[(&str, &str, f64, f64)]) -> Counters {
        let mut counters = Counters::default();
        points.iter().for_each(|(metric, labels, at, value)| counters.push(metric, labels, *at, *value));
        counters
    }

    #[test]
    fn growth_is_spread_between_samples_and_survives_a_reset() {
        let c = counters(&[
            ("n", "a", 0.0, 10.0),
            ("n", "a", 10.0, 20.0),
            ("n", "a", 20.0, 4.0),
            ("n", "b", 0.0, 0.0),
            ("n", "b", 20.0, 2.0),
        ]);
        assert_eq!(c.growth("n", 0.0, 10.0), Some(11.0));
        assert_eq!(c.growth("n", 5.0, 15.0), Some(5.0 + 2.0 + 1.0));
        assert_eq!(c.growth("n", 0.0, 21.0), None, "beyond the last sample");
        assert_eq!(c.growth("other", 0.0, 10.0), None);
    }

    #[test]
    fn levels_are_weighted_by_time_and_added_over_series() {
        let c = counters(&[
            ("g", "a", 0.0, 4.0),
            ("g", "a", 5.0, 8.0),
            ("g", "a", 10.0, 0.0),
            ("g", "b", 0.0, 1.0),
            ("g", "b", 10.0, 1.0),
        ]);
        // (4 + 8) / 2 over the first half, (8 + 0) / 2 over the second, and 1 all along.
        let Level { mean, error, weight } = c.level("g", 0.0, 10.0).unwrap();
        assert_eq!(mean, 6.0);
        // Between two samples the mean has half the variance of one.
        assert_eq!(weight, 0.5);
        // Of three samples with a variance of 16, the outer ones weigh half.
        assert!((error - (16.0f64 * 0.375).sqrt()).abs() < 1e-12, "{error}");
        assert_eq!((c.length(), c.sample_interval()), (10.0, 5.0));
    }
}
