//! Rank loads against the thresholds they are compared with.

use super::data::{Band, LoadPanel, Loads, LoadsData, Quantity, Sample, Spread, Unit};
use super::ink::Ink;
use super::page::{Entry, Page};
use super::panel::value_axis;
use super::scene::{Figure, Stroke};
use super::style::{BAND_OPACITY, Key, curve, limit};
use super::thin::{Join, range};
use super::timeline::{LEFT, Timeline, quantity};

/// Most ranks drawn one by one: in a figure of their own, and in the small panels of the overview.
pub(super) const FEW: (usize, usize) = (8, 2);

/// Decode blocks and prefill tokens per rank, with the thresholds as they were posted.
pub fn loads(data: &LoadsData) -> Figure {
    let mut page = Page::new(&data.heading);
    let mut timeline = Timeline::new(&mut page, &data.time, LEFT);
    draw(&mut page, &mut timeline, &data.loads, (210.0, FEW.0), true);
    page.finish(&data.heading)
}

/// The panels there are data for; "no data" where there are none at all.
pub(super) fn draw(page: &mut Page, timeline: &mut Timeline<'_>, data: &Loads, (height, few): (f64, usize), last: bool) {
    let decode = quantity("decode: KV blocks in use per rank", Unit::Share);
    let prefill = quantity("prefill: active prefill tokens per rank", Unit::Number);
    match (&data.decode, &data.prefill) {
        (None, None) => timeline.empty(page, "rank loads against thresholds", height),
        (Some(only), None) => one(page, timeline, (&decode, only), (height, few), last),
        (None, Some(only)) => one(page, timeline, (&prefill, only), (height, few), last),
        (Some(blocks), Some(tokens)) => {
            one(page, timeline, (&decode, blocks), (height, few), false);
            one(page, timeline, (&prefill, tokens), (height, few), last);
        }
    }
}

fn one(
    page: &mut Page,
    timeline: &mut Timeline<'_>,
    (measure, data): (&Quantity, &LoadPanel),
    (height, few): (f64, usize),
    last: bool,
) {
    let each: &[_] = match &data.load {
        Spread::Each(curves) if curves.len() <= few => curves,
        _ => &[],
    };
    let band = if each.is_empty() { banded(&data.load) } else { Band::default() };
    let drawn = each.iter().map(|c| c.points.as_slice()).chain([band.high.as_slice(), &band.mean]);
    let Some((_, highest)) = range(drawn) else {
        return timeline.empty(page, &measure.label, height);
    };
    let lines = || data.thresholds.iter().map(|line| line.points.as_slice());
    let reach = range(lines())
        .map_or(highest, |(_, hi)| if hi > 4.0 * highest.max(1e-9) && highest > 0.0 { highest } else { hi.max(highest) });
    let legend = legend(data, each.iter().map(|c| c.name.as_str()), reach);
    let panel = timeline.panel(page, (&measure.label, &legend), value_axis(measure, Some((0.0, reach)), height), height);
    let stroke = Stroke::solid(Ink::Series(0), 1.6);
    panel.between(&mut page.scene, &band.low, &band.high, Join::Step, stroke.ink, BAND_OPACITY);
    panel.curve(&mut page.scene, &band.mean, Join::Step, stroke);
    for (i, rank) in each.iter().enumerate() {
        panel.curve(&mut page.scene, &rank.points, Join::Step, Stroke { width: 1.4, ..curve(i) });
    }
    for (i, line) in data.thresholds.iter().enumerate() {
        let above = |value: f64| value > panel.y.scale.hi;
        let shown: Vec<Sample> = line.points.iter().map(|[at, v]| [*at, if above(*v) { f64::NAN } else { *v }]).collect();
        panel.curve(&mut page.scene, &shown, Join::Step, Stroke { width: 1.9, ..limit(i) });
    }
    timeline.close(page, &panel, last);
}

fn legend<'a>(data: &LoadPanel, ranks: impl Iterator<Item = &'a str>, reach: f64) -> Vec<Entry> {
    let mut legend: Vec<Entry> = ranks.enumerate().map(|(i, name)| (Key::Line(curve(i)), name.to_owned())).collect();
    if legend.is_empty() {
        legend.push((Key::Band(Stroke::solid(Ink::Series(0), 1.6)), "lowest, mean and highest rank".to_owned()));
    }
    for (i, line) in data.thresholds.iter().enumerate() {
        let far = range([line.points.as_slice()]).is_some_and(|(lo, _)| lo > reach * 1.5);
        legend.push((Key::Line(limit(i)), if far { format!("{}, above the axis", line.name) } else { line.name.clone() }));
    }
    legend
}

/// Lowest, mean and highest member at each instant at which any of them changes.
pub(super) fn banded(spread: &Spread) -> Band {
    let curves = match spread {
        Spread::Band(band) => return band.clone(),
        Spread::Each(curves) => curves,
    };
    let mut instants: Vec<f64> = curves.iter().flat_map(|c| c.points.iter().map(|p| p[0])).filter(|at| at.is_finite()).collect();
    instants.sort_by(f64::total_cmp);
    instants.dedup();
    let mut next = vec![0; curves.len()];
    let mut band = Band::default();
    for at in instants {
        let (mut low, mut high, mut sum, mut known) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0);
        for (curve, next) in curves.iter().zip(&mut next) {
            while curve.points.get(*next).is_some_and(|p| p[0] <= at) {
                *next += 1;
            }
            let value = if *next == 0 { f64::NAN } else { curve.points[*next - 1][1] };
            if value.is_finite() {
                (low, high, sum, known) = (low.min(value), high.max(value), sum + value, known + 1.0);
            }
        }
        let or_gap = |value: f64| if known > 0.0 { value } else { f64::NAN };
        band.low.push([at, or_gap(low)]);
        band.mean.push([at, or_gap(sum / known)]);
        band.high.push([at, or_gap(high)]);
    }
    band
}

#[cfg(test)]
mod tests {
    use super::super::data::Curve;
    use super::*;

    #[test]
    fn a_band_holds_each_members_last_value() {
        let curve = |points: &[Sample]| Curve { name: String::new(), points: points.to_vec() };
        let band = banded(&Spread::Each(vec![curve(&[[0.0, 1.0], [2.0, 5.0]]), curve(&[[1.0, 3.0], [3.0, f64::NAN]])]));
        assert_eq!(band.low, [[0.0, 1.0], [1.0, 1.0], [2.0, 3.0], [3.0, 5.0]]);
        assert_eq!(band.mean, [[0.0, 1.0], [1.0, 2.0], [2.0, 4.0], [3.0, 5.0]]);
        assert_eq!(band.high, [[0.0, 1.0], [1.0, 3.0], [2.0, 5.0], [3.0, 5.0]]);
    }
}
