//! Engine slots and overflow queues against N and Q.

use super::data::{Band, Curve, Occupancy, OccupancyData, Sample, Spread, Unit, WorkerOccupancy};
use super::ink::Ink;
use super::loads::banded;
use super::numbers::human;
use super::page::{Entry, LABEL, Page};
use super::panel::{Panel, TITLE_ROOM, label, roomy_axis};
use super::scene::{Anchor, Figure, Rect, Scene, Stroke};
use super::style::{BAND_OPACITY, Key, limit};
use super::thin::{Join, range};
use super::timeline::{LEFT, Timeline};

/// Most workers drawn one by one.
const FEW: usize = 8;
/// A limit this many times above all that was reached stands beyond the axis.
const FAR: f64 = 4.0;

/// Slots in use against N and requests waiting against Q, worker by worker up to eight, else the range over the fleet.
pub fn occupancy(data: &OccupancyData) -> Figure {
    let mut page = Page::new(&data.heading);
    let mut timeline = Timeline::new(&mut page, &data.time, LEFT);
    match &data.occupancy {
        Occupancy::Workers(workers) if (2..=FEW).contains(&workers.len()) => grid(&mut page, &mut timeline, workers),
        other => fleet(&mut page, &mut timeline, other, (190.0, 130.0), true),
    }
    page.finish(&data.heading)
}

/// Slots and queue of a fleet (or of its one worker), one panel each.
pub(super) fn fleet(page: &mut Page, timeline: &mut Timeline<'_>, data: &Occupancy, (slots_h, queue_h): (f64, f64), last: bool) {
    let view = View::of(data);
    // Without a gate nothing ever waits in front of an engine.
    let waited = range([view.queue.high.as_slice(), &view.queue.mean]).is_some_and(|(_, most)| most > 0.0);
    let queue = waited || view.limits[1].is_some() || view.slots.mean.is_empty();
    part(page, timeline, &view, (true, slots_h), last && !queue);
    if queue {
        part(page, timeline, &view, (false, queue_h), last);
    }
}

/// What a pair of panels shows.
struct View {
    slots: Band,
    queue: Band,
    limits: [Option<f64>; 2],
    single: bool,
}

impl View {
    fn of(data: &Occupancy) -> Self {
        match data {
            Occupancy::Fleet { slots, queue, slot_limit, queue_limit } => {
                Self { slots: slots.clone(), queue: queue.clone(), limits: [*slot_limit, *queue_limit], single: false }
            }
            Occupancy::Workers(workers) => {
                let band = |of: fn(&WorkerOccupancy) -> &Vec<Sample>| {
                    let curve = |w: &WorkerOccupancy| Curve { name: w.name.clone(), points: of(w).clone() };
                    banded(&Spread::Each(workers.iter().map(curve).collect()))
                };
                let common = |of: fn(&WorkerOccupancy) -> Option<f64>| {
                    let first = workers.first().and_then(of);
                    first.filter(|_| workers.iter().all(|worker| of(worker) == first))
                };
                Self {
                    slots: band(|w| &w.slots),
                    queue: band(|w| &w.queue),
                    limits: [common(|w| w.slot_limit), common(|w| w.queue_limit)],
                    single: workers.len() == 1,
                }
            }
        }
    }
}

fn part(page: &mut Page, timeline: &mut Timeline<'_>, view: &View, (slots, height): (bool, f64), last: bool) {
    let (band, bound, i) = if slots { (&view.slots, view.limits[0], 0) } else { (&view.queue, view.limits[1], 1) };
    let per = if view.single { "" } else { " per worker" };
    let caption = if slots { format!("engine slots in use{per}") } else { format!("requests in the overflow queue{per}") };
    let Some((_, highest)) = range([band.high.as_slice(), &band.mean]) else {
        return timeline.empty(page, &caption, height);
    };
    let stroke = Stroke::solid(Ink::Series(i), 1.6);
    let mut legend: Vec<Entry> =
        if view.single { Vec::new() } else { vec![(Key::Band(stroke), "lowest, mean and highest worker".to_owned())] };
    let reach = with_limit(&mut legend, bound, highest, if slots { "N" } else { "Q" });
    let panel = timeline.panel(page, (&caption, &legend), roomy_axis(reach, height), height);
    if view.single {
        panel.under(&mut page.scene, &band.mean, Join::Step, stroke.ink, BAND_OPACITY);
    } else {
        panel.between(&mut page.scene, &band.low, &band.high, Join::Step, stroke.ink, BAND_OPACITY);
    }
    panel.curve(&mut page.scene, &band.mean, Join::Step, stroke);
    bound.iter().for_each(|bound| panel.level(&mut page.scene, *bound, limit(0)));
    timeline.close(page, &panel, last);
}

/// Adds a limit to a legend, and returns how high the axis must reach.
fn with_limit(legend: &mut Vec<Entry>, bound: Option<f64>, highest: f64, name: &str) -> f64 {
    match bound.filter(|bound| bound.is_finite()) {
        None => highest,
        Some(bound) if bound > FAR * highest.max(8.0) => {
            legend.push((Key::Line(limit(0)), format!("{name} = {}, far above", human(bound, &Unit::Number))));
            highest
        }
        Some(bound) => {
            legend.push((Key::Line(limit(0)), format!("{name} = {}", human(bound, &Unit::Number))));
            bound.max(highest)
        }
    }
}

/// Workers one below the other, each with slots above queue, on equal axes.
fn grid(page: &mut Page, timeline: &mut Timeline<'_>, workers: &[WorkerOccupancy]) {
    let highest = |of: fn(&WorkerOccupancy) -> &[Sample]| range(workers.iter().map(of)).map_or(0.0, |(_, hi)| hi);
    let most = |of: fn(&WorkerOccupancy) -> Option<f64>, reached: f64| {
        workers.iter().filter_map(of).filter(|bound| *bound <= FAR * reached.max(8.0)).fold(reached, f64::max)
    };
    let reach = [most(|w| w.slot_limit, highest(|w| &w.slots)), most(|w| w.queue_limit, highest(|w| &w.queue))];
    let legend = [
        (Key::Band(Stroke::solid(Ink::Series(0), 1.4)), "engine slots in use (upper panels)".to_owned()),
        (Key::Band(Stroke::solid(Ink::Series(1), 1.4)), "requests in the overflow queue (lower panels)".to_owned()),
        (Key::Line(limit(0)), "N and Q".to_owned()),
    ];
    page.caption("", &legend, LEFT, page.right());
    let room = (880.0 / workers.len() as f64 - 34.0).clamp(84.0, 190.0);
    for (i, worker) in workers.iter().enumerate() {
        cell(page, timeline, worker, (reach, room), i + 1 == workers.len());
    }
}

fn cell(page: &mut Page, timeline: &mut Timeline<'_>, worker: &WorkerOccupancy, (reach, room): ([f64; 2], f64), last: bool) {
    let bound =
        |name: &str, value: Option<f64>| value.map_or(String::new(), |v| format!(", {name} = {}", human(v, &Unit::Number)));
    let limits = format!("{}{}", bound("N", worker.slot_limit), bound("Q", worker.queue_limit));
    page.caption(&format!("{}{limits}", worker.name), &[], LEFT, page.right());
    timeline.mark_labels(page);
    let parts = [(&worker.slots, worker.slot_limit, room * 0.58), (&worker.queue, worker.queue_limit, room * 0.42)];
    for (i, (points, bound, height)) in parts.into_iter().enumerate() {
        let rect = Rect { x: LEFT, y: page.y, w: page.right() - LEFT, h: height };
        page.y += height + 15.0;
        let y = roomy_axis(reach[i], height);
        let panel = Panel::new(&mut page.scene, rect, timeline.axis().clone(), y);
        timeline.mark_lines(&mut page.scene, rect);
        worker_curve(&mut page.scene, &panel, points, bound, i);
        panel.axes(&mut page.scene, last && i == 1, &timeline.title());
    }
    page.y += if last { TITLE_ROOM - 15.0 } else { -7.0 };
}

fn worker_curve(scene: &mut Scene, panel: &Panel, points: &[Sample], bound: Option<f64>, i: usize) {
    if range([points]).is_none() {
        let at = (panel.rect.x + panel.rect.w / 2.0, panel.rect.y + panel.rect.h / 2.0 + LABEL / 3.0);
        return label(scene, at, "no data", Anchor::Middle, Ink::Muted);
    }
    panel.under(scene, points, Join::Step, Ink::Series(i), BAND_OPACITY);
    panel.curve(scene, points, Join::Step, Stroke::solid(Ink::Series(i), 1.4));
    bound.iter().for_each(|bound| panel.level(scene, *bound, limit(0)));
}
