//! Mid-rank bins: quantile bins that never part equal values.

/// Bin of each value, given the counts of the distinct values in ascending order: `floor(bins · midrank / n)` where the
/// mid-rank of a value is the count below it plus half its own. Bins may stay empty. Values without a count get the bin
/// that their place would have.
#[must_use]
pub fn mid_rank(counts: &[u64], bins: usize) -> Vec<usize> {
    let total: u64 = counts.iter().sum();
    let mut below = 0_u64;
    let of_value = counts.iter().map(|&count| {
        let share = mid_share(below, count, total);
        below += count;
        ((bins as f64 * share) as usize).min(bins.saturating_sub(1))
    });
    of_value.collect()
}

/// Mid-rank of a value as a share of all, 0 to 1; 0 when there is nothing.
#[must_use]
pub fn mid_share(below: u64, count: u64, total: u64) -> f64 {
    if total == 0 { 0.0 } else { (below as f64 + count as f64 / 2.0) / total as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_stay_together_as_in_the_reference() {
        let counts = [50, 30, 10, 5, 5];
        assert_eq!(mid_rank(&counts, 5), [1, 3, 4, 4, 4]);
        assert_eq!(mid_rank(&counts, 10), [2, 6, 8, 9, 9]);
    }

    #[test]
    fn one_value_is_one_bin_and_nothing_is_none() {
        assert_eq!(mid_rank(&[7], 8), [4]);
        assert!(mid_rank(&[], 8).is_empty());
        assert_eq!(mid_rank(&[0, 0], 8), [0, 0]);
    }
}
