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
    fn no_trials_have_no_interval() {
        assert_eq!(interval(Share::default(), 0.95), None);
    }
}
