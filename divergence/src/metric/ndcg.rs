//! Normalised discounted cumulative gain (Järvelin & Kekäläinen 2002).

/// Σ gain_i / log2(i + 1) over the first `k` gains in the order shown, divided by the same of the best order; gains are taken as
/// they are (linear). `None` when the best is 0 or less, or a gain is not finite.
#[must_use]
pub fn ndcg(shown: &[f64], k: usize) -> Option<f64> {
    if shown.iter().any(|gain| !gain.is_finite()) {
        return None;
    }
    let mut best = shown.to_vec();
    best.sort_unstable_by(|a, b| b.total_cmp(a));
    let ideal = discounted(&best, k);
    (ideal > 0.0).then(|| discounted(shown, k) / ideal)
}

/// Without labels: how good the candidate's order is if the primary is right. The gain of an item is n − its rank on the primary
/// (0 when the primary lacks it); 1 for the same order. `None` for an empty primary.
#[must_use]
pub fn by_primary<T: PartialEq>(p: &[T], c: &[T], k: usize) -> Option<f64> {
    let gain =
        |item: &T| p.iter().position(|known| known == item).map_or(0.0, |rank| (p.len() - rank) as f64);
    let shown: Vec<f64> = c.iter().map(gain).collect();
    let best: Vec<f64> = p.iter().map(gain).collect();
    let ideal = discounted(&best, k);
    (ideal > 0.0).then(|| (discounted(&shown, k) / ideal).min(1.0))
}

fn discounted(gains: &[f64], k: usize) -> f64 {
    gains.iter().take(k).enumerate().map(|(index, gain)| gain / (index as f64 + 2.0).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::close;

    #[test]
    fn the_values_are_the_published_ones() {
        let gains = [3.0, 2.0, 3.0, 0.0, 1.0, 2.0];
        assert!(close(ndcg(&gains, 6), 0.960_808_194_336_061_7));
        let exponential = gains.map(|gain: f64| gain.exp2() - 1.0);
        assert!(close(ndcg(&exponential, 6), 0.948_810_748_567_898_5));
        assert_eq!(ndcg(&[0.0, 0.0], 2), None);
        assert_eq!(ndcg(&[f64::NAN], 1), None);
    }

    #[test]
    fn the_primarys_own_order_is_1_and_a_swap_at_the_top_is_less() {
        assert_eq!(by_primary(&["a", "b", "c"], &["a", "b", "c"], 3), Some(1.0));
        assert!(close(by_primary(&["a", "b", "c"], &["b", "a", "c"], 3), 0.922_494_511_676_598_5));
        assert_eq!(by_primary(&["a"], &["x"], 1), Some(0.0));
        assert_eq!(by_primary::<&str>(&[], &["x"], 1), None);
    }
}
