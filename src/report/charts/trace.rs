//! A trace: arrivals and tokens over time, and the distributions of its lengths.

use super::data::{Quantity, Sample, TimeFrame, TraceData, Unit};
use super::ink::Ink;
use super::page::{Entry, Page};
use super::panel::{Panel, TICK_ROOM, TITLE_ROOM, value_axis};
use super::scale::Axis;
use super::scene::{Figure, Rect, Stroke};
use super::style::{Key, curve, limit};
use super::thin::{Join, range};
use super::timeline::{LEFT, Timeline, quantity};

const RATE_HEIGHT: f64 = 210.0;
const TOKEN_HEIGHT: f64 = 110.0;
const SHARE_HEIGHT: f64 = 200.0;

/// Arrivals over time and lengths of a trace.
pub fn trace(data: &TraceData) -> Figure {
    let mut page = Page::new(&data.heading);
    if data.span > 0.0 {
        over_time(&mut page, data);
    }
    lengths(&mut page, data);
    page.finish(&data.heading)
}

fn over_time(page: &mut Page, data: &TraceData) {
    let frame = TimeFrame { start: 0.0, end: data.span, marks: Vec::new() };
    let mut timeline = Timeline::new(page, &frame, LEFT);
    let rate = quantity("arrivals", Unit::Named("requests/s".to_owned()));
    let mean: Vec<Sample> = vec![[0.0, data.mean_rate], [data.span, data.mean_rate]];
    let area = Stroke::solid(Ink::Series(0), 1.2);
    let legend = [(Key::Line(area), "requests".to_owned()), (Key::Line(limit(0)), "mean".to_owned())];
    let axis = value_axis(&rate, range([data.requests.as_slice(), &mean]), RATE_HEIGHT);
    let panel = timeline.panel(page, (&rate.label, &legend), axis, RATE_HEIGHT);
    panel.under(&mut page.scene, &data.requests, Join::Step, area.ink, 0.25);
    panel.curve(&mut page.scene, &data.requests, Join::Step, area);
    panel.level(&mut page.scene, data.mean_rate, limit(0));
    panel.axes(&mut page.scene, true, "");
    page.y += TICK_ROOM;

    // Prompts are often a hundred times as long as answers: each has an axis of its own.
    let title = timeline.axis().titled("time after the first arrival");
    for (i, (label, points)) in
        [("prompt tokens", &data.input_tokens), ("generated tokens", &data.output_tokens)].into_iter().enumerate()
    {
        let tokens = quantity(label, Unit::Named("tokens/s".to_owned()));
        let axis = value_axis(&tokens, range([points.as_slice()]), TOKEN_HEIGHT);
        let panel = timeline.panel(page, (&tokens.label, &[]), axis, TOKEN_HEIGHT);
        let stroke = Stroke::solid(Ink::Series(i), 1.2);
        panel.under(&mut page.scene, points, Join::Step, stroke.ink, 0.25);
        panel.curve(&mut page.scene, points, Join::Step, stroke);
        panel.axes(&mut page.scene, true, if i == 1 { &title } else { "" });
        page.y += if i == 1 { TITLE_ROOM } else { TICK_ROOM };
    }
}

fn names() -> [Entry; 2] {
    [(Key::Line(curve(0)), "prompts".to_owned()), (Key::Line(curve(1)), "generated".to_owned())]
}

fn lengths(page: &mut Page, data: &TraceData) {
    const CAPTION: &str = "share of requests at or below a length (%)";
    let curves = [&data.input_shares, &data.output_shares];
    let lengths = || curves.iter().flat_map(|points| points.iter()).map(|[tokens, _]| *tokens).filter(|tokens| *tokens > 0.0);
    let (lo, hi) = lengths().fold((f64::INFINITY, 0.0_f64), |(lo, hi), tokens| (lo.min(tokens), hi.max(tokens)));
    if hi <= 0.0 {
        page.caption(CAPTION, &[], LEFT, page.right());
        page.no_data(LEFT, page.right(), SHARE_HEIGHT);
        return;
    }
    page.caption(CAPTION, &names(), LEFT, page.right());
    let tokens = Quantity { label: "tokens of a request".to_owned(), log: true, ..Quantity::default() };
    let x = Axis::log(lo, hi, &tokens.unit, (page.right() - LEFT) / 70.0);
    let y = Axis::rounded(0.0, 1.0, &Unit::Share, 5.0);
    let rect = Rect { x: LEFT, y: page.y, w: page.right() - LEFT, h: SHARE_HEIGHT };
    let panel = Panel::new(&mut page.scene, rect, x, y);
    for (i, points) in curves.into_iter().enumerate() {
        // Lengths of 0 have no place on a logarithmic axis: the curve starts at its first positive one.
        let shown: Vec<Sample> = points.iter().copied().filter(|[tokens, _]| *tokens > 0.0).collect();
        panel.curve(&mut page.scene, &shown, Join::Step, curve(i));
    }
    panel.axes(&mut page.scene, true, &tokens.label);
    page.y += rect.h + TITLE_ROOM;
}
