//! Quantiles of samples that fit in memory.

/// Quantile `q` (0 to 1) by linear interpolation between order statistics (Hyndman & Fan 1996, type 7; the default of numpy).
/// Sorts the sample in part. `None` for an empty sample or one with a NaN.
#[must_use]
pub fn quantile(sample: &mut [f64], q: f64) -> Option<f64> {
    if sample.is_empty() || sample.iter().any(|value| value.is_nan()) {
        return None;
    }
    let position = (sample.len() - 1) as f64 * q.clamp(0.0, 1.0);
    let below = position.floor() as usize;
    let (_, low, rest) = sample.select_nth_unstable_by(below, f64::total_cmp);
    let low = *low;
    let high = rest.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
    let share = position - below as f64;
    // Between equal infinities there is nothing to interpolate.
    Some(if share == 0.0 || low == high { low } else { low + (high - low) * share })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::close;

    #[test]
    fn the_values_are_those_of_numpy() {
        let sample = || vec![0.1, 0.2, 0.1, 0.2];
        assert!(close(quantile(&mut sample(), 0.5), 0.15));
        assert!(close(quantile(&mut sample(), 0.99), 0.2));
        assert!(close(quantile(&mut [4.0, 1.0, 3.0, 2.0], 0.25), 1.75));
        assert!(close(quantile(&mut [7.0], 0.99), 7.0));
    }

    #[test]
    fn the_edges_are_the_extremes_and_nothing_has_none() {
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 0.0), Some(1.0));
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 1.0), Some(3.0));
        assert_eq!(quantile(&mut [f64::INFINITY; 3], 0.4), Some(f64::INFINITY));
        assert_eq!(quantile(&mut [], 0.5), None);
        assert_eq!(quantile(&mut [1.0, f64::NAN], 0.5), None);
    }
}
