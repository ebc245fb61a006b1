//! Targets of a plan: those of sweeps, any quantile of a latency, and all of them by class.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::measure_table::{LatencyQuantile, Measure, MeasureUnit, Taken};
use crate::experiment::result::RunResult;
use crate::experiment::sweep::range::Refusal;
use crate::experiment::sweep::target::{always_met, amount, find};
use crate::stats::RankRule;

use super::record::Batch;

/// A bound on a measure, over all requests or those of a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goal {
    /// The class whose requests count; `None` counts all.
    pub class: Option<String>,
    /// Name of the measure.
    pub measure: String,
    /// Whether values at or above the bound are good; else those at or below.
    pub at_least: bool,
    /// The bound, in the measure's base unit.
    pub value: f64,
    /// As it was written.
    pub text: String,
}

impl Goal {
    /// Reads `measure<=value` or `measure>=value`, with `class:` before it for one class.
    ///
    /// # Errors
    /// What is wrong, and a hint.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let hint = || {
            "a target is `measure<=value` or `measure>=value`, such as `rate_529<=0.1%`, `tpot_p95<=50ms` or \
             `chat:slo_share>=99%` for one class"
                .to_owned()
        };
        let (left, at_least, value) = match (text.split_once("<="), text.split_once(">=")) {
            (Some((left, value)), None) => (left, false, value),
            (None, Some((left, value))) => (left, true, value),
            _ => return Err((format!("`{text}` is no target"), hint())),
        };
        let (class, name) = match left.rsplit_once(':') {
            Some((class, name)) => (Some(class.trim().to_owned()), name.trim()),
            None => (None, left.trim()),
        };
        let unit = if LatencyQuantile::find(name).is_some() { MeasureUnit::Seconds } else { find(name)?.unit };
        let value = amount(unit, name, value.trim())?;
        always_met(unit, at_least, value, text)?;
        let goal = Self { class, measure: name.to_owned(), at_least, value, text: text.split_whitespace().collect() };
        goal.check().map(|()| goal)
    }

    /// What no number of runs can show.
    fn check(&self) -> Result<(), Refusal> {
        let share = Measure::find(&self.measure).is_some_and(|m| matches!(m.unit, MeasureUnit::Share));
        if share && ((!self.at_least && self.value <= 0.0) || (self.at_least && self.value >= 1.0)) {
            let hint = "say how rare is rare enough, such as `rate_529<=0.01%` or `slo_share>=99.99%`";
            return Err((
                format!("`{}`: that something never happens cannot be shown by any number of runs", self.text),
                hint.to_owned(),
            ));
        }
        if self.quantile().is_some() && self.value <= 0.0 {
            return Err((format!("`{}`: nothing takes no time", self.text), "give a time above 0".to_owned()));
        }
        Ok(())
    }

    /// The quantile it bounds, if it bounds one.
    pub fn quantile(&self) -> Option<LatencyQuantile> {
        LatencyQuantile::find(&self.measure)
    }

    /// Unit of its value.
    pub fn unit(&self) -> MeasureUnit {
        Measure::find(&self.measure).map_or(MeasureUnit::Seconds, |measure| measure.unit)
    }

    /// The measure for people.
    pub fn label(&self) -> String {
        let label = match Measure::find(&self.measure) {
            Some(measure) => measure.label.split(" (").next().unwrap_or(measure.label).to_owned(),
            None => quantile_label(&self.measure),
        };
        self.class.as_ref().map_or(label.clone(), |class| format!("{label} of class {class}"))
    }

    /// What its measure is in a run (or in a part of one: see [`Self::batch`]); `None` where the run has none.
    pub fn figure(&self, result: &RunResult, rule: RankRule) -> Option<f64> {
        match (Measure::find(&self.measure), self.quantile()) {
            (Some(measure), _) => measure.take(result, rule).value(),
            (None, quantile) => quantile?.take(result, rule),
        }
    }

    /// What the run, or the part of a run that stands in its place, says of the target: hits and trials, or a value with the
    /// length of the part in seconds. A quantile is judged by the share of requests beyond the bound.
    pub fn batch(&self, result: &RunResult, rule: RankRule) -> Option<Batch> {
        if let Some(quantile) = self.quantile() {
            let (slower, all) = quantile.slower(result, self.value);
            return Some(Batch::Share([slower, all]));
        }
        match Measure::find(&self.measure)?.take(result, rule) {
            Taken::Share(hits, trials) => Some(Batch::Share([hits, trials])),
            Taken::Value(value) => value.map(|value| Batch::Value([value, result.total.span.as_secs_f64()])),
        }
    }

    /// Whether the measure can be told of a part of a run; else only of the whole.
    pub fn has_parts(&self) -> bool {
        self.class.is_none() && !self.measure.starts_with("update_lag") && self.measure != "preemptions"
    }

    /// What is tested: the bound of a quantile becomes one on the share of slower requests. With the sense `at_least`.
    pub fn tested(&self) -> (f64, bool) {
        self.quantile().map_or((self.value, self.at_least), |quantile| (1.0 - quantile.share, self.at_least))
    }

    /// Whether a tested value meets the target.
    pub fn holds(&self, tested: f64) -> bool {
        let (bound, at_least) = self.tested();
        if at_least { tested >= bound } else { tested <= bound }
    }

    /// By how much of the bound a tested value misses it; negative where it meets it.
    pub fn excess(&self, tested: f64) -> f64 {
        let (bound, at_least) = self.tested();
        let over = if at_least { bound - tested } else { tested - bound };
        over / bound.abs().max(1e-9)
    }

    /// How rare the events are that decide: the share of requests whose number must be known well.
    pub fn rarity(&self) -> f64 {
        let (bound, _) = self.tested();
        let share = self.quantile().is_some() || matches!(self.unit(), MeasureUnit::Share);
        if share { bound.min(1.0 - bound) } else { 0.01 }
    }

    /// Whether no value can meet both.
    pub fn contradicts(&self, other: &Self) -> bool {
        let opposed = self.class == other.class && self.measure == other.measure && self.at_least != other.at_least;
        let (low, high) = if self.at_least { (self, other) } else { (other, self) };
        opposed && low.value > high.value
    }
}

/// `p95 time per output token` of `tpot_p95`.
fn quantile_label(measure: &str) -> String {
    let (latency, percent) = measure.split_once("_p").unwrap_or((measure, ""));
    let latency = match latency {
        "ttft" => "time to first token",
        "tpot" => "time per output token",
        "e2e" => "end-to-end time",
        _ => "wait for an engine slot",
    };
    format!("p{percent} {latency}")
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_take_classes_and_any_quantile() {
        let goal = Goal::parse("chat:tpot_p95 <= 50ms").unwrap();
        assert_eq!(
            (goal.class.as_deref(), goal.measure.as_str(), goal.value, goal.at_least),
            (Some("chat"), "tpot_p95", 0.05, false)
        );
        assert!((goal.tested().0 - 0.05).abs() < 1e-12 && goal.rarity() > 0.04);
        assert_eq!(Goal::parse("rate_529<=0.1%").unwrap().tested(), (0.001, false));
        assert_eq!(Goal::parse("rate_592<=1%").unwrap_err().1, "did you mean `rate_529`?");
        assert!(
            Goal::parse("tpot_p95<=50").is_err() && Goal::parse("tpot_p995<=5ms").is_err() && Goal::parse("rate_529=1%").is_err()
        );
    }

    #[test]
    fn what_no_run_can_show_or_every_run_meets_is_refused() {
        for text in ["rate_529<=1", "rate_529<=100%", "rate_529<=0%", "slo_share>=100%", "ttft_p99<=0s"] {
            assert!(Goal::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn contradictions_are_seen() {
        let goal = |text| Goal::parse(text).unwrap();
        assert!(goal("rate_529<=1%").contradicts(&goal("rate_529>=2%")));
        assert!(goal("rate_529>=2%").contradicts(&goal("rate_529<=1%")));
        assert!(!goal("rate_529>=1%").contradicts(&goal("rate_529<=2%")));
        assert!(!goal("a:rate_529<=1%").contradicts(&goal("rate_529>=2%")));
    }

    #[test]
    fn the_excess_is_relative_to_the_bound() {
        let goal = Goal::parse("rate_529<=1%").unwrap();
        assert!((goal.excess(0.02) - 1.0).abs() < 1e-9 && goal.excess(0.005) < 0.0);
        assert!((Goal::parse("goodput>=10").unwrap().excess(5.0) - 0.5).abs() < 1e-9);
    }
}
