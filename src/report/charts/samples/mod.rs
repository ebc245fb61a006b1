//! Synthetic data for the tests of charts: several situations for each kind of figure.

use std::cell::Cell;

use super::Figure;
use super::data::Heading;
use super::sheet::Sheet;

mod agreement;
mod run;
mod study;
mod trace;

/// A small generator, so that samples are the same everywhere.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        // Constants of Knuth's MMIX.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn heading(title: &str) -> Heading {
    Heading {
        title: title.to_owned(),
        subtitle: "burst on four workers, seed 1, 10 min, kv mode, 0.85 of decode blocks, 0.8 of prefill tokens".to_owned(),
        description: String::new(),
        sheet: SHEET.get(),
    }
}

thread_local! {
    /// What the samples are drawn on.
    static SHEET: Cell<Sheet> = const { Cell::new(Sheet::Wide) };
}

/// Every sample figure by name, on a sheet.
pub(super) fn all_on(sheet: Sheet) -> Vec<(&'static str, Figure)> {
    SHEET.set(sheet);
    let figures = all();
    SHEET.set(Sheet::Wide);
    figures
}

/// Every sample figure by name.
pub(super) fn all() -> Vec<(&'static str, Figure)> {
    let mut figures = run::figures();
    figures.extend(agreement::figures());
    figures.extend(study::figures());
    figures.extend(trace::figures());
    figures
}
