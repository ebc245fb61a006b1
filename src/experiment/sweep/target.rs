//! Targets such as `rate_529<=1%` and stopping rules such as `rate_529=0.002`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::measure_table::{MEASURES, Measure, MeasureUnit};
use crate::units::Span;

use super::range::Refusal;

/// A bound on a measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// Name of the measure.
    pub measure: String,
    /// Whether values at or above the bound are good; else those at or below.
    pub at_least: bool,
    /// The bound, in the measure's base unit.
    pub value: f64,
    /// As it was written.
    pub text: String,
}

/// What the interval of a cell says of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The whole interval meets it.
    Met,
    /// The mean meets it, but the interval does not.
    Likely,
    /// The mean misses it.
    Missed,
}

impl Target {
    /// Reads `measure<=value` or `measure>=value`; shares may be in percent, latencies have a unit.
    ///
    /// # Errors
    /// What is wrong, and a hint.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let hint = || "a target is `measure<=value` or `measure>=value`, such as `rate_529<=1%` or `ttft_p99<=2s`".to_owned();
        let split = |mark| text.split_once(mark);
        let (name, at_least, value) = match (split("<="), split(">=")) {
            (Some((name, value)), None) => (name, false, value),
            (None, Some((name, value))) => (name, true, value),
            _ => return Err((format!("`{text}` is no target"), hint())),
        };
        let measure = find(name.trim())?;
        let value = amount(measure.unit, measure.name, value.trim())?;
        always_met(measure.unit, at_least, value, text)?;
        Ok(Self { measure: measure.name.to_owned(), at_least, value, text: text.split_whitespace().collect() })
    }

    /// Place of its measure in the table.
    pub fn place(&self) -> usize {
        Measure::place(&self.measure).unwrap_or(0)
    }

    /// Whether `value` meets it.
    pub fn holds(&self, value: f64) -> bool {
        if self.at_least { value >= self.value } else { value <= self.value }
    }

    /// What a mean with its interval says.
    pub fn verdict(&self, mean: f64, interval: Option<(f64, f64)>) -> Verdict {
        let worst = interval.map(|(low, high)| if self.at_least { low } else { high });
        match (self.holds(mean), worst) {
            (false, _) => Verdict::Missed,
            (true, Some(worst)) if self.holds(worst) => Verdict::Met,
            (true, _) => Verdict::Likely,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// When a cell has enough replications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Precision {
    /// Name of the measure.
    pub measure: String,
    /// Half-width of its 95 % interval that is narrow enough, in the measure's unit.
    pub half_width: f64,
}

impl Precision {
    /// Reads `measure=value`.
    ///
    /// # Errors
    /// What is wrong, and a hint.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let hint = || "give `measure=value`, such as `rate_529=0.002` or `ttft_p99=100ms`".to_owned();
        let (name, value) = text.split_once('=').ok_or_else(|| (format!("`{text}` is no half-width"), hint()))?;
        let measure = find(name.trim())?;
        let half_width = amount(measure.unit, measure.name, value.trim())?;
        if half_width <= 0.0 {
            return Err((format!("`{text}` can never be reached"), "give a half-width above 0".to_owned()));
        }
        Ok(Self { measure: measure.name.to_owned(), half_width })
    }
}

/// The measure called `name`.
///
/// # Errors
/// There is none; the hint names the nearest, or all.
pub fn find(name: &str) -> Result<&'static Measure, Refusal> {
    Measure::find(name).ok_or_else(|| {
        let score = |m: &&Measure| strsim::normalized_damerau_levenshtein(&name.to_lowercase(), m.name);
        let near = MEASURES.iter().filter(|m| score(m) >= 0.6).max_by(|a, b| score(a).total_cmp(&score(b)));
        let all = || format!("measures are {}", MEASURES.iter().map(|m| format!("`{}`", m.name)).collect::<Vec<_>>().join(", "));
        (format!("`{name}` is no measure"), near.map_or_else(all, |m| format!("did you mean `{}`?", m.name)))
    })
}

/// Refuses a bound that every run keeps.
///
/// # Errors
/// That it does, and what to write instead.
pub(in crate::experiment) fn always_met(unit: MeasureUnit, at_least: bool, value: f64, text: &str) -> Result<(), Refusal> {
    let always = matches!(unit, MeasureUnit::Share) && !at_least && value >= 1.0;
    let hint = || "give the greatest share that is still good, such as `rate_529<=1%`".to_owned();
    if always { Err((format!("`{text}`: every run meets it"), hint())) } else { Ok(()) }
}

/// A value of the measure `name` in its base unit.
///
/// # Errors
/// What is wrong, and a hint.
pub(in crate::experiment) fn amount(unit: MeasureUnit, name: &str, text: &str) -> Result<f64, Refusal> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    let (read, expected) = match unit {
        MeasureUnit::Seconds => (text.parse::<Span>().ok().map(Span::as_secs_f64), "a duration such as `2s` or `250ms`"),
        MeasureUnit::Share => {
            let percent = text.strip_suffix('%').and_then(number).map(|x| x / 100.0);
            // A bare 1 is 1 % to some and 100 % to others, and the answers are far apart.
            if let Some(bare) = number(text).filter(|x| (1.0..=100.0).contains(x)) {
                let hint = format!("write `{bare}%` or `{}`", bare / 100.0);
                return Err((format!("`{text}` is no value of `{name}`: a share without `%` is below 1"), hint));
            }
            (percent.or_else(|| number(text)).filter(|x| (0.0..=1.0).contains(x)), "a share such as `0.01` or `1%`")
        }
        MeasureUnit::PerSecond | MeasureUnit::Count => (number(text), "a number"),
    };
    read.ok_or_else(|| (format!("`{text}` is no value of `{name}`"), format!("expected {expected}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_read_percent_and_durations() {
        let target = Target::parse("rate_529 <= 1%").unwrap();
        assert_eq!((target.value, target.at_least, target.text.as_str()), (0.01, false, "rate_529<=1%"));
        assert_eq!(Target::parse("ttft_p99<=2s").unwrap().value, 2.0);
        assert!(Target::parse("goodput>=10").unwrap().at_least);
        assert_eq!(Target::parse("rate_592<=1%").unwrap_err().1, "did you mean `rate_529`?");
        assert_eq!(Target::parse("ttft_p99<=2").unwrap_err().0, "`2` is no value of `ttft_p99`");
        assert!(Target::parse("rate_529=1").is_err() && Target::parse("rate_529<=150%").is_err());
        assert!(Precision::parse("rate_529=0").is_err());
        let refused = Target::parse("rate_529<=1").unwrap_err();
        assert_eq!(refused.0, "`1` is no value of `rate_529`: a share without `%` is below 1");
        assert_eq!(refused.1, "write `1%` or `0.01`");
        assert_eq!(Target::parse("rate_529<=100%").unwrap_err().0, "`rate_529<=100%`: every run meets it");
        assert_eq!(Target::parse("slo_share>=100%").unwrap().value, 1.0);
    }

    #[test]
    fn a_verdict_needs_the_whole_interval() {
        let target = Target::parse("rate_529<=0.01").unwrap();
        assert_eq!(target.verdict(0.005, Some((0.002, 0.009))), Verdict::Met);
        assert_eq!(target.verdict(0.005, Some((0.002, 0.02))), Verdict::Likely);
        assert_eq!(target.verdict(0.005, None), Verdict::Likely);
        assert_eq!(target.verdict(0.02, Some((0.0, 0.04))), Verdict::Missed);
    }
}
