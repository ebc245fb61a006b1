//! The downhill simplex of Nelder and Mead (1965), "A simplex method for function minimization": no derivatives, which a replayed
//! schedule does not have.

/// Starts from the point 0 and `spread` along each of the first `dimensions` axes, and stops after `budget` values of `f`, or when
/// all corners are within `tolerance` of each other in value. Answers the best point and its value.
///
/// No randomness: the same function gives the same answer.
pub(super) fn minimise<const N: usize>(
    mut f: impl FnMut(&[f64; N]) -> f64,
    dimensions: usize,
    spread: f64,
    budget: usize,
    tolerance: f64,
) -> ([f64; N], f64) {
    let start = [0.0; N];
    let mut corners = vec![(start, f(&start))];
    for i in 0..dimensions.min(N) {
        let mut corner = start;
        corner[i] = spread;
        corners.push((corner, f(&corner)));
    }
    let mut spent = corners.len();
    while spent < budget {
        corners.sort_by(|a, b| a.1.total_cmp(&b.1));
        let worst = corners.len() - 1;
        if corners[worst].1 - corners[0].1 < tolerance {
            break;
        }
        let centre = mean(&corners[..worst]);
        let mut at = |factor: f64| {
            let mut point = centre;
            for i in 0..N {
                point[i] = centre[i] + factor * (corners[worst].0[i] - centre[i]);
            }
            spent += 1;
            (point, f(&point))
        };
        let reflected = at(-1.0);
        let next = if reflected.1 < corners[0].1 {
            let expanded = at(-2.0);
            if expanded.1 < reflected.1 { Some(expanded) } else { Some(reflected) }
        } else if reflected.1 < corners[worst - 1].1 {
            Some(reflected)
        } else {
            let contracted = if reflected.1 < corners[worst].1 { at(-0.5) } else { at(0.5) };
            (contracted.1 < reflected.1.min(corners[worst].1)).then_some(contracted)
        };
        match next {
            Some(corner) => corners[worst] = corner,
            None => {
                let best = corners[0].0;
                for corner in &mut corners[1..] {
                    corner.0 = mean(&[(best, 0.0), *corner]);
                    corner.1 = f(&corner.0);
                    spent += 1;
                }
            }
        }
    }
    corners.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).expect("there is a corner")
}

fn mean<const N: usize>(corners: &[([f64; N], f64)]) -> [f64; N] {
    let mut sum = [0.0; N];
    for (point, _) in corners {
        sum.iter_mut().zip(point).for_each(|(s, p)| *s += p);
    }
    sum.map(|s| s / corners.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valley_is_walked_down_to_its_bottom() {
        // Rosenbrock's valley, bottom at (1, 1).
        let f = |p: &[f64; 2]| 100.0 * (p[1] - p[0] * p[0]) * (p[1] - p[0] * p[0]) + (1.0 - p[0]) * (1.0 - p[0]);
        let (at, value) = minimise(f, 2, 0.3, 400, 1e-12);
        assert!(value < 1e-9 && (at[0] - 1.0).abs() < 1e-3, "{at:?} {value}");
    }

    #[test]
    fn axes_beyond_the_dimensions_stay_at_0() {
        let f = |p: &[f64; 2]| (p[0] + 1.0) * (p[0] + 1.0) + (p[1] - 5.0) * (p[1] - 5.0);
        let (at, _) = minimise(f, 1, 0.5, 200, 1e-12);
        assert_eq!(at[1], 0.0);
        assert!((at[0] + 1.0).abs() < 1e-3, "{at:?}");
    }
}
