//! A run at a glance.

use super::data::{BusyCount, OverviewData};
use super::ink::Ink;
use super::page::{Entry, Page};
use super::panel::roomy_axis;
use super::scene::{Figure, Stroke};
use super::style::{BAND_OPACITY, Key, curve};
use super::thin::{Join, range};
use super::timeline::{LEFT, Timeline};
use super::{loads, occupancy, refusals};

/// Panels on one time axis: 529 rate, slots and queue, busy workers, rank loads; posts, phases and faults marked.
pub fn overview(data: &OverviewData) -> Figure {
    let mut page = Page::new(&data.heading);
    let mut timeline = Timeline::new(&mut page, &data.time, LEFT);
    let has_loads = data.loads.decode.is_some() || data.loads.prefill.is_some();
    let after = |parts: &[bool]| !parts.contains(&true);
    if data.refusals.is_none() && data.occupancy.is_none() && data.busy.is_none() && !has_loads {
        timeline.empty(&mut page, "", 160.0);
    }
    if let Some(part) = &data.refusals {
        let last = after(&[data.occupancy.is_some(), data.busy.is_some(), has_loads]);
        refusals::draw(&mut page, &mut timeline, &data.time, part, 130.0, last);
    }
    if let Some(part) = &data.occupancy {
        occupancy::fleet(&mut page, &mut timeline, part, (105.0, 75.0), after(&[data.busy.is_some(), has_loads]));
    }
    if let Some(part) = &data.busy {
        busy_count(&mut page, &mut timeline, part, 85.0, !has_loads);
    }
    if has_loads {
        loads::draw(&mut page, &mut timeline, &data.loads, (115.0, loads::FEW.1), true);
    }
    page.finish(&data.heading)
}

fn busy_count(page: &mut Page, timeline: &mut Timeline<'_>, data: &BusyCount, height: f64, last: bool) {
    let caption = "busy workers";
    let curves = [data.busy.as_slice(), &data.leased, &data.discovered];
    let Some((_, highest)) = range(curves) else {
        return timeline.empty(page, caption, height);
    };
    let all = Stroke::dashed(Ink::Text, 1.2, &[2.0, 2.0]);
    let mut legend: Vec<Entry> = vec![(Key::Band(curve(0)), "busy".to_owned())];
    if range([data.leased.as_slice()]).is_some_and(|(_, most)| most > 0.0) {
        legend.push((Key::Line(curve(1)), "under a lease".to_owned()));
    }
    legend.push((Key::Line(all), "registered".to_owned()));
    let panel = timeline.panel(page, (caption, &legend), roomy_axis(highest, height), height);
    panel.under(&mut page.scene, &data.busy, Join::Step, Ink::Series(0), BAND_OPACITY);
    panel.curve(&mut page.scene, &data.busy, Join::Step, curve(0));
    if legend.len() > 2 {
        panel.curve(&mut page.scene, &data.leased, Join::Step, curve(1));
    }
    panel.curve(&mut page.scene, &data.discovered, Join::Step, all);
    timeline.close(page, &panel, last);
}
