//! Ratio of two rates: D. Katz et al., Biometrics 34 (1978).

use super::{Interval, Share, normal};

/// A ratio of rates and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RiskRatio {
    /// Rate of the first over rate of the second.
    pub ratio: f64,
    /// Log-normal interval of it.
    pub interval: Interval,
}

/// Ratio of the rates of `a` over `b`, standard error of its logarithm `√(1/x − 1/m + 1/y − 1/n)`. When either has no
/// event, half an event and half a trial is added to both. `None` when either has no trials.
#[must_use]
pub fn katz(a: Share, b: Share, confidence: f64) -> Option<RiskRatio> {
    if a.trials == 0 || b.trials == 0 {
        return None;
    }
    let add = if a.events == 0 || b.events == 0 { 0.5 } else { 0.0 };
    let (x, m) = (a.events as f64 + add, a.trials as f64 + add);
    let (y, n) = (b.events as f64 + add, b.trials as f64 + add);
    let ratio = (x / m) / (y / n);
    let error = (1.0 / x - 1.0 / m + 1.0 / y - 1.0 / n).max(0.0).sqrt();
    let spread = (normal::two_sided_z(confidence) * error).exp();
    Some(RiskRatio { ratio, interval: Interval { lower: ratio / spread, upper: ratio * spread } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::close;

    fn share(events: u64, trials: u64) -> Share {
        Share { events, trials }
    }

    #[test]
    fn ratios_have_their_reference_values() {
        let deciles = katz(share(46, 3000), share(1, 3000), 0.95).unwrap();
        close(deciles.ratio, 46.0, 9);
        close(deciles.interval.lower, 6.348, 4);
        close(deciles.interval.upper, 333.3, 4);
        let none_below = katz(share(5, 1000), share(0, 1000), 0.95).unwrap();
        close(none_below.ratio, 11.0, 9);
        close(none_below.interval.lower, 0.609, 3);
        close(none_below.interval.upper, 198.7, 4);
    }

    #[test]
    fn no_trials_have_no_ratio() {
        assert_eq!(katz(share(0, 0), share(1, 2), 0.95), None);
    }
}
