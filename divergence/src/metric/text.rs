//! Sequences of tokens, words or characters: where two begin to differ, and by how much.

use serde::Serialize;

/// Most items of each side for which the edit distance and the longest common subsequence are computed: both take time in the product
/// of the lengths.
pub const MAX_QUADRATIC: usize = 4096;

/// How two sequences differ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sequences {
    /// Index of the first item that differs, or at which one side ends; `None` when they are equal.
    pub first_difference: Option<usize>,
    /// Length of the common beginning / the longer length, 0 to 1; 1 for two empty sequences.
    pub common_prefix: f64,
    /// Insertions, deletions and substitutions that lead from one to the other (Levenshtein 1966) / the longer length, 0 to 1. `None`
    /// past [`MAX_QUADRATIC`] items between the common ends.
    pub edit_distance: Option<f64>,
    /// ROUGE-L: the harmonic mean of the shares that the longest common subsequence has of both sides (Lin 2004, β = 1), 0 to 1.
    /// `None` as for the edit distance.
    pub rouge_l: Option<f64>,
}

/// Measures two sequences; symmetric. Equal beginnings and ends are taken off first, so that long texts with one change are cheap.
#[must_use]
pub fn sequences<T: PartialEq>(p: &[T], c: &[T]) -> Sequences {
    let longer = p.len().max(c.len());
    let prefix = p.iter().zip(c).take_while(|(p, c)| p == c).count();
    let (p_rest, c_rest) = (&p[prefix..], &c[prefix..]);
    let suffix = p_rest.iter().rev().zip(c_rest.iter().rev()).take_while(|(p, c)| p == c).count();
    let (p_rest, c_rest) = (&p_rest[..p_rest.len() - suffix], &c_rest[..c_rest.len() - suffix]);
    let bounded = p_rest.len() <= MAX_QUADRATIC && c_rest.len() <= MAX_QUADRATIC;
    let share = |part: usize, whole: usize| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
    let edits = bounded.then(|| levenshtein(p_rest, c_rest));
    let common = bounded.then(|| prefix + suffix + longest_common(p_rest, c_rest));
    Sequences {
        first_difference: (prefix < longer).then_some(prefix),
        common_prefix: share(prefix, longer),
        edit_distance: edits.map(|edits| if longer == 0 { 0.0 } else { edits as f64 / longer as f64 }),
        // 2·(L/n)(L/m) / (L/n + L/m) = 2L / (n + m)
        rouge_l: common.map(|common| share(2 * common, p.len() + c.len())),
    }
}

fn levenshtein<T: PartialEq>(p: &[T], c: &[T]) -> usize {
    let mut row: Vec<usize> = (0..=c.len()).collect();
    for (i, p) in p.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, c) in c.iter().enumerate() {
            let substituted = diagonal + usize::from(p != c);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

fn longest_common<T: PartialEq>(p: &[T], c: &[T]) -> usize {
    let mut row = vec![0_usize; c.len() + 1];
    for p in p {
        let mut diagonal = 0;
        for (j, c) in c.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if p == c { diagonal + 1 } else { above.max(row[j]) };
            diagonal = above;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// The words of a text: runs of characters that are no white space, as they are. The metrics of texts that come without tokens are over
/// words; letters are neither folded nor normalised.
#[must_use]
pub fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// The largest share of a sequence that repetition of one item makes up; above 0.95, a model is stuck (zeroed cache blocks give token
/// 0 again and again). `None` for fewer than `least` items.
#[must_use]
pub fn repeated<T: Ord>(items: &[T], least: usize) -> Option<f64> {
    if items.len() < least.max(1) {
        return None;
    }
    let mut sorted: Vec<&T> = items.iter().collect();
    sorted.sort_unstable();
    let longest = sorted.chunk_by(|a, b| a == b).map(<[_]>::len).max()?;
    Some(longest as f64 / items.len() as f64)
}

/// The share of a sequence that its ending makes up by repeating one run of up to `longest` items, when it repeats at least four
/// times: a loop. 0 without one.
#[must_use]
pub fn looped<T: PartialEq>(items: &[T], longest: usize) -> f64 {
    let best = (1..=longest.min(items.len() / 4)).map(|period| {
        let same =
            items.iter().rev().zip(items.iter().rev().skip(period)).take_while(|(a, b)| a == b).count();
        if same >= 3 * period { same + period } else { 0 }
    });
    best.max().map_or(0.0, |covered| covered as f64 / items.len() as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metric::close;

    fn of(p: &str, c: &str) -> Sequences {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        sequences(&letters(p), &letters(c))
    }

    #[test]
    fn the_edit_distance_has_the_textbook_values() {
        assert!(close(of("kitten", "sitting").edit_distance, 3.0 / 7.0));
        assert!(close(of("flaw", "lawn").edit_distance, 0.5));
        assert!(close(of("", "abc").edit_distance, 1.0));
    }

    #[test]
    fn rouge_l_is_that_of_the_paper() {
        let words = |text| words(text);
        let reference = words("police killed the gunman");
        assert!(close(sequences(&reference, &words("police kill the gunman")).rouge_l, 0.75));
        assert!(close(sequences(&reference, &words("the gunman kill police")).rouge_l, 0.5));
    }

    #[test]
    fn the_first_difference_is_where_one_ends_too() {
        let cut = of("abcd", "ab");
        assert_eq!((cut.first_difference, cut.common_prefix), (Some(2), 0.5));
        assert_eq!(of("abcd", "abxd").first_difference, Some(2));
        let same = of("abc", "abc");
        assert_eq!(
            (same.first_difference, same.common_prefix, same.edit_distance, same.rouge_l),
            (None, 1.0, Some(0.0), Some(1.0))
        );
        assert_eq!(of("", "").edit_distance, Some(0.0));
    }

    #[test]
    fn long_sequences_that_share_nothing_have_no_distance_and_one_change_has() {
        let long: Vec<usize> = (0..2 * MAX_QUADRATIC).collect();
        let other: Vec<usize> = (0..2 * MAX_QUADRATIC).map(|item| item + 1_000_000).collect();
        assert_eq!(sequences(&long, &other).edit_distance, None);
        let mut changed = long.clone();
        changed[17] = 5_000_000;
        assert!(close(sequences(&long, &changed).edit_distance, 1.0 / long.len() as f64));
    }

    #[test]
    fn a_stuck_model_repeats_one_token_or_a_loop() {
        assert_eq!(repeated(&[7, 7, 7, 7], 4), Some(1.0));
        assert_eq!(repeated(&[1, 2, 3, 3], 4), Some(0.5));
        assert_eq!((repeated(&[1, 1], 4), repeated::<u8>(&[], 0)), (None, None));
        assert_eq!(looped(&[9, 1, 2, 1, 2, 1, 2, 1, 2, 1], 8), 0.9);
        assert_eq!(looped(&[1, 2, 3, 4, 5, 6, 7, 8], 8), 0.0);
    }

    proptest! {
        #[test]
        fn the_measures_are_symmetric_and_within_their_ranges(p in "[ab]{0,12}", c in "[ab]{0,12}") {
            let (there, back) = (of(&p, &c), of(&c, &p));
            prop_assert_eq!(there, back);
            let edits = there.edit_distance.unwrap();
            prop_assert!((0.0..=1.0).contains(&edits) && (0.0..=1.0).contains(&there.rouge_l.unwrap()));
            prop_assert_eq!(edits == 0.0, p == c);
            prop_assert!(1.0 - there.common_prefix >= edits - 1e-12);
        }
    }
}
