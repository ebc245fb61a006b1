//! Small least squares with coefficients that are never negative.

/// Pivots below this share of their column's own square say that a column is a mixture of the others.
const DEPENDENT: f64 = 1e-9;

/// The `x >= 0` that brings `rows * x` closest to `wanted` in the sum of squares; columns not in `used` stay 0.
///
/// With at most a handful of columns every set of positive ones can be tried: the least squares of each set is solved by the
/// normal equations, and the best that is not negative anywhere is the answer (Lawson and Hanson 1974, "Solving Least Squares
/// Problems", chapter 23: the solution of the constrained problem is that of the plain one on its positive set).
pub(super) fn non_negative<const N: usize>(rows: &[[f64; N]], wanted: &[f64], used: [bool; N]) -> [f64; N] {
    let mut normal = [[0.0; N]; N];
    let mut right = [0.0; N];
    for (row, y) in rows.iter().zip(wanted) {
        for i in 0..N {
            right[i] += row[i] * y;
            for j in 0..N {
                normal[i][j] += row[i] * row[j];
            }
        }
    }
    let mut best = ([0.0; N], 0.0);
    for set in 1u32..(1 << N) {
        let columns: Vec<usize> = (0..N).filter(|i| set >> i & 1 == 1).collect();
        if columns.iter().any(|i| !used[*i]) {
            continue;
        }
        let Some(solution) = solve(&normal, &right, &columns) else { continue };
        if solution.iter().any(|x| *x < 0.0 || !x.is_finite()) {
            continue;
        }
        // What the squares shrink by: the larger the better.
        let gain: f64 = columns.iter().zip(&solution).map(|(i, x)| right[*i] * x).sum();
        if gain > best.1 {
            let mut x = [0.0; N];
            columns.iter().zip(solution).for_each(|(i, value)| x[*i] = value);
            best = (x, gain);
        }
    }
    best.0
}

/// Solves the normal equations on some columns, each scaled to a diagonal of 1, by Gauss and Jordan; `None` where columns depend
/// on each other.
fn solve<const N: usize>(normal: &[[f64; N]; N], right: &[f64; N], columns: &[usize]) -> Option<Vec<f64>> {
    let scales: Vec<f64> = columns.iter().map(|i| normal[*i][*i].sqrt()).collect();
    if scales.iter().any(|s| *s <= 0.0 || !s.is_finite()) {
        return None;
    }
    let n = columns.len();
    let mut m: Vec<Vec<f64>> = (0..n)
        .map(|r| {
            let mut row: Vec<f64> = (0..n).map(|c| normal[columns[r]][columns[c]] / (scales[r] * scales[c])).collect();
            row.push(right[columns[r]] / scales[r]);
            row
        })
        .collect();
    for i in 0..n {
        // Symmetric and positive: the diagonal needs no exchange of rows.
        let pivot = m[i].clone();
        if pivot[i] < DEPENDENT {
            return None;
        }
        for (k, row) in m.iter_mut().enumerate() {
            if k != i {
                let factor = row[i] / pivot[i];
                row.iter_mut().zip(&pivot).for_each(|(a, b)| *a -= factor * b);
            }
        }
    }
    Some((0..n).map(|i| m[i][n] / m[i][i] / scales[i]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_line_is_found_again() {
        let rows: Vec<[f64; 3]> = (0..20).map(|i| [1.0, f64::from(i), f64::from(i * i)]).collect();
        let wanted: Vec<f64> = rows.iter().map(|r| 3.0 * r[0] + 0.5 * r[1] + 0.25 * r[2]).collect();
        let x = non_negative(&rows, &wanted, [true; 3]);
        assert!(x.iter().zip([3.0, 0.5, 0.25]).all(|(got, want)| (got - want).abs() < 1e-6), "{x:?}");
    }

    #[test]
    fn what_would_be_negative_is_zero_and_the_rest_fits_best() {
        let rows: Vec<[f64; 2]> = (1..10).map(|i| [1.0, f64::from(i)]).collect();
        let wanted: Vec<f64> = (1..10).map(|i| 10.0 - f64::from(i)).collect();
        let x = non_negative(&rows, &wanted, [true; 2]);
        assert_eq!(x[1], 0.0);
        assert!((x[0] - 5.0).abs() < 1e-12, "the mean: {x:?}");
    }

    #[test]
    fn columns_that_depend_on_each_other_are_not_both_used() {
        let rows: Vec<[f64; 2]> = (1..10).map(|i| [f64::from(i), 2.0 * f64::from(i)]).collect();
        let wanted: Vec<f64> = (1..10).map(|i| 4.0 * f64::from(i)).collect();
        let x = non_negative(&rows, &wanted, [true; 2]);
        assert!(x.iter().filter(|v| **v > 0.0).count() == 1 && (x[0] + 2.0 * x[1] - 4.0).abs() < 1e-9, "{x:?}");
        assert_eq!(non_negative(&rows, &wanted, [true, false])[1], 0.0);
    }
}
