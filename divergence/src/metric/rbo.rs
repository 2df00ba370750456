//! Rank-biased overlap: agreement of two rankings that weighs the top most.

use std::collections::BTreeSet;

/// The persistence that gives the first ten ranks 86 % of the weight (Webber et al. 2010, section 4.4).
pub const PERSISTENCE: f64 = 0.9;

/// RBO_EXT of two lists of ids, best first, by equation 32 of Webber, Moffat & Zobel (2010): 1 for identical lists, 0 for disjoint
/// ones, whatever their lengths. Plain truncated RBO would give identical lists of ten 0.651. Ids that occur twice count at their
/// first place; ties are to be broken by the caller. `None` for two empty lists, or a persistence that is not between 0 and 1.
#[must_use]
pub fn extrapolated<T: Ord>(p: &[T], c: &[T], persistence: f64) -> Option<f64> {
    let usable = persistence > 0.0 && persistence < 1.0;
    let (short, long) = if p.len() <= c.len() { (p, c) } else { (c, p) };
    let (s, l) = (short.len(), long.len());
    if l == 0 || !usable {
        return None;
    }
    if s == 0 {
        return Some(0.0);
    }
    let (mut seen_short, mut seen_long) = (BTreeSet::new(), BTreeSet::new());
    let mut shared = 0_usize;
    let mut shared_at_s = 0.0;
    let mut sum = 0.0;
    let mut weight = 1.0;
    for depth in 1..=l {
        weight *= persistence;
        if let Some(item) = short.get(depth - 1).filter(|item| seen_short.insert(*item)) {
            shared += usize::from(seen_long.contains(item));
        }
        let item = &long[depth - 1];
        if seen_long.insert(item) {
            shared += usize::from(seen_short.contains(item));
        }
        let d = depth as f64;
        sum += shared as f64 / d * weight;
        if depth == s {
            shared_at_s = shared as f64;
        }
        if depth > s {
            sum += shared_at_s * (d - s as f64) / (s as f64 * d) * weight;
        }
    }
    let tail = (shared as f64 - shared_at_s) / l as f64 + shared_at_s / s as f64;
    Some(((1.0 - persistence) / persistence * sum + tail * weight).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::close;

    fn of(p: &str, c: &str) -> Option<f64> {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        extrapolated(&letters(p), &letters(c), PERSISTENCE)
    }

    #[test]
    fn the_values_are_those_of_equation_32() {
        assert!(close(of("abcdefghij", "abcdefghij"), 1.0));
        assert!(close(of("abcdefghij", "bacdefghij"), 0.9));
        assert!(close(of("abcdefghij", "abcdefghix"), 0.961_257_95));
        assert!(close(of("abcdefghij", "jihgfedcba"), 0.511_607_57));
        assert!(close(of("abcd", "bdxaz"), 0.618_75));
        assert!(close(of("bdxaz", "abcd"), 0.618_75));
        assert!(close(of("abc", "xyz"), 0.0));
    }

    #[test]
    fn empty_lists_and_bad_weights_have_none() {
        assert_eq!(of("", ""), None);
        assert_eq!(of("", "a"), Some(0.0));
        assert_eq!(extrapolated(&["a"], &["a"], 1.0), None);
        assert_eq!(extrapolated(&["a"], &["a"], f64::NAN), None);
        assert!(of("aab", "ab").is_some_and(|rbo| rbo <= 1.0));
    }
}
