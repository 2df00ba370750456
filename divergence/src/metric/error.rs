//! Sizes of differences, in the unit of the output, and the tolerance it takes to pass them.

use serde::Serialize;

use super::finite;
use super::quantile::quantile;

/// Statistics of one kind of difference. The idea of giving all of them, so that the least tolerance that would pass can be read
/// off, is NVIDIA Polygraphy's (`check_error_stat`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Largest.
    pub max: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// 99 % quantile.
    pub q99: f64,
}

impl Spread {
    /// Statistics of a sample; `None` when it is empty.
    #[must_use]
    pub fn of(mut sample: Vec<f64>) -> Option<Self> {
        let max = sample.iter().copied().reduce(f64::max)?;
        // Summed as shares, so that no sum of large numbers overflows.
        let count = sample.len() as f64;
        let mean = sample.iter().map(|value| value / count).sum();
        let median = quantile(&mut sample, 0.5)?;
        let q99 = quantile(&mut sample, 0.99)?;
        Some(Self { max, mean, median, q99 })
    }
}

/// |C − P| of all pairs that are finite on both sides.
#[must_use]
pub fn absolute(p: &[f64], c: &[f64]) -> Option<Spread> {
    Spread::of(finite(p, c).map(|(p, c)| (c - p).abs()).collect())
}

/// |C − P| / |P| of all finite pairs with P ≠ 0.
#[must_use]
pub fn relative(p: &[f64], c: &[f64]) -> Option<Spread> {
    Spread::of(finite(p, c).filter(|(p, _)| *p != 0.0).map(|(p, c)| (c - p).abs() / p.abs()).collect())
}

/// Root of the mean of (C − P)², scaled by the largest difference so that no square overflows.
#[must_use]
pub fn rmse(p: &[f64], c: &[f64]) -> Option<f64> {
    let pairs = finite(p, c);
    let largest = pairs.clone().map(|(p, c)| (c - p).abs()).reduce(f64::max)?;
    if largest == 0.0 || largest.is_infinite() {
        return Some(largest);
    }
    let count = pairs.clone().count() as f64;
    let mean = pairs.map(|(p, c)| ((c - p) / largest).powi(2)).sum::<f64>() / count;
    Some(largest * mean.sqrt())
}

/// Largest difference of quantised values in steps of `scale`; a step of 1 leaves the integers. ±1 is rounding. `None` for no
/// elements, or a scale that is not above 0.
#[must_use]
pub fn steps(p: &[f64], c: &[f64], scale: f64) -> Option<f64> {
    let usable = scale > 0.0 && scale.is_finite();
    usable.then(|| finite(p, c).map(|(p, c)| (c - p).abs() / scale).reduce(f64::max)).flatten()
}

/// Least absolute tolerance at which every finite pair passes |C − P| <= atol + rtol·|P|.
#[must_use]
pub fn atol_to_pass(p: &[f64], c: &[f64], rtol: f64) -> Option<f64> {
    finite(p, c).map(|(p, c)| ((c - p).abs() - rtol * p.abs()).max(0.0)).reduce(f64::max)
}

/// Least relative tolerance at which every finite pair passes |C − P| <= atol + rtol·|P|; infinite where P is 0 and the difference
/// is past `atol`: no relative tolerance passes there.
#[must_use]
pub fn rtol_to_pass(p: &[f64], c: &[f64], atol: f64) -> Option<f64> {
    let needed = |(p, c): (f64, f64)| {
        let left = (c - p).abs() - atol;
        if left <= 0.0 { 0.0 } else { left / p.abs() }
    };
    finite(p, c).map(needed).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::close;

    const P: [f64; 4] = [1.0, 2.0, 3.0, 4.0];
    const C: [f64; 4] = [1.1, 1.9, 3.2, 3.8];

    #[test]
    fn the_statistics_are_those_of_numpy() {
        let spread = absolute(&P, &C).unwrap();
        assert!(close(Some(spread.mean), 0.15) && close(Some(spread.median), 0.15));
        assert!(close(Some(spread.q99), 0.2) && close(Some(spread.max), 0.2));
        assert!(close(rmse(&P, &C), 0.158_113_883_008_418_9));
        assert!(close(relative(&P, &C).map(|spread| spread.max), 0.1));
    }

    #[test]
    fn pairs_that_are_not_finite_are_left_out_and_nothing_has_no_statistics() {
        assert_eq!(absolute(&[f64::NAN, 1.0], &[0.0, 3.0]).map(|spread| spread.max), Some(2.0));
        assert_eq!(absolute(&[], &[]), None);
        assert_eq!(absolute(&[f64::NAN], &[f64::NAN]), None);
        assert_eq!(relative(&[0.0], &[1.0]), None);
        assert_eq!(rmse(&[f64::INFINITY], &[1.0]), None);
        assert_eq!(rmse(&P, &P), Some(0.0));
        assert!(close(rmse(&[0.0, 0.0], &[1e300, 1e300]).map(|value| value / 1e300), 1.0));
    }

    #[test]
    fn quantised_values_differ_in_steps() {
        assert_eq!(steps(&[-128.0, 5.0], &[127.0, 4.0], 1.0), Some(255.0));
        assert!(close(steps(&[0.0, 0.5], &[0.1, 0.5], 0.05), 2.0));
        assert_eq!(steps(&[1.0], &[2.0], 0.0), None);
        assert_eq!(steps(&[], &[], 1.0), None);
    }

    #[test]
    fn the_tolerance_that_is_named_passes_and_any_less_does_not() {
        let atol = atol_to_pass(&P, &C, 0.01).unwrap();
        assert!(close(Some(atol), 0.17));
        let rtol = rtol_to_pass(&P, &C, 0.01).unwrap();
        assert!(close(Some(rtol), 0.09));
        assert_eq!(rtol_to_pass(&[0.0], &[0.5], 0.1), Some(f64::INFINITY));
        assert_eq!(rtol_to_pass(&[0.0], &[0.05], 0.1), Some(0.0));
    }
}
