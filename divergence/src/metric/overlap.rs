//! Two top-k lists that need not hold the same items.

use std::collections::{BTreeMap, BTreeSet};

/// The indices of the `k` largest values, largest first, the first of equals first. NaN comes last. `k` past the length is the length.
#[must_use]
pub fn top(values: &[f64], k: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let falling = |a: &usize, b: &usize| key(values[*b]).total_cmp(&key(values[*a])).then(a.cmp(b));
    if k < order.len() && k > 0 {
        order.select_nth_unstable_by(k - 1, falling);
    }
    order.truncate(k);
    order.sort_unstable_by(falling);
    order
}

/// As a total order sorts it: NaN below all, both zeros alike.
fn key(value: f64) -> f64 {
    if value.is_nan() { f64::NEG_INFINITY } else { value + 0.0 }
}

/// The indices of the `k` largest values and of all that are equal to the last of them.
fn top_with_ties(values: &[f64], k: usize) -> BTreeSet<usize> {
    let top = top(values, k);
    let Some(last) = top.last().map(|last| values[*last]) else { return BTreeSet::new() };
    let tied = values.iter().enumerate().filter(|(_, value)| **value == last).map(|(index, _)| index);
    top.iter().copied().chain(tied).collect()
}

/// |A ∩ B| / k of the top k of two rows of scores. Items tied with the kth belong to both lists, and count at most up to k: a tie
/// at the edge is no change. `k` past the length is the length; `None` for no items.
#[must_use]
pub fn at_k(p: &[f64], c: &[f64], k: usize) -> Option<f64> {
    let k = k.min(p.len()).min(c.len());
    let shared = top_with_ties(p, k).intersection(&top_with_ties(c, k)).count().min(k);
    (k > 0).then(|| shared as f64 / k as f64)
}

/// |A ∩ B| / |A ∪ B| of the top k (with ties at the edge) of two rows of scores; `None` for no items.
#[must_use]
pub fn jaccard_at_k(p: &[f64], c: &[f64], k: usize) -> Option<f64> {
    let k = k.min(p.len()).min(c.len());
    jaccard(&top_with_ties(p, k), &top_with_ties(c, k))
}

/// |A ∩ B| / |A ∪ B| of two sets; `None` when both are empty.
#[must_use]
pub fn jaccard<T: Ord>(a: &BTreeSet<T>, b: &BTreeSet<T>) -> Option<f64> {
    let shared = a.intersection(b).count();
    let all = a.len() + b.len() - shared;
    (all > 0).then(|| shared as f64 / all as f64)
}

/// Distances of two top-k lists by Fagin, Kumar & Sivakumar (2003).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fagin {
    /// K^(0): pairs of items that the lists order oppositely; a pair of which neither list knows the order costs nothing.
    pub kendall: u64,
    /// F^(k+1): the sum of displacements, an item that a list lacks taken at rank k+1.
    pub footrule: u64,
}

/// Measures two lists of ids, best first. Ids that occur twice count at their first place.
#[must_use]
pub fn fagin<T: Ord>(p: &[T], c: &[T]) -> Fagin {
    let (left, right) = (places(p), places(c));
    let (absent_left, absent_right) = (p.len() as u64 + 1, c.len() as u64 + 1);
    let items: BTreeSet<&T> = left.keys().chain(right.keys()).copied().collect();
    let ranked: Vec<(Option<u64>, Option<u64>)> =
        items.into_iter().map(|item| (left.get(item).copied(), right.get(item).copied())).collect();
    let rank = |rank: Option<u64>, absent: u64| rank.unwrap_or(absent);
    let footrule = ranked.iter().map(|(l, r)| rank(*l, absent_left).abs_diff(rank(*r, absent_right))).sum();
    let mut kendall = 0;
    for (index, one) in ranked.iter().enumerate() {
        kendall += ranked[..index].iter().filter(|other| opposed(*one, **other)).count() as u64;
    }
    Fagin { kendall, footrule }
}

type Place = (Option<u64>, Option<u64>);

/// Whether the lists order two items oppositely, an absent item being behind all that are present; never where both are absent
/// from one list.
fn opposed(one: Place, other: Place) -> bool {
    let ahead = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or(u64::MAX) < other.unwrap_or(u64::MAX)),
    };
    match (ahead(one.0, other.0), ahead(one.1, other.1)) {
        (Some(left), Some(right)) => left != right,
        _ => false,
    }
}

fn places<T: Ord>(list: &[T]) -> BTreeMap<&T, u64> {
    let mut places = BTreeMap::new();
    for (place, item) in list.iter().enumerate() {
        places.entry(item).or_insert(place as u64 + 1);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::close;

    fn letters(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    #[test]
    fn the_distances_are_those_of_the_paper() {
        let of = |other: &str| fagin(&letters("abcd"), &letters(other));
        assert_eq!(of("abcd"), Fagin { kendall: 0, footrule: 0 });
        assert_eq!(of("abdc"), Fagin { kendall: 1, footrule: 2 });
        assert_eq!(of("abce"), Fagin { kendall: 1, footrule: 2 });
        assert_eq!(of("wxyz"), Fagin { kendall: 16, footrule: 20 });
        let set = |text: &str| text.chars().collect::<BTreeSet<_>>();
        assert!(close(jaccard(&set("abcd"), &set("abce")), 0.6));
        assert_eq!(jaccard::<char>(&set(""), &set("")), None);
    }

    #[test]
    fn the_top_is_stable_and_nan_comes_last() {
        assert_eq!(top(&[0.1, 0.9, f64::NAN, 0.9, 0.5], 3), [1, 3, 4]);
        assert_eq!(top(&[0.1], 5), [0]);
        assert_eq!(top(&[0.0, -0.0, 1.0], 2), [2, 0]);
        assert!(top(&[], 3).is_empty());
    }

    #[test]
    fn what_is_tied_at_the_edge_is_in_both_lists() {
        let (p, c) = ([0.9, 0.5, 0.5, 0.1], [0.9, 0.4, 0.5, 0.1]);
        assert_eq!(at_k(&p, &c, 2), Some(1.0));
        assert_eq!(at_k(&[0.9, 0.5, 0.1], &[0.1, 0.5, 0.9], 1), Some(0.0));
        assert_eq!(at_k(&p, &c, 10), Some(1.0));
        assert_eq!(at_k(&[], &[], 3), None);
        assert!(close(jaccard_at_k(&[4.0, 3.0, 2.0, 1.0], &[4.0, 1.0, 2.0, 3.0], 2), 1.0 / 3.0));
    }
}
