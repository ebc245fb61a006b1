//! What flows through the cluster over time: offered, attempted, answered in time, and worked on for nobody.

use super::data::{Sample, TrafficData, Unit};
use super::ink::Ink;
use super::page::{Entry, Page};
use super::panel::{roomy_axis, value_axis};
use super::scene::{Figure, Stroke};
use super::style::{Key, curve};
use super::thin::{Join, range};
use super::timeline::{LEFT, Timeline, quantity};

const RATE_HEIGHT: f64 = 280.0;
const BACKLOG_HEIGHT: f64 = 130.0;

/// Requests per second by what becomes of them, and the requests that are not done.
pub fn traffic(data: &TrafficData) -> Figure {
    let mut page = Page::new(&data.heading);
    let mut timeline = Timeline::new(&mut page, &data.time, LEFT);
    rates(&mut page, &mut timeline, data);
    backlog(&mut page, &mut timeline, &data.unfinished);
    page.finish(&data.heading)
}

fn rates(page: &mut Page, timeline: &mut Timeline<'_>, data: &TrafficData) {
    let rate = quantity("traffic", Unit::Named("per second".to_owned()));
    let curves: [(&str, &[Sample]); 3] =
        [("requests offered", &data.offered), ("attempts", &data.attempts), ("goodput: answered in time", &data.goodput)];
    let Some(range) = range(curves.iter().map(|(_, points)| *points).chain([data.orphans.as_slice()])) else {
        return timeline.empty(page, &rate.label, RATE_HEIGHT);
    };
    let orphans = Ink::Fill(1);
    let mut legend: Vec<Entry> = Vec::new();
    for (i, (name, _)) in curves.iter().enumerate() {
        legend.push((Key::Line(look(i)), (*name).to_owned()));
    }
    if !data.orphans.is_empty() {
        legend.push((Key::Fill(orphans), "worked on for clients who had left".to_owned()));
    }
    let panel = timeline.panel(page, (&rate.label, &legend), value_axis(&rate, Some(range), RATE_HEIGHT), RATE_HEIGHT);
    panel.under(&mut page.scene, &data.orphans, Join::Step, orphans, 0.55);
    for (i, (_, points)) in curves.into_iter().enumerate() {
        panel.curve(&mut page.scene, points, Join::Step, look(i));
    }
    timeline.close(page, &panel, false);
}

/// The goodput, which matters most, is the boldest.
fn look(i: usize) -> Stroke {
    let stroke = curve([1, 2, 0][i]);
    if i == 2 { Stroke { width: 2.4, ..stroke } } else { Stroke { width: 1.3, ..stroke } }
}

fn backlog(page: &mut Page, timeline: &mut Timeline<'_>, unfinished: &[Sample]) {
    const CAPTION: &str = "requests in the system or waiting to retry";
    let Some((_, most)) = range([unfinished]) else { return timeline.empty(page, CAPTION, BACKLOG_HEIGHT) };
    let panel = timeline.panel(page, (CAPTION, &[]), roomy_axis(most, BACKLOG_HEIGHT), BACKLOG_HEIGHT);
    let stroke = Stroke::solid(Ink::Series(3), 1.4);
    panel.under(&mut page.scene, unfinished, Join::Step, stroke.ink, 0.2);
    panel.curve(&mut page.scene, unfinished, Join::Step, stroke);
    timeline.close(page, &panel, true);
}
