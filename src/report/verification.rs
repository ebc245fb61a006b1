//! Checks against references, and counters beside a scenario: text and JSON.

use std::fmt::Write as _;

use serde_json::json;

use super::wrap::{COLUMNS, wrap};
use crate::stats::text::{duration, significant};
use crate::verify::against::{Against, Parting};
use crate::verify::{Check, CheckTable};

/// Version of the JSON forms.
const SCHEMA: u32 = 1;
/// Longest name of a check in a table.
const NAME: usize = 50;

/// Tables of checks for people: value, reference, error, verdict.
pub fn tables_text(tables: &[CheckTable]) -> String {
    let mut text = String::new();
    for table in tables {
        let _ = writeln!(text, "{}", table.title);
        text.push_str(&wrap("  ", &format!("({})", table.rule), 2, COLUMNS));
        let _ = writeln!(text, "  {:<NAME$} {:>10} {:>10} {:>9}", "", "value", "reference", "error");
        for check in &table.checks {
            line(&mut text, check);
        }
        text.push('\n');
    }
    let all = tables.iter().map(|t| t.checks.len()).sum::<usize>();
    let failed = tables.iter().flat_map(|t| &t.checks).filter(|c| !c.passed).count();
    let _ = match failed {
        0 => writeln!(text, "all {all} checks passed"),
        _ => writeln!(text, "{failed} of {all} checks FAILED"),
    };
    text
}

fn line(text: &mut String, check: &Check) {
    let verdict = if check.passed { "ok" } else { "MISS" };
    let (value, reference) = (significant(check.value, 6), significant(check.reference, 6));
    let error = if check.error.is_finite() { format!("{:+.3} %", check.error * 100.0) } else { "n/a".to_owned() };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  {:<NAME$} {value:>10} {reference:>10} {error:>9} {verdict}", check.name);
}

/// Tables of checks as JSON.
pub fn tables_json(tables: &[CheckTable]) -> Vec<u8> {
    let passed = tables.iter().all(CheckTable::passed);
    pretty(&json!({ "schema": SCHEMA, "passed": passed, "tables": tables }))
}

/// Counters beside a scenario, for people.
pub fn against_text(found: &Against) -> String {
    let mut text = String::new();
    text.push_str(&wrap("", &headline(found), 0, COLUMNS));
    let windows = found.partings.iter().map(|p| p.windows.len()).max().unwrap_or(0);
    let _ = writeln!(
        text,
        "{windows} windows of {}; values may differ by {:.0} % or by chance\n",
        duration(found.window * 1e9),
        found.tolerance * 100.0
    );
    let _ =
        writeln!(text, "{:<28} {:>10} {:>10} {:>9}  {:<16}", "mean of the windows", "measured", "simulated", "error", "apart");
    for parting in &found.partings {
        text.push_str(&row(parting));
    }
    for parting in found.partings.iter().filter(|p| p.parts_at.is_some()) {
        text.push_str(&window_lines(parting, found.window));
    }
    if !found.missing.is_empty() {
        text.push('\n');
        for missing in &found.missing {
            text.push_str(&wrap("not compared: ", missing, 14, COLUMNS));
        }
    }
    text
}

fn headline(found: &Against) -> String {
    match found.first() {
        None => format!("{} and the counters do not part", found.scenario),
        Some(first) => {
            let at = first.parts_at.expect("it parts");
            let window = &first.windows[at];
            let than = if window.simulated > window.measured { "more" } else { "less" };
            format!(
                "{} and the counters part at {}: {}, simulated {} where {} was measured, is {than} than can be chance",
                found.scenario,
                duration(window.from * 1e9),
                first.measure,
                amount(first, window.simulated),
                amount(first, window.measured)
            )
        }
    }
}

fn row(parting: &Parting) -> String {
    let apart = parting.windows.iter().filter(|w| w.apart).count();
    let from = match parting.parts_at {
        Some(at) => format!(", from {}", duration(parting.windows[at].from * 1e9)),
        None => String::new(),
    };
    let error = match parting.measured {
        0.0 if parting.simulated == 0.0 => "+0.0 %".to_owned(),
        0.0 => "n/a".to_owned(),
        measured => format!("{:+.1} %", (parting.simulated / measured - 1.0) * 100.0),
    };
    let of = format!("{apart} of {}{from}", parting.windows.len());
    let (measured, simulated) = (amount(parting, parting.measured), amount(parting, parting.simulated));
    format!("{:<28} {measured:>10} {simulated:>10} {error:>9}  {of}\n", parting.measure)
}

/// The windows around the place where a measure parts.
fn window_lines(parting: &Parting, width: f64) -> String {
    const AROUND: usize = 2;
    let at = parting.parts_at.expect("it parts");
    let mut text = format!("\n{} where it parts\n", parting.measure);
    let (from, to) = (at.saturating_sub(AROUND), (at + AROUND + 1).min(parting.windows.len()));
    for (i, window) in parting.windows[from..to].iter().enumerate() {
        let mark = match (from + i == at, window.apart) {
            (true, _) => "parts",
            (false, true) => "apart",
            (false, false) => "",
        };
        let span = format!("{} to {}", duration(window.from * 1e9), duration((window.from + width) * 1e9));
        let difference = window.simulated - window.measured;
        let _ = writeln!(
            text,
            "  {span:<22} measured {:>10}  simulated {:>10}  difference {:>10}  {mark}",
            amount(parting, window.measured),
            amount(parting, window.simulated),
            signed(&amount(parting, difference.abs()), difference)
        );
    }
    text
}

fn signed(amount: &str, of: f64) -> String {
    format!("{}{amount}", if of < 0.0 { "-" } else { "+" })
}

fn amount(parting: &Parting, value: f64) -> String {
    match parting.unit {
        "s" => duration(value * 1e9),
        "share" => format!("{:.1} %", value * 100.0),
        "1/s" => format!("{}/s", significant(value, 3)),
        _ => significant(value, 4),
    }
}

/// Counters beside a scenario as JSON, window by window.
pub fn against_json(found: &Against) -> Vec<u8> {
    pretty(&json!({ "schema": SCHEMA, "agrees": found.agrees(), "comparison": found }))
}

fn pretty(value: &serde_json::Value) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("plain data");
    bytes.push(b'\n');
    bytes
}
