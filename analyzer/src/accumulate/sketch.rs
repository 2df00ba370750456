//! Magnitudes from 1e-12 to 1e6 and beyond: counts in logarithmic buckets, each 2 % wide, with zero, NaN and infinity apart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Ratio of neighbouring bucket bounds.
const GAMMA: f64 = 1.02;

/// Quantiles of non-negative numbers to 1 % of their value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sketch {
    zeros: u64,
    /// Count of values in `(GAMMA^(i−1), GAMMA^i]`, by i.
    #[serde(with = "super::pairs")]
    buckets: BTreeMap<i32, u64>,
    /// Infinite or NaN: beyond every number.
    pub(crate) beyond: u64,
}

impl Sketch {
    pub(crate) fn add(&mut self, value: f64) {
        if !value.is_finite() {
            self.beyond += 1;
        } else if value <= f64::MIN_POSITIVE {
            self.zeros += 1;
        } else {
            // Between −35,777 and 35,848 for every normal number.
            *self.buckets.entry((value.ln() / GAMMA.ln()).ceil() as i32).or_default() += 1;
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.zeros += other.zeros;
        self.beyond += other.beyond;
        for (bucket, count) in other.buckets {
            *self.buckets.entry(bucket).or_default() += count;
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.zeros + self.beyond + self.buckets.values().sum::<u64>()
    }

    /// The value at the quantile (0 to 1), to 1 %: infinite where NaN or infinity is reached; `None` when empty.
    pub(crate) fn quantile(&self, quantile: f64) -> Option<f64> {
        let count = self.count();
        let rank = ((quantile * count as f64).ceil() as u64).clamp(1, count.max(1));
        if count == 0 {
            return None;
        }
        let mut below = self.zeros;
        if rank <= below {
            return Some(0.0);
        }
        for (bucket, held) in &self.buckets {
            below += held;
            if rank <= below {
                // The middle, in relative terms, of the bucket.
                return Some(2.0 * GAMMA.powi(*bucket) / (1.0 + GAMMA));
            }
        }
        Some(f64::INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_hundredth() {
        let mut sketch = Sketch::default();
        (1..=10_000).for_each(|i| sketch.add(f64::from(i) * 1e-9));
        for (quantile, exact) in [(0.5, 5e-6), (0.98, 9.8e-6), (1.0, 1e-5)] {
            let value = sketch.quantile(quantile).unwrap();
            assert!((value / exact - 1.0).abs() <= 0.0101, "{value} {exact}");
        }
    }

    #[test]
    fn nan_and_infinity_are_worst_and_change_no_other_quantile() {
        let mut sketch = Sketch::default();
        [0.0, 0.0, 1.0, f64::NAN, f64::INFINITY].into_iter().for_each(|value| sketch.add(value));
        assert_eq!(sketch.quantile(0.4), Some(0.0));
        assert!((sketch.quantile(0.6).unwrap() - 1.0).abs() < 0.011);
        assert_eq!(sketch.quantile(1.0), Some(f64::INFINITY));
        assert_eq!((sketch.count(), sketch.beyond), (5, 2));
        assert_eq!(Sketch::default().quantile(0.5), None);
    }
}
