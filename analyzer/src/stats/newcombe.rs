//! Interval of the difference of two independent rates: R. G. Newcombe, Statistics in Medicine 17 (1998), method 10.

use super::{Interval, Share, wilson};

/// Interval of `a − b`, from the Wilson intervals of both; `None` when either has no trials.
#[must_use]
pub fn interval(a: Share, b: Share, confidence: f64) -> Option<Interval> {
    let (rate_a, rate_b) = (a.rate()?, b.rate()?);
    let (of_a, of_b) = (wilson::interval(a, confidence)?, wilson::interval(b, confidence)?);
    let difference = rate_a - rate_b;
    Some(Interval {
        lower: difference - (rate_a - of_a.lower).hypot(of_b.upper - rate_b),
        upper: difference + (of_a.upper - rate_a).hypot(rate_b - of_b.lower),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::close;

    #[test]
    fn the_difference_has_its_reference_interval() {
        let (a, b) = (Share { events: 18, trials: 1000 }, Share { events: 2, trials: 1000 });
        let interval = interval(a, b, 0.95).unwrap();
        close(interval.lower, 0.007_570_905_97, 9);
        close(interval.upper, 0.026_375_269_02, 9);
    }

    #[test]
    fn an_empty_side_has_no_interval() {
        assert_eq!(interval(Share { events: 1, trials: 2 }, Share::default(), 0.95), None);
    }
}
