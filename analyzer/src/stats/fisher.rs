//! Exact test of a 2×2 table: R. A. Fisher (1935); the two-sided form sums all tables that are no more likely.

use statrs::function::factorial::ln_factorial;

use super::Share;

/// Terms below this share of a sum end it: beyond the mode they only shrink.
const NEGLIGIBLE: f64 = 1e-18;

/// The hypergeometric distribution of the events that fall to the first of two groups, all margins fixed.
pub(super) struct Margins {
    pub(super) events: u64,
    pub(super) first: u64,
    pub(super) second: u64,
}

impl Margins {
    pub(super) fn range(&self) -> (u64, u64) {
        (self.events.saturating_sub(self.second), self.events.min(self.first))
    }

    pub(super) fn probability(&self, x: u64) -> f64 {
        let choose = |n: u64, k: u64| ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
        let all = choose(self.first + self.second, self.events);
        (choose(self.first, x) + choose(self.second, self.events - x) - all).exp()
    }

    /// P(X ≥ x) for x at or beyond the mode, by the ratio of neighbours.
    fn tail_up(&self, x: u64) -> f64 {
        let (_, highest) = self.range();
        let mut term = self.probability(x);
        let mut sum = term;
        for k in x..highest {
            let rest = (self.second + k + 1 - self.events) as f64;
            term *= (self.first - k) as f64 * (self.events - k) as f64 / ((k + 1) as f64 * rest);
            sum += term;
            if term < sum * NEGLIGIBLE {
                break;
            }
        }
        sum
    }

    /// P(X ≤ x): the same seen from the second group.
    fn tail_down(&self, x: u64) -> f64 {
        let mirrored = Self { events: self.events, first: self.second, second: self.first };
        mirrored.tail_up(self.events - x)
    }

    fn mode(&self) -> u64 {
        let (events, first) = (u128::from(self.events), u128::from(self.first));
        let all = first + u128::from(self.second) + 2;
        let mode = ((events + 1) * (first + 1) / all) as u64;
        let (lowest, highest) = self.range();
        mode.clamp(lowest, highest)
    }
}

/// One-sided p-value: that the first group gets as many events as it did, or more.
#[must_use]
pub fn greater(first: Share, second: Share) -> f64 {
    let margins =
        Margins { events: first.events + second.events, first: first.trials, second: second.trials };
    let (lowest, _) = margins.range();
    if first.events <= lowest {
        return 1.0;
    }
    let p = if first.events >= margins.mode() {
        margins.tail_up(first.events)
    } else {
        1.0 - margins.tail_down(first.events - 1)
    };
    p.clamp(0.0, 1.0)
}

/// Two-sided p-value: the sum over all tables at most as likely as this one (within a relative 1e-7 for ties).
#[must_use]
pub fn two_sided(first: Share, second: Share) -> f64 {
    let margins =
        Margins { events: first.events + second.events, first: first.trials, second: second.trials };
    let (lowest, highest) = margins.range();
    let mode = margins.mode();
    let limit = margins.probability(first.events) * (1.0 + 1e-7);
    // On each side of the mode the probability falls, so the tables that count are found by bisection.
    let from = first_where(mode, highest + 1, |x| margins.probability(x) <= limit);
    let up_to = first_where(0, mode - lowest + 1, |step| margins.probability(mode - step) <= limit);
    let upper = if from <= highest { margins.tail_up(from) } else { 0.0 };
    let lower = if up_to <= mode - lowest { margins.tail_down(mode - up_to) } else { 0.0 };
    // The mode itself counts for both sides when it is no more likely than the table.
    if from == mode && up_to == 0 { 1.0 } else { (upper + lower).min(1.0) }
}

/// The first value of `low..high` for which `holds`, which must stay true once it is; `high` when there is none.
fn first_where(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::close;

    fn share(events: u64, trials: u64) -> Share {
        Share { events, trials }
    }

    // The expected value is from exact integer arithmetic.
    #[test]
    fn the_table_has_its_reference_p_value() {
        close(two_sided(share(18, 1000), share(2, 1000)), 3.784_931_200_893_657e-4, 9);
        close(two_sided(share(2, 1000), share(18, 1000)), 3.784_931_200_893_657e-4, 9);
    }

    #[test]
    fn the_tea_tasting_lady_is_as_fisher_left_her() {
        close(greater(share(4, 4), share(0, 4)), 1.0 / 70.0, 9);
        close(greater(share(3, 4), share(1, 4)), 17.0 / 70.0, 9);
        close(two_sided(share(3, 4), share(1, 4)), 34.0 / 70.0, 9);
        close(greater(share(1, 4), share(3, 4)), 69.0 / 70.0, 9);
    }

    #[test]
    fn margins_that_leave_no_choice_are_certain() {
        assert_eq!(greater(share(0, 10), share(0, 10)), 1.0);
        assert_eq!(two_sided(share(0, 10), share(0, 10)), 1.0);
        assert_eq!(two_sided(share(10, 10), share(10, 10)), 1.0);
        assert_eq!(greater(share(0, 0), share(3, 10)), 1.0);
    }

    #[test]
    fn large_tables_stay_finite() {
        let p = greater(share(500_000, 1_000_000), share(0, 3_000_000));
        assert!((0.0..1e-300).contains(&p));
    }
}
