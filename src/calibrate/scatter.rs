//! A search by points strewn evenly around the best one so far: what helps where a function is jagged and a simplex collapses.

/// Bases of Halton's sequence, one to a dimension.
const BASES: [u32; 5] = [2, 3, 5, 7, 11];

/// Starts from the point 0; for each of `radii` strews `points` over the cube of that half width around the best so far, and moves on to
/// any that is better at once. Answers the best point and its value; only the first `dimensions` axes are used.
///
/// The points are Halton's (1960, "On the efficiency of certain quasi-random sequences of points"): no randomness.
pub(super) fn comb<const N: usize>(
    mut f: impl FnMut(&[f64; N]) -> f64,
    dimensions: usize,
    radii: &[f64],
    points: u32,
) -> ([f64; N], f64) {
    let start = [0.0; N];
    let mut best = (start, f(&start));
    let mut index = 1;
    for radius in radii {
        for _ in 0..points {
            let mut point = best.0;
            for (axis, base) in point.iter_mut().zip(BASES).take(dimensions) {
                *axis += radius * (2.0 * radical_inverse(index, base) - 1.0);
            }
            index += 1;
            let value = f(&point);
            if value < best.1 {
                best = (point, value);
            }
        }
    }
    best
}

/// The digits of `index` in `base`, mirrored behind the point: in [0, 1).
fn radical_inverse(mut index: u32, base: u32) -> f64 {
    let (mut value, mut place) = (0.0, 1.0);
    while index > 0 {
        place /= f64::from(base);
        value += place * f64::from(index % base);
        index /= base;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halton_s_first_points_are_known() {
        assert_eq!([1, 2, 3, 4].map(|i| radical_inverse(i, 2)), [0.5, 0.25, 0.75, 0.125]);
        assert!((radical_inverse(5, 3) - (2.0 / 3.0 + 1.0 / 9.0)).abs() < 1e-15);
    }

    #[test]
    fn a_jagged_bowl_is_combed_to_its_bottom() {
        let jag = |x: f64| (x * 40.0).fract().abs() * 0.02;
        let f = |p: &[f64; 2]| (p[0] - 0.3) * (p[0] - 0.3) + (p[1] + 0.2) * (p[1] + 0.2) + jag(p[0]) + jag(p[1]);
        let (_, value) = comb(f, 2, &[0.5, 0.1, 0.02], 80);
        assert!(value < 0.01, "{value}");
    }
}
