//! The figures of a plan: the search path, the margin, and the front.

use crate::experiment::measure_table::Measure;
use crate::experiment::plan::{Answer, Goal, Looked, Quest};
use crate::report::charts::data::{
    Heading, ParetoData, ParetoPoint, Sense, SweepData, SweepPanel, SweepPoint, SweepSeries, Target,
};
use crate::report::charts::{Figure, pareto, sweep_line};
use crate::report::sweep::axes::{bound_of, quantity, quantity_of, short, x_of};

use super::{text, words};

/// A figure with the name of its file, without ending.
#[derive(Debug)]
pub struct PlanFigure {
    /// `charts/search-path-rate_529`.
    pub name: String,
    /// The figure.
    pub figure: Figure,
}

/// All figures that the plan's question asks for; none of a plan that ran nothing.
pub fn plan_figures(answer: &Answer) -> Vec<PlanFigure> {
    if answer.looked.is_empty() {
        return Vec::new();
    }
    let mut figures: Vec<PlanFigure> = Vec::new();
    let mut add = |name: String, figure: Figure| figures.push(PlanFigure { name, figure });
    if matches!(answer.description.quest, Quest::Fewest { .. } | Quest::Most { .. }) {
        for (place, goal) in answer.description.goals.iter().enumerate() {
            add(format!("charts/search-path-{}", file_name(goal)), search_path(answer, place));
        }
    } else {
        for (place, goal) in answer.description.goals.iter().enumerate() {
            add(format!("charts/front-{}", file_name(goal)), front(answer, place));
        }
    }
    add("charts/margin".to_owned(), margin(answer));
    figures
}

/// A target as part of a file's name.
fn file_name(goal: &Goal) -> String {
    let class = goal.class.as_ref().map_or(String::new(), |class| format!("{class}-"));
    format!("{class}{}", goal.measure).chars().map(|c| if c.is_alphanumeric() || "-_".contains(c) { c } else { '_' }).collect()
}

fn heading(answer: &Answer, what: &str) -> Heading {
    let title = text::headline(answer);
    let runs = format!("{what}; {} runs of {} cells, seed {}", answer.runs(), answer.looked.len(), answer.description.seed);
    Heading { title, subtitle: runs, ..Heading::default() }
}

/// What the intervals are.
fn interval_words(answer: &Answer) -> String {
    format!("mean, {:.1} % interval of one look", 100.0 * answer.description.look_level())
}

/// What is drawn of a target: the measure, or of a quantile the share of requests beyond its bound.
fn drawn(goal: &Goal) -> (crate::report::charts::data::Quantity, Target) {
    let (bound, at_least) = goal.tested();
    let sense = if at_least { Sense::AtLeast } else { Sense::AtMost };
    let unit = if goal.quantile().is_some() { crate::experiment::measure_table::MeasureUnit::Share } else { goal.unit() };
    let label = match goal.quantile() {
        Some(_) => format!("requests beyond the bound of `{}`", goal.text),
        None => goal.label(),
    };
    (quantity_of(unit, &label), Target { value: bound, sense, label: format!("target: {}", bound_of(at_least, bound, unit)) })
}

/// What each cell that was looked at shows of a target, along the line.
fn search_path(answer: &Answer, place: usize) -> Figure {
    let d = &answer.description;
    let (axis, goal) = (&d.grid.axes[0], &d.goals[place]);
    let point = |looked: &Looked| {
        let judged = &looked.judgement.goals[place];
        let (low, high) = judged.interval.unwrap_or((f64::NAN, f64::NAN));
        SweepPoint { x: x_of(axis, looked.cell), mean: judged.tested.unwrap_or(f64::NAN), low, high }
    };
    let mut points: Vec<SweepPoint> = answer.looked.iter().map(point).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let (mut measure, target) = drawn(goal);
    let means = || points.iter().map(|p| p.mean).filter(|mean| mean.is_finite());
    let (low, high) = (means().fold(f64::INFINITY, f64::min), means().fold(0.0, f64::max));
    measure.log = low > 0.0 && high / low > 20.0;
    let series = vec![SweepSeries { name: String::new(), points }];
    let interval = interval_words(answer);
    sweep_line(&SweepData {
        heading: heading(answer, &format!("each value of {} that was looked at", short(axis))),
        x: quantity(axis),
        panel: SweepPanel { measure, series, target: Some(target), interval },
    })
}

/// How much of each bound the answer and the next worse choice use; 1 is the bound.
fn margin(answer: &Answer) -> Figure {
    let d = &answer.description;
    let cells: Vec<usize> = answer.chosen.into_iter().chain(answer.next).collect();
    let series = cells.iter().filter_map(|cell| Some((*cell, answer.judgement(*cell)?))).map(|(cell, judgement)| {
        let points = d.goals.iter().zip(&judgement.goals).enumerate().map(|(place, (goal, judged))| {
            let used = |value: f64| 1.0 + goal.excess(value);
            let (low, high) = judged.interval.map_or((f64::NAN, f64::NAN), |(low, high)| (used(low), used(high)));
            let mean = judged.tested.map_or(f64::NAN, used);
            SweepPoint { x: place as f64, mean, low: low.min(high), high: low.max(high) }
        });
        SweepSeries { name: words::cell(d, cell), points: points.collect() }
    });
    let mut targets = quantity_of(crate::experiment::measure_table::MeasureUnit::Count, "target");
    targets.categories = d.goals.iter().map(|goal| goal.text.clone()).collect();
    let measure = quantity_of(crate::experiment::measure_table::MeasureUnit::Count, "share of the bound that is used");
    let target = Target { value: 1.0, sense: Sense::AtMost, label: "the bound".to_owned() };
    let interval = interval_words(answer);
    sweep_line(&SweepData {
        heading: heading(answer, "how much of each target's bound is used, by the answer and by the next worse choice"),
        x: targets,
        panel: SweepPanel { measure, series: series.collect(), target: Some(target), interval },
    })
}

/// A target against what is wanted, cost or the objective: the cells that no other beats in both.
fn front(answer: &Answer, place: usize) -> Figure {
    let d = &answer.description;
    let goal = &d.goals[place];
    let (wanted, sign) = match &d.quest {
        Quest::Best { measure } => {
            let found = Measure::find(measure);
            let higher = found.is_some_and(|m| m.better == crate::experiment::measure_table::Better::Higher);
            let unit = found.map_or(crate::experiment::measure_table::MeasureUnit::Count, |m| m.unit);
            (quantity_of(unit, measure), if higher { -1.0 } else { 1.0 })
        }
        _ => (quantity_of(crate::experiment::measure_table::MeasureUnit::Count, "cost of the fleet"), 1.0),
    };
    let value = |cell: usize| match &d.quest {
        Quest::Best { measure } => mean_of(answer, cell, measure),
        _ => d.quest.cost(cell),
    };
    let known: Vec<(usize, f64, f64)> = answer
        .looked
        .iter()
        .filter_map(|looked| Some((looked.cell, looked.judgement.goals[place].tested?, value(looked.cell)?)))
        .collect();
    let toward = if goal.at_least { -1.0 } else { 1.0 };
    let beaten = |x: f64, y: f64| {
        let no_worse = |(_, a, b): &&(usize, f64, f64)| toward * *a <= toward * x && sign * *b <= sign * y;
        known.iter().filter(no_worse).any(|(_, a, b)| *a != x || *b != y)
    };
    let points = known.iter().map(|(cell, x, y)| ParetoPoint {
        x: *x,
        y: *y,
        label: d.grid.axes.iter().zip(d.grid.places(*cell)).map(|(axis, at)| axis.label(at)).collect::<Vec<_>>().join(", "),
        on_front: !beaten(*x, *y),
        chosen: Some(*cell) == answer.chosen,
    });
    let (measure, target) = drawn(goal);
    pareto(&ParetoData {
        heading: heading(answer, "every cell that was looked at"),
        x: measure,
        y: wanted,
        point_label: d.grid.axes.iter().map(|axis| words::axis(d, axis)).collect::<Vec<_>>().join(", "),
        points: points.collect(),
        x_target: Some(target),
        y_target: None,
    })
}

fn mean_of(answer: &Answer, cell: usize, measure: &str) -> Option<f64> {
    let runs = answer.records.iter().filter(|record| record.key.variant == 0 && record.key.cell == cell);
    let values: Vec<f64> = runs.filter_map(|record| record.value(measure)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
