//! Where a rate steps up: all splits of the levels into below and from there on.

use super::{Share, normal, risk_ratio, trend};

/// One split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// Index of the first level of the upper part, 1 or more.
    pub from: usize,
    /// Two-proportion z (pooled variance) of the upper part against the lower.
    pub z: f64,
    /// Twice the gain in binomial log likelihood of two rates over one.
    pub likelihood_ratio: f64,
    /// Upper tail of `z`, times the number of splits (Bonferroni), at most 1.
    pub p_value: f64,
    /// Below the split.
    pub below: Share,
    /// From the split on.
    pub above: Share,
}

/// All splits of `levels` (ascending) at which a z is defined.
#[must_use]
pub fn splits(levels: &[Share]) -> Vec<Split> {
    let all: Share = levels.iter().copied().sum();
    let tests = levels.len().saturating_sub(1) as f64;
    let mut below = Share::default();
    let mut found = Vec::new();
    for (index, level) in levels.iter().enumerate() {
        let above = Share { events: all.events - below.events, trials: all.trials - below.trials };
        if let (true, Some(z)) = (index > 0, trend::cochran_armitage(&[(0.0, below), (1.0, above)])) {
            let likelihood_ratio = 2.0 * (likelihood(below) + likelihood(above) - likelihood(all));
            let p_value = (normal::upper_tail(z) * tests).min(1.0);
            found.push(Split { from: index, z, likelihood_ratio, p_value, below, above });
        }
        below = below + *level;
    }
    found
}

/// The split with the highest z; the lowest of equals.
#[must_use]
pub fn strongest(levels: &[Share]) -> Option<Split> {
    best(levels, |split| split.z)
}

/// The most likely step upwards (maximum likelihood of a rate with one change point); the lowest of equals. It finds the
/// step more closely than the highest z when the rate below is near zero.
#[must_use]
pub fn step(levels: &[Share]) -> Option<Split> {
    best(levels, |split| if split.z > 0.0 { split.likelihood_ratio } else { f64::NEG_INFINITY })
        .filter(|split| split.z > 0.0)
}

/// The lowest load at which the rate is surely raised: the most likely step, then steps below it for as long as they are
/// significant (`p_value` below `p_max`, and the lower 95 % bound of the ratio above `ratio_min`). Where the rate climbs over
/// several levels this is the foot of the climb and [`step`] its steepest place. `above` ends at the next higher step.
#[must_use]
pub fn foot(levels: &[Share], p_max: f64, ratio_min: f64) -> Option<Split> {
    let mut found = step(levels)?;
    while let Some(lower) = step(&levels[..found.from]) {
        let ratio = risk_ratio::katz(lower.above, lower.below, 0.95);
        if lower.p_value >= p_max || ratio.is_none_or(|ratio| ratio.interval.lower <= ratio_min) {
            break;
        }
        found = lower;
    }
    Some(found)
}

fn best(levels: &[Share], value: impl Fn(&Split) -> f64) -> Option<Split> {
    let all = splits(levels);
    all.into_iter().reduce(|best, next| if value(&next) > value(&best) { next } else { best })
}

/// Binomial log likelihood at the observed rate, without the constant.
fn likelihood(share: Share) -> f64 {
    let term = |count: u64| {
        if count == 0 { 0.0 } else { count as f64 * (count as f64 / share.trials as f64).ln() }
    };
    term(share.events) + term(share.trials - share.events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::close;

    fn levels(events: &[u64], trials: u64) -> Vec<Share> {
        events.iter().map(|&events| Share { events, trials }).collect()
    }

    #[test]
    fn the_strongest_split_has_its_reference_value() {
        let split = strongest(&levels(&[0, 1, 0, 2, 1, 3, 4, 9, 15, 22], 1000)).unwrap();
        assert_eq!(split.from, 8);
        close(split.z, 8.5013, 5);
    }

    #[test]
    fn a_clean_step_is_found_where_it_is() {
        let split = step(&levels(&[0, 0, 0, 0, 0, 7, 6, 9, 8], 100)).unwrap();
        assert_eq!((split.from, split.below.events, split.above.events), (5, 0, 30));
        assert!(split.p_value < 1e-6);
    }

    #[test]
    fn the_foot_of_a_climb_lies_below_its_steepest_step_and_is_that_step_when_there_is_one() {
        let climb = levels(&[2, 3, 2, 30, 35, 210, 220, 900, 950], 1000);
        assert_eq!(step(&climb).unwrap().from, 7);
        assert_eq!(foot(&climb, 1e-3, 1.5).unwrap().from, 3);
        let clean = levels(&[2, 1, 2, 3, 1, 70, 60, 90, 80], 1000);
        assert_eq!((step(&clean).unwrap().from, foot(&clean, 1e-3, 1.5).unwrap().from), (5, 5));
    }

    #[test]
    fn a_falling_or_absent_rate_has_no_step() {
        assert_eq!(step(&levels(&[9, 8, 0, 0], 100)), None);
        assert_eq!(step(&levels(&[0, 0, 0], 100)), None);
        assert_eq!(step(&[]), None);
    }
}
