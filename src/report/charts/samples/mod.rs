//! Synthetic data for the tests of charts: several situations for each kind of figure.

use super::Figure;
use super::data::Heading;

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
        ..Heading::default()
    }
}

/// Every sample figure by name.
pub(super) fn all() -> Vec<(&'static str, Figure)> {
    let mut figures = run::figures();
    figures.extend(agreement::figures());
    figures.extend(study::figures());
    figures.extend(trace::figures());
    figures
}
