//! The page of one run.

use super::method;
use super::page::{Page, Tile};
use crate::report::findings::Findings;
use crate::report::run_charts::RunCharts;
use crate::report::screen::Block;
use crate::report::summary::{LatencySummary, Summary};
use crate::report::text::{Extent, summary_screen, what_ran};
use crate::report::verdict::headline;
use crate::stats::text::{count, duration, percent, significant};

const NONE: &str = "–";

/// `report.html` of a run: the verdict in words, then charts, figures, warnings, the scenario and the method.
pub fn run_page(summary: &Summary, charts: &RunCharts, resolved: &str) -> String {
    let mut page = Page::new("run", &summary.name, &headline(summary));
    page.subtitle(&what_ran(summary));
    page.tiles(&tiles(summary));
    verdict(&mut page, summary, charts);
    page.section("Charts");
    charts.figures().iter().for_each(|figure| page.chart(figure.name, &figure.chart));
    let screen = summary_screen(summary, Extent::PAGE);
    let warns = |block: &&Block| matches!(block, Block::List(list) if list.warns);
    page.section("Figures");
    page.blocks(screen.blocks.iter().filter(|block| !warns(block)));
    page.section("Warnings");
    if summary.warnings.is_empty() {
        page.text("None.");
    }
    page.blocks(screen.blocks.iter().filter(warns));
    page.section("Scenario");
    summary.description.iter().for_each(|said| page.text(said));
    page.text("`shedcast run resolved.toml` repeats this run to the last byte.");
    page.source("The scenario, every default written out (`resolved.toml`)", resolved);
    page.section("Method");
    page.points(&method::run(summary));
    page.finish()
}

fn verdict(page: &mut Page, summary: &Summary, charts: &RunCharts) {
    let found = Findings::of(summary, charts);
    page.section("Verdict");
    let parts = [("What happened", found.what), ("Why", found.why), ("When", found.when), ("What to change", found.change)];
    for (heading, said) in parts.into_iter().filter(|(_, said)| !said.is_empty()) {
        page.heading(heading);
        page.points(&said);
    }
}

fn tiles(summary: &Summary) -> Vec<Tile> {
    let total = &summary.total;
    let share = |share: Option<f64>| share.map_or(NONE.to_owned(), percent);
    let rate = |rate: Option<f64>| rate.map_or(NONE.to_owned(), |r| format!("{}/s", significant(r, 3)));
    let mut tiles = vec![
        Tile::new(
            &format!("Attempts refused ({})", summary.overload_status_code),
            share(total.rate_529),
            format!("{} of {}", count(total.attempts.refused), count(total.attempts.started)),
        ),
        Tile::new(
            "Requests lost to overload",
            share(total.lost_to_overload_share),
            format!("{} of {}", count(total.requests.lost_to_overload), count(total.requests.offered)),
        ),
        Tile::new("Goodput", rate(total.goodput), format!("of {} offered", rate(total.offered_rate))),
        Tile::new("Time to first token, p99", p99(&total.latency.ttft_s), target(summary.slo.ttft_s)),
        Tile::new("End to end, p99", p99(&total.latency.e2e_s), target(summary.slo.e2e_s)),
    ];
    if let Some(occupancy) = total.occupancy.as_ref().filter(|_| summary.fleet.gated_workers > 0) {
        let limit = summary.fleet.request_queue_limit.map(|q| format!("of {} places (sum of Q)", count(q)));
        let most = occupancy.queue.max.map_or(NONE.to_owned(), count);
        tiles.push(Tile::new("Queue, at most", most, limit.unwrap_or_default()));
    }
    tiles
}

fn p99(latency: &LatencySummary) -> String {
    latency.p99.map_or(NONE.to_owned(), |s| duration(s * 1e9))
}

fn target(seconds: Option<f64>) -> String {
    seconds.map_or(String::new(), |s| format!("target {}", duration(s * 1e9)))
}
