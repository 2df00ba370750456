//! Where two greedy generations part, and whether the model was of two minds there.

use std::collections::BTreeMap;

/// The tokens of one side with the log probabilities of its best alternatives at each position.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tokens<'a> {
    /// The tokens chosen.
    pub tokens: Vec<&'a str>,
    /// At each position, the best tokens and their natural log probabilities; may be shorter than `tokens` where the answer gives none.
    pub best: Vec<BTreeMap<&'a str, f64>>,
}

/// What happened at the first token that differs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parting {
    /// Position of that token.
    pub index: usize,
    /// Whether each side's token is among the other's best: vLLM's rule for its own tests (`check_logprobs_close`).
    pub crossed: bool,
    /// The larger of how far, on either side, the other's token is below its own, in nats; infinite when it is not among the best.
    pub gap: f64,
}

impl Parting {
    /// Whether numeric noise explains the parting: each token among the other's best, and at most `nats` below.
    #[must_use]
    pub fn is_near_tie(&self, nats: f64) -> bool {
        self.crossed && self.gap <= nats
    }
}

/// Looks at the first differing token. After it the texts differ legitimately, so nothing behind it is compared. `None` when one side
/// is a beginning of the other, or a side gives no log probabilities there.
#[must_use]
pub fn parting(p: &Tokens<'_>, c: &Tokens<'_>) -> Option<Parting> {
    let index = p.tokens.iter().zip(&c.tokens).position(|(p, c)| p != c)?;
    let (p_best, c_best) = (p.best.get(index)?, c.best.get(index)?);
    if p_best.is_empty() || c_best.is_empty() {
        return None;
    }
    let (own, other) = (p.tokens[index], c.tokens[index]);
    let below =
        |best: &BTreeMap<&str, f64>, chosen: &str, rival: &str| match (best.get(chosen), best.get(rival)) {
            // A rival that scores higher was passed over by sampling: that is no gap.
            (Some(chosen), Some(rival)) => (chosen - rival).max(0.0),
            _ => f64::INFINITY,
        };
    let crossed = p_best.contains_key(other) && c_best.contains_key(own);
    Some(Parting { index, crossed, gap: below(p_best, own, other).max(below(c_best, other, own)) })
}

/// Largest |C − P| of the log probabilities of the tokens before the parting, in nats: the numeric noise of the model, free of what the
/// parting does. `None` when there is none to compare.
#[must_use]
pub fn largest_difference(p: &[f64], c: &[f64], common: usize) -> Option<f64> {
    super::finite(&p[..common.min(p.len())], &c[..common.min(c.len())])
        .map(|(p, c)| (c - p).abs())
        .reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side<'a>(tokens: &[&'a str], best: &[(&'a str, f64)]) -> Tokens<'a> {
        let best = vec![BTreeMap::from([(tokens[0], -0.1)]), best.iter().copied().collect()];
        Tokens { tokens: tokens.to_vec(), best }
    }

    #[test]
    fn tokens_that_both_sides_find_likely_part_at_a_near_tie() {
        let p = side(&["the", "cat", "sat"], &[("cat", -0.70), ("dog", -0.75)]);
        let c = side(&["the", "dog", "ran"], &[("dog", -0.71), ("cat", -0.74)]);
        let found = parting(&p, &c).unwrap();
        assert_eq!((found.index, found.crossed), (1, true));
        assert!((found.gap - 0.05).abs() < 1e-12);
        assert!(found.is_near_tie(0.1) && !found.is_near_tie(0.01));
    }

    #[test]
    fn a_token_that_the_other_never_thought_of_is_infinitely_far() {
        let p = side(&["the", "cat"], &[("cat", -0.70), ("dog", -0.75)]);
        let c = side(&["the", "!!!"], &[("!!!", -0.01), ("dog", -5.0)]);
        let found = parting(&p, &c).unwrap();
        assert_eq!((found.crossed, found.gap), (false, f64::INFINITY));
        assert!(!found.is_near_tie(1e9));
    }

    #[test]
    fn a_beginning_or_a_side_without_probabilities_has_no_parting() {
        let p = side(&["the", "cat"], &[("cat", -0.7)]);
        assert_eq!(parting(&p, &p), None);
        let bare = Tokens { tokens: vec!["the", "dog"], best: vec![] };
        assert_eq!(parting(&p, &bare), None);
    }

    #[test]
    fn log_probabilities_are_compared_up_to_the_parting() {
        assert_eq!(largest_difference(&[-1.0, -2.0, -9.0], &[-1.5, -2.0, -1.0], 2), Some(0.5));
        assert_eq!(largest_difference(&[f64::NAN], &[-1.0], 1), None);
        assert_eq!(largest_difference(&[], &[], 3), None);
    }
}
