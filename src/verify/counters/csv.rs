//! CSV over time: a column for the time and one for each series, or one row for each sample with the columns `metric` and `value`.

use super::Counters;
use super::exposition::name;
use crate::control::metrics;

const TIME: &[&str] = &["time", "timestamp", "t", "ts", "seconds", "date"];
/// Numeric times from here on count in milliseconds.
const MILLISECONDS: f64 = 1e11;
/// Short names of columns.
const SHORT: &[(&str, &str)] = &[
    ("requests", metrics::REQUESTS_STARTED_TOTAL.name),
    ("attempts", metrics::REQUESTS_STARTED_TOTAL.name),
    ("refused", metrics::MODEL_REJECTION_TOTAL.name),
    ("rejections", metrics::MODEL_REJECTION_TOTAL.name),
    ("slots", metrics::ENGINE_REQUEST.name),
    ("queue", metrics::REQUEST_QUEUE.name),
    ("decode_blocks", metrics::WORKER_ACTIVE_DECODE_BLOCKS.name),
    ("prefill_tokens", metrics::WORKER_ACTIVE_PREFILL_TOKENS.name),
];

/// Whether a line is the header of such a file.
pub(super) fn is_header(line: &str) -> bool {
    line.split(',').any(|field| is_time(field.trim().trim_matches('"'))) && line.contains(',')
}

fn is_time(field: &str) -> bool {
    TIME.iter().any(|known| field.eq_ignore_ascii_case(known))
}

/// Reads a text; a fault is `line: what`.
pub(super) fn parse(text: &str) -> Result<Counters, String> {
    let mut reader = ::csv::ReaderBuilder::new().trim(::csv::Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().map_err(|e| format!("1: {e}"))?.iter().map(str::to_owned).collect();
    let place = |of: &str| header.iter().position(|h| h.eq_ignore_ascii_case(of));
    let time = header.iter().position(|h| is_time(h)).ok_or("1: there is no column for the time")?;
    let long = place("metric").or_else(|| place("name")).zip(place("value"));
    let mut counters = Counters::default();
    for record in reader.records() {
        let record = record.map_err(|e| format!("{}: {e}", e.position().map_or(0, ::csv::Position::line)))?;
        let line = record.position().map_or(0, ::csv::Position::line);
        let at = seconds(&record[time]).ok_or_else(|| format!("{line}: `{}` is no time", &record[time]))?;
        let value = |field: &str| -> Result<Option<f64>, String> {
            if field.is_empty() {
                return Ok(None);
            }
            field.parse().map(Some).map_err(|_| format!("{line}: `{field}` is no number"))
        };
        if let Some((metric, column)) = long {
            let others = (0..header.len()).filter(|i| ![time, metric, column].contains(i));
            let labels: Vec<String> = others.map(|i| format!("{}={}", header[i], &record[i])).collect();
            let (metric, own) = series(&record[metric]);
            if let Some(value) = value(&record[column])? {
                counters.push(metric, &format!("{own}{}", labels.join(",")), at, value);
            }
            continue;
        }
        for (i, field) in record.iter().enumerate().filter(|(i, _)| *i != time) {
            let (metric, labels) = series(&header[i]);
            if let Some(value) = value(field)? {
                counters.push(metric, labels, at, value);
            }
        }
    }
    Ok(counters)
}

/// Metric and labels of a column such as `dynamo_engine_request{worker_id="1"}`, or of a short name.
fn series(column: &str) -> (&str, &str) {
    if let Some((_, metric)) = SHORT.iter().find(|(short, _)| column.eq_ignore_ascii_case(short)) {
        return (metric, "");
    }
    name(column).map_or((column, ""), |(metric, labels, _)| (metric, labels))
}

/// Seconds of a number (milliseconds where it is that large) or of a date and time.
fn seconds(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse::<f64>() {
        return Some(if number >= MILLISECONDS { number / 1e3 } else { number }).filter(|n| n.is_finite());
    }
    let stamp = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let civil = text.parse::<jiff::civil::DateTime>().ok()?;
        jiff::tz::Offset::UTC.to_timestamp(civil).ok()
    })?;
    Some(stamp.as_nanosecond() as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_files_have_a_column_for_each_series() {
        let text = "Time,dynamo_engine_request{worker_id=\"1\"},queue\n2026-05-01 00:00:00,3,1\n2026-05-01T00:00:15Z,,2\n";
        // A quoted header is needed where a label holds a comma; here none does.
        let counters = parse(&text.replace("{worker_id=\"1\"}", "{worker_id=1}")).unwrap();
        assert_eq!(counters.series[0].metric, "dynamo_engine_request");
        assert_eq!(counters.series[0].points.len(), 1, "an empty field is no sample");
        let queue = &counters.series[1];
        assert_eq!(
            (queue.metric.as_str(), queue.points[1].0 - queue.points[0].0, queue.points[1].1),
            ("dynamo_request_queue", 15.0, 2.0)
        );
    }

    #[test]
    fn long_files_have_a_row_for_each_sample() {
        let counters = parse("timestamp,metric,worker,value\n1000,slots,1,4\n1000,slots,2,5\n1015,slots,1,6\n").unwrap();
        assert_eq!(counters.series.len(), 2);
        assert_eq!(counters.series[0].points, [(1000.0, 4.0), (1015.0, 6.0)]);
    }

    #[test]
    fn faults_name_their_line() {
        assert_eq!(parse("time,queue\n1,2\nx,3\n").unwrap_err(), "3: `x` is no time");
        assert_eq!(parse("time,queue\n1,many\n").unwrap_err(), "2: `many` is no number");
        assert!(is_header("Time,queue") && !is_header("a_total{x=\"y\"} 1 5"));
    }
}
