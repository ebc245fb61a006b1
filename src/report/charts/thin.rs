//! Long curves thinned to the pixels, so that files stay small and peaks stay in sight.

use super::data::Sample;
use super::scale::Scale;
use super::scene::P;

/// How samples are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// Each value holds until the next sample, the last one to the end of the axis.
    Step,
    /// Straight from sample to sample.
    Straight,
}

/// The samples as polylines in pixels: gaps where values are not finite, a few points per pixel column.
pub(super) fn polylines(points: &[Sample], x: &Scale, y: &Scale, join: Join) -> Vec<Vec<P>> {
    let mut lines = Vec::new();
    for run in runs(points) {
        let placed: Vec<P> = run.iter().map(|[at, value]| (x.map(*at), y.map(*value))).collect();
        let mut line = thinned(&placed);
        if join == Join::Step {
            line = stepped(&line, run_end(points, run, x));
        }
        if line.len() == 1 {
            // A lone sample would be invisible: a short dash stands for it.
            line.push((line[0].0 + 2.0, line[0].1));
        }
        lines.push(line);
    }
    lines
}

/// Stretches of finite samples.
fn runs(points: &[Sample]) -> impl Iterator<Item = &[Sample]> {
    points.split(|[at, value]| !at.is_finite() || !value.is_finite()).filter(|run| !run.is_empty())
}

/// Up to where the last value of `run` holds: the sample that opens the gap behind it, or the end of the axis.
fn run_end(points: &[Sample], run: &[Sample], x: &Scale) -> f64 {
    let last = run[run.len() - 1][0];
    let behind = points.partition_point(|[at, _]| *at <= last);
    match points.get(behind) {
        Some([at, _]) if at.is_finite() => x.map(*at),
        _ => x.px_hi,
    }
}

/// Lowest and highest point of each pixel column, in order, and the ends; all points where they are few.
fn thinned(points: &[P]) -> Vec<P> {
    if points.len() < 64 {
        return points.to_vec();
    }
    let mut kept: Vec<P> = Vec::new();
    let mut from = 0;
    while from < points.len() {
        let column = points[from].0.floor();
        let to = from + points[from..].iter().position(|p| p.0.floor() > column).unwrap_or(points.len() - from);
        let within = &points[from..to];
        let place = |better: fn(f64, f64) -> bool| {
            (1..within.len()).fold(0, |best, i| if better(within[i].1, within[best].1) { i } else { best })
        };
        let mut places = vec![place(|a, b| a < b), place(|a, b| a > b)];
        places.extend([0].iter().filter(|_| from == 0));
        places.extend([within.len() - 1].iter().filter(|_| to == points.len()));
        places.sort_unstable();
        for (i, &at) in places.iter().enumerate() {
            if i == 0 || places[i - 1] != at {
                kept.push(within[at]);
            }
        }
        from = to;
    }
    kept
}

/// Corners of a step curve; points that continue a level are left out.
fn stepped(points: &[P], end: f64) -> Vec<P> {
    let mut line: Vec<P> = Vec::with_capacity(points.len() * 2 + 1);
    for &(x, y) in points {
        match line.last() {
            Some(&(_, level)) if level == y => {}
            Some(&(_, level)) => line.extend([(x, level), (x, y)]),
            None => line.push((x, y)),
        }
    }
    if let Some(&(x, y)) = line.last() {
        line.push((end.max(x), y));
    }
    line
}

/// Lowest and highest finite value of several curves; `None` where there is none.
pub(super) fn range<'a>(curves: impl IntoIterator<Item = &'a [Sample]>) -> Option<(f64, f64)> {
    let values = curves.into_iter().flatten().map(|sample| sample[1]).filter(|value| value.is_finite());
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((lo, hi)) => Some((f64::min(lo, value), f64::max(hi, value))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scale(hi: f64, px: f64) -> Scale {
        Scale { lo: 0.0, hi, log: false, px_lo: 0.0, px_hi: px }
    }

    #[test]
    fn a_hundred_thousand_samples_keep_their_single_peak() {
        let points: Vec<Sample> =
            (0..100_000).map(|i| [f64::from(i), if i == 54_321 { 9.0 } else { f64::from(i % 3) }]).collect();
        let lines = polylines(&points, &scale(100_000.0, 800.0), &scale(10.0, 100.0), Join::Straight);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].len() <= 2 * 801 + 2, "{} points", lines[0].len());
        assert!(lines[0].iter().any(|p| p.1 == 90.0));
    }

    #[test]
    fn what_is_not_known_leaves_a_gap() {
        let points = [[0.0, 1.0], [1.0, 2.0], [2.0, f64::NAN], [3.0, 1.0], [4.0, 1.0]];
        let lines = polylines(&points, &scale(5.0, 50.0), &scale(2.0, 20.0), Join::Step);
        assert_eq!(lines, [vec![(0.0, 10.0), (10.0, 10.0), (10.0, 20.0), (20.0, 20.0)], vec![(30.0, 10.0), (50.0, 10.0)]]);
    }

    #[test]
    fn ranges_skip_what_is_not_finite() {
        assert_eq!(range([[[0.0, f64::NAN], [1.0, 3.0]].as_slice(), &[[0.0, -1.0]]]), Some((-1.0, 3.0)));
        assert_eq!(range([[[0.0, f64::INFINITY]].as_slice()]), None);
    }

    proptest! {
        #[test]
        fn thinning_keeps_extremes_and_ends(values in prop::collection::vec(0.0_f64..100.0, 1..3000)) {
            let points: Vec<P> = values.iter().enumerate().map(|(i, v)| (i as f64 / 30.0, *v)).collect();
            let kept = thinned(&points);
            let extreme = |of: &[P], pick: fn(f64, f64) -> f64| of.iter().map(|p| p.1).reduce(pick);
            prop_assert_eq!(extreme(&kept, f64::min), extreme(&points, f64::min));
            prop_assert_eq!(extreme(&kept, f64::max), extreme(&points, f64::max));
            prop_assert_eq!((kept[0], kept[kept.len() - 1]), (points[0], points[points.len() - 1]));
        }
    }
}
