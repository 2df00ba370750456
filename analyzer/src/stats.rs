//! Statistics of counts: pure functions of values, one file per method.
//!
//! Each names its source. Nothing here reads files, knows classes, or draws random numbers. What a formula does not define
//! (an empty sample, no events) is `None`, never NaN.

pub mod bins;
pub mod fdr;
pub mod fisher;
pub mod homogeneity;
pub mod mcnemar;
pub mod newcombe;
pub mod normal;
pub mod onset;
pub mod risk_ratio;
pub mod stratified;
pub mod trend;
pub mod wilson;

use serde::{Deserialize, Serialize};

/// A closed interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

/// Events among trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Share {
    /// How many of the trials had the event; at most `trials`.
    pub events: u64,
    /// How many there were.
    pub trials: u64,
}

impl Share {
    /// Events per trial; `None` without trials.
    #[must_use]
    pub fn rate(self) -> Option<f64> {
        (self.trials > 0).then(|| self.events as f64 / self.trials as f64)
    }
}

impl std::ops::Add for Share {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { events: self.events + other.events, trials: self.trials + other.trials }
    }
}

impl std::iter::Sum for Share {
    fn sum<I: Iterator<Item = Self>>(shares: I) -> Self {
        shares.fold(Self::default(), std::ops::Add::add)
    }
}

#[cfg(test)]
pub(crate) fn close(actual: f64, expected: f64, digits: i32) {
    let tolerance = 0.5000001 * 10f64.powi(-digits) * 10f64.powf(expected.abs().log10().floor() + 1.0).abs();
    let tolerance = if expected == 0.0 { 10f64.powi(-digits) } else { tolerance };
    assert!((actual - expected).abs() <= tolerance, "{actual} is not {expected} to {digits} digits");
}
