//! Interval of a rate: E. B. Wilson, "Probable inference, the law of succession, and statistical inference" (1927).

use super::{Interval, Share, normal};

/// The score interval `(p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n)` at the two-sided `confidence`; `None` without
/// trials. With no event its lower end is 0, with all its upper end is 1.
#[must_use]
pub fn interval(share: Share, confidence: f64) -> Option<Interval> {
    let rate = share.rate()?;
    let z = normal::two_sided_z(confidence);
    let n = share.trials as f64;
    let shrink = 1.0 + z * z / n;
    let centre = (rate + z * z / (2.0 * n)) / shrink;
    let half = z * (rate * (1.0 - rate) / n + z * z / (4.0 * n * n)).sqrt() / shrink;
    let lower = if share.events == 0 { 0.0 } else { (centre - half).max(0.0) };
    let upper = if share.events == share.trials { 1.0 } else { (centre + half).min(1.0) };
    Some(Interval { lower, upper })
}

/// Trials without an event at which the upper end of [`interval`] comes down to `rate`: `z² (1 − rate) / rate`.
#[must_use]
pub fn trials_below(rate: f64, confidence: f64) -> f64 {
    normal::two_sided_z(confidence).powi(2) * (1.0 - rate) / rate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::close;

    #[test]
    fn intervals_have_their_reference_values() {
        let table = [
            (0, 100, 0.0, 0.036_993_498_21),
            (1, 100, 0.001_767_432_064, 0.054_486_196_18),
            (3, 100, 0.010_254_524_02, 0.084_519_364_29),
            (2, 1000, 0.000_548_643_588_1, 0.007_262_807_863),
            (100, 100, 0.963_006_501_8, 1.0),
            (0, 1, 0.0, 0.793_450_685_6),
            (18, 1000, 0.011_415_740_01, 0.028_273_255_17),
            (37, 50_000, 0.000_536_945_914_4, 0.001_019_763_661),
        ];
        for (events, trials, lower, upper) in table {
            let interval = interval(Share { events, trials }, 0.95).unwrap();
            close(interval.lower, lower, 9);
            close(interval.upper, upper, 9);
        }
    }

    #[test]
    fn so_many_trials_without_an_event_bring_the_upper_end_down_to_the_rate() {
        for (rate, confidence) in [(1e-3, 0.95), (0.02, 0.99), (1e-9, 0.5), (0.5, 0.999_999)] {
            let needed = trials_below(rate, confidence).ceil() as u64;
            let upper = |trials| interval(Share { events: 0, trials }, confidence).unwrap().upper;
            assert!(upper(needed) <= rate && (needed == 1 || upper(needed - 1) > rate), "{rate} {needed}");
        }
    }

    #[test]
    fn no_trials_have_no_interval() {
        assert_eq!(interval(Share::default(), 0.95), None);
    }
}
