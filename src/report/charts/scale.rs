//! Axes: from values to pixels, and ticks at human values. The only place of the crate's charts that takes logarithms,
//! powers and angles; its results go into pictures and text for people, never back into a simulation.

use super::data::Unit;
use super::numbers;
use super::scene::P;

/// A mapping from values to pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    /// Lowest value.
    pub(super) lo: f64,
    /// Highest value, above `lo`.
    pub(super) hi: f64,
    /// Logarithmic; then `lo` is above 0.
    pub(super) log: bool,
    /// Pixel of `lo`.
    pub(super) px_lo: f64,
    /// Pixel of `hi`.
    pub(super) px_hi: f64,
}

impl Scale {
    /// Where `value` stands, held to the ends of the axis. `value` is finite.
    pub(super) fn map(&self, value: f64) -> f64 {
        let share = if self.log {
            if value <= self.lo { 0.0 } else { log10(value / self.lo) / log10(self.hi / self.lo) }
        } else {
            (value - self.lo) / (self.hi - self.lo)
        };
        self.px_lo + share.clamp(0.0, 1.0) * (self.px_hi - self.px_lo)
    }

    /// Whether `value` stands on the axis (a millionth beyond the ends is still on it).
    pub(super) fn contains(&self, value: f64) -> bool {
        let slack = (self.hi - self.lo) * 1e-6;
        value >= self.lo - slack && value <= self.hi + slack
    }
}

/// A scale with its ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    /// The mapping.
    pub(super) scale: Scale,
    /// Values and what is written at them; an unlabelled tick has an empty text.
    pub(super) ticks: Vec<(f64, String)>,
    /// What to add to the axis title, e.g. "%" or "min"; empty where the ticks say it.
    pub(super) unit: String,
    /// Its values are names without an order, between which nothing is to be interpolated.
    pub(super) named: bool,
}

impl Axis {
    /// A linear axis over `lo..hi` exactly, with about `count` ticks.
    pub(super) fn exact(lo: f64, hi: f64, unit: &Unit, count: f64) -> Self {
        let (lo, hi) = widened(lo, hi);
        let (factor, name) = display_unit(unit, lo.abs().max(hi.abs()));
        let step = tick_step((hi - lo) * factor / count.max(1.0), unit, &name);
        let decimals = decimals_of(step);
        let first = (lo * factor / step - 1e-6).ceil();
        let last = (hi * factor / step + 1e-6).floor();
        let ticks = (0..=((last - first).clamp(0.0, 100.0) as u32))
            .map(|i| {
                let shown = (first + f64::from(i)) * step;
                (shown / factor, numbers::tick(shown, decimals))
            })
            .collect();
        Self { scale: Scale { lo, hi, log: false, px_lo: 0.0, px_hi: 1.0 }, ticks, unit: name, named: false }
    }

    /// A linear axis that ends at ticks and covers `lo..hi`.
    pub(super) fn rounded(lo: f64, hi: f64, unit: &Unit, count: f64) -> Self {
        let (lo, hi) = widened(lo, hi);
        let (factor, name) = display_unit(unit, lo.abs().max(hi.abs()));
        let step = tick_step((hi - lo) * factor / count.max(1.0), unit, &name) / factor;
        let down = (lo / step + 1e-6).floor() * step;
        let up = (hi / step - 1e-6).ceil() * step;
        Self::exact(down, if up > down { up } else { down + step }, unit, (up - down) / step)
    }

    /// A logarithmic axis that covers `lo..hi` (both above 0) and ends at 1, 2 or 5 times a power of ten.
    pub(super) fn log(lo: f64, hi: f64, unit: &Unit, count: f64) -> Self {
        let (lo, hi) = (lo.max(1e-300), hi.max(lo.max(1e-300)));
        let (mut down, mut up) = (below_125(lo), above_125(hi));
        if up / down < 9.99 {
            (down, up) = (below_125(lo / 2.0), above_125(hi * 2.0));
        }
        let scale = Scale { lo: down, hi: up, log: true, px_lo: 0.0, px_hi: 1.0 };
        Self { scale, ticks: log_ticks(down, up, unit, count), unit: log_unit(unit), named: false }
    }

    /// An axis of named values at 0, 1, 2, ...
    pub(super) fn categories(names: &[String]) -> Self {
        let hi = names.len() as f64 - 0.5;
        let scale = Scale { lo: -0.5, hi: hi.max(0.5), log: false, px_lo: 0.0, px_hi: 1.0 };
        let ticks = names.iter().enumerate().map(|(i, name)| (i as f64, name.clone())).collect();
        Self { scale, ticks, unit: String::new(), named: true }
    }

    /// The same axis between two pixels.
    pub(super) fn between(mut self, px_lo: f64, px_hi: f64) -> Self {
        self.scale.px_lo = px_lo;
        self.scale.px_hi = px_hi;
        self
    }

    /// Text for the axis title: `label (unit)`.
    pub(super) fn titled(&self, label: &str) -> String {
        if self.unit.is_empty() { label.to_owned() } else { format!("{label} ({})", self.unit) }
    }
}

/// Ends of an axis that are finite and apart.
fn widened(lo: f64, hi: f64) -> (f64, f64) {
    let lo = if lo.is_finite() { lo } else { 0.0 };
    let hi = if hi.is_finite() { hi } else { lo + 1.0 };
    if hi - lo > lo.abs().max(hi.abs()) * 1e-9 {
        (lo, hi)
    } else if lo == 0.0 {
        (0.0, 1.0)
    } else {
        (lo - lo.abs() * 0.1, lo + lo.abs() * 0.1)
    }
}

/// By what to multiply a value so that ticks are short, and the name of that unit.
fn display_unit(unit: &Unit, largest: f64) -> (f64, String) {
    let (factor, name) = match unit {
        Unit::Number => (1.0, ""),
        Unit::Named(name) => (1.0, name.as_str()),
        Unit::Share => (100.0, "%"),
        Unit::Seconds if largest < 1e-3 => (1e6, "µs"),
        Unit::Seconds if largest < 1.0 => (1e3, "ms"),
        Unit::Seconds if largest < 180.0 => (1.0, "s"),
        Unit::Seconds if largest < 3.0 * 3600.0 => (1.0 / 60.0, "min"),
        Unit::Seconds => (1.0 / 3600.0, "h"),
    };
    (factor, name.to_owned())
}

fn log_unit(unit: &Unit) -> String {
    if let Unit::Named(name) = unit { name.clone() } else { String::new() }
}

/// The smallest human step that is at least `least`.
fn tick_step(least: f64, unit: &Unit, name: &str) -> f64 {
    let of_clock: &[f64] = match (unit, name) {
        (Unit::Seconds, "min") if least > 1.0 => &[2.0, 5.0, 10.0, 15.0, 30.0, 60.0],
        (Unit::Seconds, "s") if least > 5.0 => &[10.0, 15.0, 30.0, 60.0],
        (Unit::Seconds, "h") if least > 1.0 => &[2.0, 3.0, 6.0, 12.0, 24.0, 48.0],
        _ => &[],
    };
    of_clock.iter().copied().find(|step| *step >= least).unwrap_or_else(|| above_125(least))
}

fn log_ticks(lo: f64, hi: f64, unit: &Unit, count: f64) -> Vec<(f64, String)> {
    let decades = log10(hi / lo);
    let every = (decades / count.max(1.0)).ceil().max(1.0) as i32;
    let labelled: &[f64] = if decades * 3.0 <= count { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let first = log10(lo).floor() as i32;
    let last = log10(hi).ceil() as i32;
    let mut ticks = Vec::new();
    for decade in first..=last {
        for digit in 1..10 {
            let value = f64::from(digit) * pow10(decade);
            let minor = digit != 1 && every > 1;
            if value < lo * 0.999_999 || value > hi * 1.000_001 || minor {
                continue;
            }
            let named = labelled.contains(&f64::from(digit)) && (decade - first).rem_euclid(every) == 0;
            ticks.push((value, if named { numbers::human(value, unit) } else { String::new() }));
        }
    }
    ticks
}

/// Digits after the point that tell multiples of `step` apart.
fn decimals_of(step: f64) -> usize {
    let mut decimals = 0;
    let mut scaled = step;
    while decimals < 12 && (scaled - scaled.round()).abs() > scaled * 1e-6 {
        decimals += 1;
        scaled *= 10.0;
    }
    decimals
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `value` (above 0).
pub(super) fn above_125(value: f64) -> f64 {
    let base = pow10(decade(value));
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * base).find(|step| *step >= value * 0.999_999_9).unwrap_or(10.0 * base)
}

/// The largest of 1, 2, 5 times a power of ten that is at most `value` (above 0).
pub(super) fn below_125(value: f64) -> f64 {
    let base = pow10(decade(value));
    [5.0, 2.0, 1.0].into_iter().map(|m| m * base).find(|step| *step <= value * 1.000_000_1).unwrap_or(base)
}

/// The power of ten at or below `value` (above 0).
pub(super) fn decade(value: f64) -> i32 {
    (log10(value.max(1e-300)) + 1e-9).floor() as i32
}

/// Decimal logarithm.
#[expect(clippy::disallowed_methods, reason = "places pixels and ticks only; nothing simulated depends on it")]
pub(super) fn log10(value: f64) -> f64 {
    value.log10()
}

/// Ten to a whole power.
#[expect(clippy::disallowed_methods, reason = "places pixels and ticks only; nothing simulated depends on it")]
pub(super) fn pow10(exponent: i32) -> f64 {
    if exponent < 0 { 1.0 / 10_f64.powi(-exponent) } else { 10_f64.powi(exponent) }
}

/// A regular polygon of `count` corners around a point, first corner upwards: a disc when there are many.
#[expect(clippy::disallowed_methods, reason = "places pixels only; nothing simulated depends on it")]
pub(super) fn arc_points(x: f64, y: f64, radius: f64, count: u32) -> Vec<P> {
    (0..count)
        .map(|i| {
            let angle = std::f64::consts::TAU * f64::from(i) / f64::from(count);
            (x + radius * angle.sin(), y - radius * angle.cos())
        })
        .collect()
}

/// Contrast of two colours, 1 to 21 (WCAG 2.1, "contrast ratio" and "relative luminance").
pub(super) fn contrast(a: (u8, u8, u8), b: (u8, u8, u8)) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[expect(clippy::disallowed_methods, reason = "chooses black or white for a label; nothing simulated depends on it")]
fn luminance((r, g, b): (u8, u8, u8)) -> f64 {
    let linear = |channel: u8| {
        let c = f64::from(channel) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).filter(|text| !text.is_empty()).collect()
    }

    #[test]
    fn ten_minutes_are_ticked_in_minutes() {
        let axis = Axis::exact(0.0, 600.0, &Unit::Seconds, 6.0);
        assert_eq!(labels(&axis), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(axis.titled("time"), "time (min)");
    }

    #[test]
    fn a_day_is_ticked_in_hours_that_divide_it() {
        assert_eq!(labels(&Axis::exact(0.0, 86_400.0, &Unit::Seconds, 9.0)), ["0", "3", "6", "9", "12", "15", "18", "21", "24"]);
    }

    #[test]
    fn shares_are_ticked_in_percent() {
        let axis = Axis::rounded(0.0, 0.0034, &Unit::Share, 4.0);
        assert_eq!(labels(&axis), ["0.0", "0.1", "0.2", "0.3", "0.4"]);
        assert_eq!(axis.unit, "%");
    }

    #[test]
    fn log_axes_name_their_decades() {
        assert_eq!(labels(&Axis::log(0.0012, 45.0, &Unit::Seconds, 6.0)), ["1 ms", "10 ms", "100 ms", "1 s", "10 s"]);
        assert_eq!(labels(&Axis::log(1.0, 12.0, &Unit::Number, 9.0)), ["1", "2", "5", "10", "20"]);
    }

    #[test]
    fn equal_and_missing_ends_still_make_an_axis() {
        for (lo, hi) in [(0.0, 0.0), (5.0, 5.0), (-3.0, -3.0), (f64::NAN, f64::NAN), (f64::INFINITY, f64::NEG_INFINITY)] {
            let axis = Axis::rounded(lo, hi, &Unit::Number, 5.0);
            assert!(axis.scale.hi > axis.scale.lo && axis.ticks.len() > 1, "{lo} {hi}: {axis:?}");
        }
    }

    #[test]
    fn black_on_white_has_the_highest_contrast() {
        assert!((contrast((0, 0, 0), (255, 255, 255)) - 21.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn rounded_axes_cover_their_data_and_keep_their_ticks(lo in -1e9_f64..1e9, span in 1e-6_f64..1e9, count in 2.0_f64..10.0) {
            let axis = Axis::rounded(lo, lo + span, &Unit::Number, count);
            let slack = (axis.scale.hi - axis.scale.lo) * 1e-5;
            prop_assert!(axis.scale.lo <= lo + slack && axis.scale.hi >= lo + span - slack);
            prop_assert!(axis.ticks.len() as f64 <= count + 3.0, "{} ticks for {count}", axis.ticks.len());
            prop_assert!(axis.ticks.iter().all(|(value, _)| axis.scale.contains(*value)));
        }

        #[test]
        fn log_axes_cover_their_data(lo in 1e-9_f64..1e6, times in 1.0_f64..1e9) {
            let axis = Axis::log(lo, lo * times, &Unit::Seconds, 7.0);
            prop_assert!(axis.scale.lo <= lo * 1.000_001 && axis.scale.hi >= lo * times * 0.999_999);
            let axis = axis.between(10.0, 110.0);
            prop_assert!((10.0..=110.0).contains(&axis.scale.map(lo * times / 2.0)));
        }
    }
}
