//! The busy set as a timeline per worker.

use super::data::{BusyData, BusyRow, BusyState, Unit};
use super::font::{Weight, elide_start, width};
use super::ink::Ink;
use super::page::{Entry, LABEL, Page};
use super::panel::{Panel, TITLE_ROOM, label};
use super::scale::Axis;
use super::scene::{Anchor, P, Rect, Stroke};
use super::style::Key;
use super::timeline::{LEFT, Timeline};

/// Most rows.
const ROWS: usize = 64;
/// Most rectangles, which bounds the size of the file: beyond it columns of time get wider.
const RECTANGLES: usize = 12_000;
/// States from the bottom of a row upwards, with ink and name. Neighbours differ in lightness.
const STATES: [(BusyState, Ink, &str); 5] = [
    (BusyState::Decode, Ink::Fill(0), "busy by decode blocks"),
    (BusyState::Mixed, Ink::Fill(2), "busy by both, rank by rank"),
    (BusyState::Prefill, Ink::Fill(1), "busy by prefill tokens"),
    (BusyState::Lease, Ink::Fill(3), "under a lease"),
    (BusyState::Absent, Ink::Frame, "absent or reported down"),
];

/// One bar per worker, or per group of neighbours beyond 64 workers. Where states change within a pixel, or differ within a
/// group, a bar is filled by the share of time of each.
pub fn busy(data: &BusyData) -> super::scene::Figure {
    let mut page = Page::new(&data.heading);
    let group = data.workers.len().div_ceil(ROWS).max(1);
    let rows: Vec<(String, &[BusyRow])> = data.workers.chunks(group).map(|workers| (name(workers), workers)).collect();
    let widest = rows.iter().map(|(name, _)| width(name, LABEL, Weight::Regular)).fold(0.0, f64::max);
    let left = (widest + 32.0).clamp(LEFT, 220.0);
    let mut timeline = Timeline::new(&mut page, &data.time, left);
    if rows.is_empty() {
        timeline.empty(&mut page, "workers", 120.0);
        return page.finish(&data.heading);
    }
    let seen = |state| data.workers.iter().any(|row| row.spans.iter().any(|span| span.state == state));
    let mut legend: Vec<Entry> = vec![(Key::Fill(Ink::Paper), "eligible".to_owned())];
    legend.extend(
        STATES
            .iter()
            .filter(|(state, ..)| seen(*state))
            .map(|(state, ink, name)| (key(*state, *ink, group > 1), (*name).to_owned())),
    );
    page.caption("workers, by what keeps requests from them", &legend, left, page.right());
    timeline.mark_labels(&mut page);
    let pitch = (420.0 / rows.len() as f64).clamp(11.0, 34.0);
    bars(&mut page, &mut timeline, (left, pitch), &rows);
    if group > 1 {
        page.note(&format!(
            "Each row is a group of {group} neighbouring workers: the filled part of its height is their share of time."
        ));
    }
    page.finish(&data.heading)
}

/// Leases and absences fill less of the height than busy states, so that grey print tells them apart.
fn key(state: BusyState, ink: Ink, grouped: bool) -> Key {
    match part(state, grouped) {
        part if part < 1.0 => Key::Low(ink, part),
        _ => Key::Fill(ink),
    }
}

/// How much of a row's height a state fills.
fn part(state: BusyState, grouped: bool) -> f64 {
    match state {
        _ if grouped => 1.0,
        BusyState::Lease => 0.5,
        BusyState::Absent => 0.3,
        BusyState::Decode | BusyState::Prefill | BusyState::Mixed => 1.0,
    }
}

/// The worker's name, or the first and the last name of a group, the last without what both begin with.
fn name(workers: &[BusyRow]) -> String {
    match workers {
        [] => String::new(),
        [only] => only.name.clone(),
        [first, .., last] => {
            let alike = first.name.chars().zip(last.name.chars()).take_while(|(a, b)| a == b).count();
            let common: String = first.name.chars().take(alike).collect();
            let common = common.trim_end_matches(|c: char| c.is_ascii_digit()).chars().count();
            format!("{} – {}", first.name, last.name.chars().skip(common).collect::<String>())
        }
    }
}

fn bars(page: &mut Page, timeline: &mut Timeline<'_>, (left, pitch): (f64, f64), rows: &[(String, &[BusyRow])]) {
    let rect = Rect { x: left, y: page.y, w: page.right() - left, h: pitch * rows.len() as f64 };
    let rows_axis = Axis::exact(0.0, rows.len() as f64, &Unit::Number, 1.0);
    let panel = Panel::new(&mut page.scene, rect, timeline.axis().clone(), Axis { ticks: Vec::new(), ..rows_axis });
    let gap = (pitch * 0.18).min(4.0);
    let mut polygons: Vec<Vec<Vec<P>>> = vec![Vec::new(); STATES.len()];
    let columns = columns(rows, timeline.axis(), rect.w as usize);
    let mut free = f64::NEG_INFINITY;
    for (i, (name, workers)) in rows.iter().enumerate() {
        let top = rect.y + pitch * i as f64;
        let bar = Rect { x: rect.x, y: top + gap / 2.0, w: rect.w, h: pitch - gap };
        page.scene.line((rect.x, top + pitch), (rect.right(), top + pitch), Stroke::solid(Ink::Grid, 0.6));
        row(&panel, workers, bar, columns, &mut polygons);
        if top + pitch / 2.0 - free > LABEL {
            free = top + pitch / 2.0;
            let text = elide_start(name, LABEL, Weight::Regular, left - 28.0);
            label(&mut page.scene, (left - 7.0, free + LABEL * 0.36), &text, Anchor::End, Ink::Muted);
        }
    }
    for (polygons, (_, ink, _)) in polygons.into_iter().zip(STATES) {
        page.scene.fill(polygons, ink, 1.0);
    }
    timeline.mark_lines(&mut page.scene, rect);
    panel.axes(&mut page.scene, true, &timeline.title());
    page.y += rect.h + TITLE_ROOM;
}

/// Columns of time, at most one per pixel and so few that the rectangles stay within their bound.
fn columns(rows: &[(String, &[BusyRow])], axis: &Axis, pixels: usize) -> usize {
    let mut columns = pixels.max(1);
    let count = |columns: usize| -> usize {
        let of_row = |workers: &[BusyRow]| {
            let mut shares = shares(workers, axis.scale.lo, axis.scale.hi, columns);
            shares.dedup();
            shares.iter().flatten().filter(|share| **share > 0).count()
        };
        rows.iter().map(|(_, workers)| of_row(workers)).sum()
    };
    while columns > 32 && count(columns) > RECTANGLES {
        columns = columns * 3 / 4;
    }
    columns
}

/// Rectangles of one row, state by state.
fn row(panel: &Panel, workers: &[BusyRow], bar: Rect, columns: usize, polygons: &mut [Vec<Vec<P>>]) {
    let shares = shares(workers, panel.x.scale.lo, panel.x.scale.hi, columns);
    let width = bar.w / columns as f64;
    let mut from = 0;
    while from < columns {
        let mut to = from + 1;
        while to < columns && shares[to] == shares[from] {
            to += 1;
        }
        let (x, w) = (bar.x + width * from as f64, width * (to - from) as f64);
        let mut bottom = bar.bottom();
        for (i, share) in shares[from].iter().enumerate().filter(|(_, share)| **share > 0) {
            let h = bar.h * f64::from(*share) / f64::from(FULL) * part(STATES[i].0, workers.len() > 1);
            polygons[i].push(Rect { x, y: bottom - h, w, h }.corners());
            bottom -= h;
        }
        from = to;
    }
}

/// Shares are whole parts of this, so that equal columns merge.
const FULL: u8 = 20;

/// For each column of time, the share of it that the workers spent in each state, in parts of [`FULL`].
fn shares(workers: &[BusyRow], start: f64, end: f64, columns: usize) -> Vec<[u8; 5]> {
    let mut time = vec![[0.0_f64; 5]; columns];
    let per = (end - start) / columns as f64;
    for span in workers.iter().flat_map(|worker| &worker.spans).filter(|span| span.from.is_finite() && span.to.is_finite()) {
        let (from, to) = (span.from.max(start), span.to.min(end));
        let state = STATES.iter().position(|(state, ..)| *state == span.state);
        let (Some(state), true) = (state, to > from) else { continue };
        let first = ((from - start) / per) as usize;
        let last = (((to - start) / per) as usize).min(columns - 1);
        for (column, time) in time.iter_mut().enumerate().take(last + 1).skip(first) {
            let left = start + per * column as f64;
            time[state] += (to.min(left + per) - from.max(left)).max(0.0);
        }
    }
    let whole = per * workers.len() as f64;
    // However short, a state that occurred stays in sight: its share is rounded up.
    time.iter()
        .map(|states| states.map(|t| (t / whole * f64::from(FULL) - 1e-6).ceil().clamp(0.0, f64::from(FULL)) as u8))
        .map(fitted)
        .collect()
}

/// Rounded shares cut back, the largest first, until they fill no more than the whole.
fn fitted(mut shares: [u8; 5]) -> [u8; 5] {
    while shares.iter().map(|share| u32::from(*share)).sum::<u32>() > u32::from(FULL) {
        if let Some(largest) = shares.iter_mut().max() {
            *largest -= 1;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::super::data::BusySpan;
    use super::*;

    fn worker(spans: &[(f64, f64, BusyState)]) -> BusyRow {
        BusyRow { name: "w".into(), spans: spans.iter().map(|&(from, to, state)| BusySpan { from, to, state }).collect() }
    }

    #[test]
    fn a_group_is_named_by_its_first_and_its_last_number() {
        let named = |name: &str| BusyRow { name: name.to_owned(), ..BusyRow::default() };
        assert_eq!(name(&[named("h100-west-1"), named("h100-west-2"), named("h100-west-16")]), "h100-west-1 – 16");
        assert_eq!(name(&[named("a1"), named("b7")]), "a1 – b7");
    }

    #[test]
    fn a_column_shows_the_share_of_time_in_each_state() {
        let worker = worker(&[(0.0, 1.0, BusyState::Decode), (2.0, 2.5, BusyState::Lease)]);
        assert_eq!(shares(&[worker], 0.0, 4.0, 4), [[20, 0, 0, 0, 0], [0; 5], [0, 0, 0, 10, 0], [0; 5]]);
    }

    #[test]
    fn a_blink_within_a_long_run_stays_in_sight() {
        let worker = worker(&[(500.0, 500.000_1, BusyState::Prefill)]);
        let shares = shares(&[worker], 0.0, 86_400.0, 800);
        assert_eq!(shares.iter().filter(|share| share[2] == 1).count(), 1);
    }

    #[test]
    fn groups_average_their_workers_and_never_overflow_the_row() {
        let busy = worker(&[(0.0, 4.0, BusyState::Decode)]);
        let mixed = worker(&[(0.0, 3.9, BusyState::Absent), (3.9, 3.95, BusyState::Lease), (3.95, 4.0, BusyState::Mixed)]);
        for share in shares(&[busy, mixed], -1.0, 5.0, 3) {
            assert!(share.iter().map(|s| u32::from(*s)).sum::<u32>() <= 20, "{share:?}");
        }
    }

    #[test]
    fn spans_outside_the_frame_are_cut() {
        let worker = worker(&[
            (-10.0, 0.5, BusyState::Decode),
            (9.0, 20.0, BusyState::Decode),
            (5.0, 5.0, BusyState::Lease),
            (f64::NAN, 1.0, BusyState::Lease),
        ]);
        assert_eq!(shares(&[worker], 0.0, 2.0, 2), [[10, 0, 0, 0, 0], [0; 5]]);
    }
}
