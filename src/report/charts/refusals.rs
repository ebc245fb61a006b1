//! 529 rate by reason over time.

use super::data::{Refusals, RefusalsData, Sample, TimeFrame, Unit};
use super::ink::Ink;
use super::page::{Entry, Page};
use super::panel::value_axis;
use super::scene::{Figure, Scene, Stroke};
use super::style::Key;
use super::thin::Join;
use super::timeline::{LEFT, Timeline, quantity};

/// Overload responses as a share of attempts, stacked by reason.
pub fn refusals(data: &RefusalsData) -> Figure {
    let mut page = Page::new(&data.heading);
    let mut timeline = Timeline::new(&mut page, &data.time, LEFT);
    draw(&mut page, &mut timeline, &data.time, &data.refusals, 300.0, true);
    page.finish(&data.heading)
}

const CAPTION: &str = "529 rate by reason, of attempts";

/// The panel.
pub(super) fn draw(page: &mut Page, timeline: &mut Timeline<'_>, time: &TimeFrame, data: &Refusals, height: f64, last: bool) {
    let columns = timeline.axis().scale.px_hi - timeline.axis().scale.px_lo;
    let bins = merged(time, data, columns as usize);
    if bins.is_empty() || data.reasons.is_empty() {
        return timeline.empty(page, CAPTION, height);
    }
    let legend: Vec<Entry> =
        data.reasons.iter().enumerate().map(|(i, reason)| (Key::Fill(Ink::Fill(i)), reason.name.clone())).collect();
    let top = stacked(&bins, data.reasons.len());
    let highest = top.iter().map(|p| p[1]).filter(|v| v.is_finite()).fold(0.0, f64::max);
    let axis = value_axis(&quantity("", Unit::Share), Some((0.0, highest)), height);
    let panel = timeline.panel(page, (CAPTION, &legend), axis, height);
    // From the highest level of the stack down: each area covers what lies below it.
    for level in (1..=data.reasons.len()).rev() {
        let curve = stacked(&bins, level);
        let nothing = curve.iter().zip(stacked(&bins, level - 1)).all(|(a, b)| a[1].is_nan() || a[1] <= b[1]);
        if !nothing {
            panel.under(&mut page.scene, &curve, Join::Step, Ink::Fill(level - 1), 1.0);
            if bins.len() as f64 <= columns / 6.0 {
                panel.curve(&mut page.scene, &curve, Join::Step, Stroke::solid(Ink::Paper, 0.8));
            }
        }
    }
    if highest > 0.0 {
        panel.curve(&mut page.scene, &top, Join::Step, Stroke::solid(Ink::Text, 0.9));
    } else {
        none_refused(&mut page.scene, &panel);
    }
    timeline.close(page, &panel, last);
}

fn none_refused(scene: &mut Scene, panel: &super::panel::Panel) {
    let at = (panel.rect.x + panel.rect.w / 2.0, panel.rect.y + panel.rect.h / 2.0 + 4.0);
    super::panel::label(scene, at, "no attempt was refused", super::scene::Anchor::Middle, Ink::Muted);
}

/// A bin: its start and its shares by reason.
type Bin = (f64, Vec<f64>);

/// The bins; where several fall on one pixel column, the one that refused most.
fn merged(time: &TimeFrame, data: &Refusals, columns: usize) -> Vec<(f64, Vec<f64>)> {
    let width = (time.end - time.start) / columns.max(1) as f64;
    let mut bins: Vec<Bin> = Vec::new();
    let mut column = f64::NAN;
    for (i, &start) in data.bins.iter().enumerate().filter(|(_, start)| start.is_finite()) {
        let shares: Vec<f64> = data.reasons.iter().map(|reason| reason.shares.get(i).copied().unwrap_or(f64::NAN)).collect();
        let place = ((start - time.start) / width).floor();
        match bins.last_mut() {
            Some(last) if place == column && data.bins.len() > columns => {
                if total(&shares) > total(&last.1) || total(&last.1).is_nan() {
                    last.1 = shares;
                }
            }
            _ => bins.push((start, shares)),
        }
        column = place;
    }
    if bins.iter().all(|(_, shares)| total(shares).is_nan()) { Vec::new() } else { bins }
}

/// Sum of the known shares; NaN where none is known.
fn total(shares: &[f64]) -> f64 {
    let mut known = shares.iter().filter(|share| share.is_finite()).peekable();
    if known.peek().is_none() { f64::NAN } else { known.sum() }
}

/// The sum of the first `level` reasons over time.
fn stacked(bins: &[(f64, Vec<f64>)], level: usize) -> Vec<Sample> {
    let height = |shares: &[f64]| if total(shares).is_nan() { f64::NAN } else { total(&shares[..level]).max(0.0) };
    bins.iter().map(|(start, shares)| [*start, height(shares)]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::data::Reason;
    use super::*;

    fn data(bins: usize, share: impl Fn(usize) -> f64) -> Refusals {
        Refusals {
            bins: (0..bins).map(|i| i as f64).collect(),
            reasons: vec![Reason { name: "all_workers_busy".into(), shares: (0..bins).map(share).collect() }],
        }
    }

    #[test]
    fn merging_bins_keeps_the_worst_of_each_column() {
        let time = TimeFrame { start: 0.0, end: 100_000.0, marks: Vec::new() };
        let bins = merged(&time, &data(100_000, |i| if i == 77_777 { 0.9 } else { 0.01 }), 800);
        assert_eq!(bins.len(), 800);
        assert!(bins.iter().any(|(_, shares)| shares[0] == 0.9));
    }

    #[test]
    fn bins_without_attempts_leave_a_gap_and_nothing_at_all_is_no_data() {
        let time = TimeFrame { start: 0.0, end: 3.0, marks: Vec::new() };
        let bins = merged(&time, &data(3, |i| if i == 1 { f64::NAN } else { 0.5 }), 800);
        assert!(stacked(&bins, 1)[1][1].is_nan());
        assert!(merged(&time, &data(3, |_| f64::NAN), 800).is_empty());
    }

    #[test]
    fn the_stack_adds_up() {
        let bins = vec![(0.0, vec![0.25, 0.5])];
        assert_eq!([0, 1, 2].map(|level| stacked(&bins, level)[0][1]), [0.0, 0.25, 0.75]);
    }
}
