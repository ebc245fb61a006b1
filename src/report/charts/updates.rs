//! Stages of threshold updates.

use super::data::{PostStages, Sample, Stage, Unit, UpdatesData};
use super::font::{Weight, elide, width};
use super::ink::Ink;
use super::labels::{Placer, patch};
use super::numbers::human;
use super::page::{CAPTION, Entry, LABEL, MARGIN, Page};
use super::panel::{Panel, TITLE_ROOM, label, patched};
use super::scale::Axis;
use super::scene::{Anchor, Figure, P, Rect, Scene, Stroke};
use super::style::{Key, curve, marker};
use super::thin::Join;
use super::timeline::LEFT;

/// Most posts drawn one by one.
const FEW: usize = 10;
/// Height of a post's rows: label, stages, workers.
const ROWS: f64 = 92.0;
/// Room that the label of a post must keep beside the number of decisions.
const LEAST_HEAD: f64 = 240.0;
const STAGES: [&str; 3] = ["noticed", "all workers switched", "first changed decision"];
/// Left end of the time axis in post rows; before it is the column "at the post".
const START: f64 = LEFT + 84.0;
/// Where a delay of nothing stands.
const AT_ONCE: f64 = START - 52.0;

/// For each post: when it was noticed, when each worker switched, when the last one did, when a decision first changed.
pub fn updates(data: &UpdatesData) -> Figure {
    let mut page = Page::new(&data.heading);
    match data.posts.len() {
        0 => page.no_data(page.margins().0, page.margins().1, 160.0),
        n if n <= FEW => rows(&mut page, &data.posts),
        _ => distributions(&mut page, &data.posts),
    }
    page.finish(&data.heading)
}

fn stages(post: &PostStages) -> [Stage; 3] {
    [post.noticed, post.all, post.effect]
}

fn after(stage: Stage) -> Option<f64> {
    match stage {
        Stage::After(delay) if delay.is_finite() => Some(delay.max(0.0)),
        _ => None,
    }
}

/// A logarithmic axis over all delays above zero.
fn delay_axis<'a>(posts: impl Iterator<Item = &'a PostStages>, width: f64) -> Axis {
    let delays = posts.flat_map(|post| stages(post).into_iter().chain(post.workers.iter().map(|w| w.1)).collect::<Vec<_>>());
    let above = delays.filter_map(after).filter(|delay| *delay > 0.0);
    let (lo, hi) = above.fold((f64::INFINITY, 0.0_f64), |(lo, hi), delay| (lo.min(delay), hi.max(delay)));
    if hi > 0.0 {
        Axis::log(lo.max(1e-9), hi, &Unit::Seconds, width / 70.0)
    } else {
        Axis::log(1e-3, 1.0, &Unit::Seconds, width / 70.0)
    }
}

fn stage_style(i: usize) -> (Ink, usize) {
    [(Ink::Series(0), 0), (Ink::Series(1), 1), (Ink::Series(2), 3)][i]
}

fn rows(page: &mut Page, posts: &[PostStages]) {
    let mut legend: Vec<Entry> =
        (0..STAGES.len()).map(|i| (Key::Point(stage_style(i).0, stage_style(i).1), STAGES[i].to_owned())).collect();
    legend.push((Key::Upright(Stroke::solid(Ink::Text, 1.2)), "a worker switched".to_owned()));
    page.caption("delay since the post", &legend, page.margins().0, page.margins().1);
    page.y += 4.0;
    let rect = Rect { x: START, y: page.y, w: page.right() - START, h: ROWS * posts.len() as f64 };
    let none = Axis { ticks: Vec::new(), ..Axis::exact(0.0, 1.0, &Unit::Number, 1.0) };
    let panel = Panel::new(&mut page.scene, rect, delay_axis(posts.iter(), rect.w), none);
    for (i, post) in posts.iter().enumerate() {
        one(&mut page.scene, &panel, post, rect.y + ROWS * i as f64);
    }
    // The axis line at the left would run through the posts' names: each post has drawn its part of it.
    let base = Panel { rect: Rect { y: rect.bottom(), h: 0.0, ..rect }, ..panel };
    base.axes(&mut page.scene, true, "time since the post (logarithmic)");
    label(&mut page.scene, (AT_ONCE, rect.bottom() + 16.0), "at once", Anchor::Middle, Ink::Muted);
    page.y += rect.h + TITLE_ROOM;
}

/// Where a delay stands: no delay at all is "at once", left of the axis.
fn place(panel: &Panel, delay: f64) -> f64 {
    if delay > 0.0 { panel.x.scale.map(delay) } else { AT_ONCE }
}

fn one(scene: &mut Scene, panel: &Panel, post: &PostStages, top: f64) {
    scene.line((MARGIN, top), (panel.rect.right(), top), Stroke::solid(Ink::Frame, 0.8));
    let meanwhile = format!(
        "{} before noticed, {} until all switched",
        decisions(post.decisions_before_noticed),
        human(post.decisions_until_all as f64, &Unit::Number)
    );
    let wide = width(&meanwhile, LABEL, Weight::Regular);
    let room = panel.rect.right() - MARGIN;
    // On a narrow sheet the label of the post comes first; the decisions stand in the files.
    let both = room - wide - 20.0 > LEAST_HEAD;
    let head = elide(&post.label, CAPTION, Weight::Bold, if both { room - wide - 20.0 } else { room });
    scene.rect(Rect { x: MARGIN, y: top + 1.0, w: panel.rect.right() - MARGIN, h: 20.0 }, Ink::Paper, 1.0);
    scene.line((START, top + 22.0), (START, top + ROWS), Stroke::solid(Ink::Frame, 1.0));
    scene.text(super::scene::Text {
        at: (MARGIN, top + 16.0),
        text: head,
        size: CAPTION,
        weight: Weight::Bold,
        anchor: Anchor::Start,
        ink: Ink::Text,
    });
    if both {
        label(scene, (panel.rect.right(), top + 16.0), &meanwhile, Anchor::End, Ink::Muted);
    }
    stage_row(scene, panel, post, top + 46.0);
    worker_row(scene, panel, post, top + 76.0);
}

fn decisions(count: u64) -> String {
    format!("{} {}", human(count as f64, &Unit::Number), if count == 1 { "decision" } else { "decisions" })
}

fn stage_row(scene: &mut Scene, panel: &Panel, post: &PostStages, y: f64) {
    label(scene, (MARGIN, y + 4.0), "stages", Anchor::Start, Ink::Muted);
    let reached: Vec<(usize, f64)> = stages(post).iter().enumerate().filter_map(|(i, s)| Some((i, after(*s)?))).collect();
    let mut placer = Placer::new(Rect { x: START - 84.0, y: y - 24.0, w: panel.rect.right() + 4.0 - (START - 84.0), h: 46.0 });
    let ends: Vec<f64> = reached.iter().map(|(_, delay)| place(panel, *delay)).collect();
    if let (Some(from), Some(to)) = (ends.iter().copied().reduce(f64::min), ends.iter().copied().reduce(f64::max)) {
        scene.line((from, y), (to, y), Stroke::solid(Ink::Frame, 1.0));
    }
    for (i, delay) in &reached {
        let (ink, shape) = stage_style(*i);
        let at: P = (place(panel, *delay), y);
        placer.avoid(Rect { x: at.0 - 5.0, y: y - 5.0, w: 10.0, h: 10.0 });
        scene.fill(marker(shape, at, 5.5), ink, 1.0);
    }
    for (i, delay) in &reached {
        let x = place(panel, *delay);
        let text = if *delay > 0.0 { format!("{} {}", short(*i), human(*delay, &Unit::Seconds)) } else { short(*i).to_owned() };
        let (w, h) = patch(&text);
        let shifts = [-w / 2.0, 4.0, -w - 4.0, 12.0, -w - 12.0];
        let above = shifts.map(|dx| Rect { x: x + dx, y: y - 7.0 - h, w, h });
        let below = shifts.map(|dx| Rect { x: x + dx, y: y + 6.0, w, h });
        let order: Vec<Rect> = above.into_iter().chain(below).collect();
        if let Some(rect) = placer.first(&order) {
            patched(scene, rect, &text, Ink::Text);
        }
    }
    let missing: Vec<String> =
        stages(post).iter().enumerate().filter_map(|(i, stage)| Some(format!("{}: {}", short(i), outcome(*stage)?))).collect();
    if !missing.is_empty() {
        let text = missing.join(", ");
        let (w, h) = patch(&text);
        let wanted = ends.iter().copied().fold(START, f64::max) + 14.0;
        let places = [
            Rect { x: wanted, y: y - h / 2.0, w, h },
            Rect { x: panel.rect.right() - w, y: y - h / 2.0, w, h },
            Rect { x: panel.rect.right() - w, y: y + 6.0, w, h },
            Rect { x: panel.rect.right() - w, y: y - 7.0 - h, w, h },
            Rect { x: START, y: y + 6.0, w, h },
        ];
        if let Some(rect) = placer.first(&places) {
            patched(scene, rect, &text, Ink::Limit);
        }
    }
}

fn short(i: usize) -> &'static str {
    ["noticed", "all", "effect"][i]
}

/// How a stage that was not reached ended.
fn outcome(stage: Stage) -> Option<&'static str> {
    match stage {
        Stage::After(delay) if delay.is_finite() => None,
        Stage::After(_) | Stage::Never => Some("never"),
        Stage::Superseded => Some("superseded"),
        Stage::NoOp => Some("no change"),
    }
}

fn worker_row(scene: &mut Scene, panel: &Panel, post: &PostStages, y: f64) {
    label(scene, (MARGIN, y + 4.0), "workers", Anchor::Start, Ink::Muted);
    let switched = post.workers.iter().filter_map(|(_, stage)| after(*stage));
    let ticks: Vec<Vec<P>> = switched.map(|delay| place(panel, delay)).map(|x| vec![(x, y - 7.0), (x, y + 7.0)]).collect();
    let text = format!("{} of {}", ticks.len(), post.workers.len());
    let mut placer = Placer::new(Rect { x: START - 84.0, y: y - 14.0, w: panel.rect.right() + 4.0 - (START - 84.0), h: 28.0 });
    ticks.iter().for_each(|tick| placer.avoid(Rect { x: tick[0].0 - 3.0, y: y - 7.0, w: 6.0, h: 14.0 }));
    let last = ticks.iter().map(|tick| tick[0].0).fold(START, f64::max);
    scene.lines(ticks, Stroke::solid(Ink::Text, 1.2));
    let silent: Vec<&str> =
        post.workers.iter().filter(|(_, stage)| outcome(*stage).is_some()).map(|(name, _)| name.as_str()).collect();
    let text = if silent.is_empty() || silent.len() == post.workers.len() {
        format!("{text} switched")
    } else {
        elide(&format!("{text} switched, not: {}", silent.join(", ")), LABEL, Weight::Regular, panel.rect.w.min(380.0))
    };
    let (w, h) = patch(&text);
    let places = [last + 8.0, panel.rect.right() - w, START + 4.0].map(|x| Rect { x, y: y - h / 2.0, w, h });
    if let Some(rect) = placer.first(&places) {
        patched(scene, rect, &text, Ink::Muted);
    }
}

/// Many posts: for each stage, the share of posts that had reached it.
fn distributions(page: &mut Page, posts: &[PostStages]) {
    let total = posts.len() as f64;
    let entry = |i: usize| {
        let reached = posts.iter().filter(|post| after(stages(post)[i]).is_some()).count();
        (Key::Line(curve(i)), format!("{} ({reached} of {})", STAGES[i], posts.len()))
    };
    let legend: Vec<Entry> = (0..STAGES.len()).map(entry).collect();
    page.caption("share of posts that reached a stage (%)", &legend, LEFT, page.right());
    let rect = Rect { x: LEFT, y: page.y, w: page.right() - LEFT, h: 300.0 };
    let panel = Panel::new(&mut page.scene, rect, delay_axis(posts.iter(), rect.w), Axis::rounded(0.0, 1.0, &Unit::Share, 5.0));
    for i in 0..STAGES.len() {
        let mut delays: Vec<f64> = posts.iter().filter_map(|post| after(stages(post)[i])).collect();
        delays.sort_by(f64::total_cmp);
        let first = [panel.x.scale.lo, delays.iter().filter(|d| **d <= panel.x.scale.lo).count() as f64 / total];
        let steps = delays.iter().enumerate().map(|(n, delay)| [*delay, (n + 1) as f64 / total]);
        let line: Vec<Sample> = std::iter::once(first).chain(steps.filter(|p| p[0] > panel.x.scale.lo)).collect();
        panel.curve(&mut page.scene, &line, Join::Step, curve(i));
    }
    panel.axes(&mut page.scene, true, "time since the post (logarithmic)");
    page.y += rect.h + TITLE_ROOM;
    let before: u64 = posts.iter().map(|post| post.decisions_before_noticed).sum();
    let until: u64 = posts.iter().map(|post| post.decisions_until_all).sum();
    page.note(&format!(
        "Meanwhile {} were made before the posts were noticed, and {} more until all workers had switched.",
        decisions(before),
        human(until as f64, &Unit::Number)
    ));
}
