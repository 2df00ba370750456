//! One group against the rest within strata: exact conditional test (D. R. Cox, "Analysis of Binary Data", 1970), and the
//! common ratio of rates: S. Greenland and J. M. Robins, Biometrics 41 (1985).

use super::fisher::Margins;
use super::risk_ratio::{RiskRatio, katz};
use super::{Interval, Share, fisher, normal, trend};

/// Up to so many events the test is exact: the normal approximation is far too sure of few events in a small group.
const EXACT: u64 = 50;

/// A group and the rest at one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stratum {
    /// The group.
    pub group: Share,
    /// All others.
    pub rest: Share,
}

/// One-sided p-value: that the group gets as many events as it did, or more, were its rate that of the rest in every
/// stratum. Exact up to 50 events of the group, above that by [`trend::stratified`]. `None` when no stratum holds both sides
/// and an event.
#[must_use]
pub fn greater(strata: &[Stratum]) -> Option<f64> {
    let telling: Vec<&Stratum> =
        both(strata).filter(|stratum| stratum.group.events + stratum.rest.events > 0).collect();
    if telling.is_empty() {
        return None;
    }
    let events: u64 = telling.iter().map(|stratum| stratum.group.events).sum();
    if events > EXACT {
        let levels: Vec<_> =
            telling.iter().map(|stratum| vec![(0.0, stratum.rest), (1.0, stratum.group)]).collect();
        return trend::stratified(&levels).map(normal::upper_tail);
    }
    // The distribution of the group's events, all margins fixed: `below[k]` of exactly k, `reached` of `events` or more.
    // Only sums of positive terms, so that small tails stay exact.
    let events = events as usize;
    let (mut below, mut reached) = (vec![0.0; events], 0.0);
    match below.first_mut() {
        Some(none) => *none = 1.0,
        None => reached = 1.0,
    }
    for stratum in telling {
        let (exactly, at_least) = distribution(stratum, events);
        reached += (0..events).map(|k| below[k] * at_least[events - k]).sum::<f64>();
        below = (0..events).map(|k| (0..=k).map(|own| below[k - own] * exactly[own]).sum()).collect();
    }
    Some(f64::min(reached, 1.0))
}

/// Probabilities that the group gets exactly 0 to `events` of the stratum's events, and at least so many.
fn distribution(stratum: &Stratum, events: usize) -> (Vec<f64>, Vec<f64>) {
    let (group, rest) = (stratum.group, stratum.rest);
    let all = group.events + rest.events;
    let margins = Margins { events: all, first: group.trials, second: rest.trials };
    let (lowest, highest) = margins.range();
    let possible = |k: usize| (lowest..=highest).contains(&(k as u64));
    let exactly: Vec<f64> =
        (0..=events).map(|k| if possible(k) { margins.probability(k as u64) } else { 0.0 }).collect();
    let mut at_least = vec![0.0; events + 1];
    let top = events as u64;
    at_least[events] = match () {
        () if top <= lowest => 1.0,
        () if top > highest => 0.0,
        () => {
            fisher::greater(Share { events: top, ..group }, Share { events: all - top, trials: rest.trials })
        }
    };
    for k in (0..events).rev() {
        at_least[k] = f64::min(at_least[k + 1] + exactly[k], 1.0);
    }
    (exactly, at_least)
}

/// Ratio of the rates within strata, group over rest. Where either has no event in any stratum that holds both, the ratio of
/// their sums by [`katz`]. `None` when no stratum holds both.
#[must_use]
pub fn ratio(strata: &[Stratum], confidence: f64) -> Option<RiskRatio> {
    let (mut of_group, mut of_rest, mut variance) = (0.0, 0.0, 0.0);
    for stratum in both(strata) {
        let [a, n] = [stratum.group.events, stratum.group.trials].map(|count| count as f64);
        let [b, m] = [stratum.rest.events, stratum.rest.trials].map(|count| count as f64);
        let all = n + m;
        of_group += a * m / all;
        of_rest += b * n / all;
        variance += (n * m * (a + b) - a * b * all) / (all * all);
    }
    if of_group > 0.0 && of_rest > 0.0 {
        let ratio = of_group / of_rest;
        let error = (variance / (of_group * of_rest)).max(0.0).sqrt();
        let spread = (normal::two_sided_z(confidence) * error).exp();
        return Some(RiskRatio {
            ratio,
            interval: Interval { lower: ratio / spread, upper: ratio * spread },
        });
    }
    katz(
        both(strata).map(|stratum| stratum.group).sum(),
        both(strata).map(|stratum| stratum.rest).sum(),
        confidence,
    )
}

fn both(strata: &[Stratum]) -> impl Iterator<Item = &Stratum> {
    strata.iter().filter(|stratum| stratum.group.trials > 0 && stratum.rest.trials > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::close;

    fn stratum(a: u64, n: u64, b: u64, m: u64) -> Stratum {
        Stratum { group: Share { events: a, trials: n }, rest: Share { events: b, trials: m } }
    }

    #[test]
    fn one_stratum_is_the_exact_test_of_fisher() {
        let table = stratum(4, 4, 0, 4);
        close(greater(&[table]).unwrap(), fisher::greater(table.group, table.rest), 9);
        let table = stratum(3, 1000, 9, 40_000);
        close(greater(&[table]).unwrap(), fisher::greater(table.group, table.rest), 9);
    }

    // The p-value is from exact fractions, the ratio of the formula in Python, equal to statsmodels' pooled ratio.
    #[test]
    fn several_strata_have_their_reference_values() {
        let strata =
            [stratum(2, 30, 1, 300), stratum(1, 10, 4, 500), stratum(0, 5, 2, 50), stratum(3, 40, 9, 400)];
        close(greater(&strata).unwrap(), 0.003_771_815_838_323_223_3, 8);
        let of_all = ratio(&strata, 0.95).unwrap();
        close(of_all.ratio, 4.725_609_756_097_56, 12);
        close(of_all.interval.lower, 1.881_965_189_103_221, 9);
        close(of_all.interval.upper, 11.865_993_960_050_673, 9);
    }

    #[test]
    fn one_event_in_a_small_group_among_many_is_chance() {
        assert!(greater(&[stratum(1, 30, 11, 60_000)]).unwrap() > 1e-3);
    }

    #[test]
    fn a_group_without_company_or_events_says_nothing() {
        assert_eq!(greater(&[stratum(5, 9, 0, 0), stratum(0, 9, 0, 9)]), None);
        assert_eq!(ratio(&[stratum(5, 9, 0, 0)], 0.95), None);
        assert_eq!(greater(&[stratum(0, 9, 3, 9)]), Some(1.0));
        assert_eq!(greater(&[stratum(9, 9, 9, 9)]), Some(1.0), "margins that leave no choice");
    }

    #[test]
    fn many_events_go_over_to_the_normal_tail() {
        let (exact, normal) = (stratum(50, 1000, 300, 8000), stratum(51, 1000, 300, 8000));
        let (exact, normal) = (greater(&[exact]).unwrap(), greater(&[normal]).unwrap());
        assert!(normal < exact && normal > exact / 4.0, "{normal} {exact}");
    }
}
