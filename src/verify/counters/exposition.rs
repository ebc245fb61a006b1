//! Prometheus' text exposition (format 0.0.4, times in milliseconds) and OpenMetrics (times in seconds, closed by `# EOF`), scrape after
//! scrape.

use std::collections::BTreeMap;

use super::Counters;

/// Reads a text; a fault is `line: what`.
pub(super) fn parse(text: &str, scrape_interval: Option<f64>) -> Result<Counters, String> {
    let open_metrics = text.lines().any(|line| line.trim() == "# EOF");
    let unit = if open_metrics { 1.0 } else { 1e-3 };
    let mut counters = Counters::default();
    // Samples without a time: how often each series came so far.
    let mut seen: BTreeMap<(String, String), u32> = BTreeMap::new();
    for (line, number) in text.lines().map(str::trim).zip(1usize..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let sample = sample(line).ok_or_else(|| format!("{number}: `{line}` is no sample"))?;
        let at = match (sample.time, scrape_interval) {
            (Some(time), _) => time * unit,
            (None, Some(interval)) => {
                let count = seen.entry((sample.metric.to_owned(), sample.labels.to_owned())).or_default();
                *count += 1;
                f64::from(*count - 1) * interval
            }
            (None, None) => return Err(format!("{number}: `{line}` has no time, and `--scrape-interval` is not given")),
        };
        counters.push(sample.metric, sample.labels, at, sample.value);
    }
    Ok(counters)
}

/// A line of a scrape.
pub(super) struct Sample<'a> {
    pub(super) metric: &'a str,
    /// What stands between the braces.
    pub(super) labels: &'a str,
    pub(super) value: f64,
    pub(super) time: Option<f64>,
}

/// `name{label="value",...} value [time]`; an exemplar behind `#` is left out.
fn sample(line: &str) -> Option<Sample<'_>> {
    let (metric, labels, rest) = name(line)?;
    let rest = rest.split(" # ").next()?;
    let mut words = rest.split_ascii_whitespace();
    let value = number(words.next()?)?;
    let time = words.next().map(|word| word.parse::<f64>().ok().filter(|t| t.is_finite()));
    if words.next().is_some() || time == Some(None) {
        return None;
    }
    Some(Sample { metric, labels, value, time: time.flatten() })
}

/// A metric's name, its labels, and what follows them.
pub(super) fn name(text: &str) -> Option<(&str, &str, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    let (metric, rest) = text.split_at(end);
    if metric.is_empty() || metric.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let Some(inside) = rest.strip_prefix('{') else { return Some((metric, "", rest)) };
    // A brace within a quoted value closes nothing.
    let (mut quoted, mut escaped) = (false, false);
    let close = inside.find(|c| {
        let closes = c == '}' && !quoted;
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        closes
    })?;
    Some((metric, &inside[..close], &inside[close + 1..]))
}

fn number(word: &str) -> Option<f64> {
    match word {
        "+Inf" | "Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        _ => word.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrapes_with_times_in_milliseconds_are_read() {
        let text = "# HELP a_total what\n# TYPE a_total counter\na_total{model=\"m}\\\"x\",endpoint=\"e\"} 1 1000\na_total{model=\"m}\\\"x\",endpoint=\"e\"} 3 16000\nb 2.5 1000\nb NaN 16000\n";
        let counters = parse(text, None).unwrap();
        assert_eq!(counters.series[0].points, [(1.0, 1.0), (16.0, 3.0)]);
        assert_eq!(counters.series[0].labels, "model=\"m}\\\"x\",endpoint=\"e\"");
        assert_eq!(counters.series[1].points, [(1.0, 2.5)], "what is no number was not measured");
    }

    #[test]
    fn open_metrics_count_in_seconds_and_bare_scrapes_by_their_interval() {
        let counters = parse("a_total 1 1.5 # {trace=\"x\"} 0.5\na_total 2 2.5\n# EOF\n", None).unwrap();
        assert_eq!(counters.series[0].points, [(1.5, 1.0), (2.5, 2.0)]);
        let counters = parse("a 1\nb 7\na 2\nb 8\n", Some(15.0)).unwrap();
        assert_eq!(counters.series[1].points, [(0.0, 7.0), (15.0, 8.0)]);
    }

    #[test]
    fn what_is_no_sample_is_told_with_its_line() {
        assert_eq!(parse("a 1 5\nwhat is this\n", None).unwrap_err(), "2: `what is this` is no sample");
        assert!(parse("a 1\n", None).unwrap_err().starts_with("1: `a 1` has no time"));
        assert!(parse("a{b=\"c\" 1 5\n", None).is_err());
    }
}
