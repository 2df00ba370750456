//! Rankings: scores paired by what they belong to, and the order the items stand in.

use std::collections::{BTreeMap, BTreeSet};

use super::measures::Measures;
use super::structure::Pair;
use crate::metric::decision::Flip;
use crate::metric::{order, overlap, rbo};
use crate::{Output, Rules};

/// Most items of a row for which the measures of orders are computed where nothing says that it is a ranking.
const MOST_UNSAID: usize = 128;

/// A ranking whose items are paired.
pub(super) struct Ranked {
    /// The items that both sides have, as one row in the order of the primary.
    pub(super) shared: Pair<'static>,
    /// An item that only one side has, and its place in that side's list.
    pub(super) membership: Option<(Flip, usize)>,
    /// Whether the best item of the primary is missing on the shadow, beyond a near tie.
    pub(super) top_lost: bool,
    /// Whether the order changed of a ranking without scores.
    pub(super) reordered: bool,
    pub(super) top_moved: bool,
}

impl Ranked {
    /// Pairs the items of two keyed outputs.
    pub(super) fn of(pair: &Pair<'_>, rules: &Rules, measures: &mut Measures) -> Self {
        let (p, s) = (Side::of(&pair.primary), Side::of(&pair.shadow));
        let shared: Vec<(f64, f64)> =
            p.keys.iter().filter_map(|key| Some((p.scores.get(key)?.0, s.scores.get(key)?.0))).collect();
        let row = |values: Vec<f64>| {
            let shape = vec![values.len() as u64];
            Output { values, ..Output::new(pair.primary.name.clone(), pair.dtype, shape) }
        };
        let (one, other): (Vec<f64>, Vec<f64>) = shared.iter().copied().unzip();
        let has_scores = p.has_scores && s.has_scores;
        order_measures(measures, &one, &other);
        let (top_p, top_s) = (p.top(rules.top_k), s.top(rules.top_k));
        let depth = p.keys.len().max(s.keys.len()).min(rules.top_k);
        if depth > 0 {
            let both = top_p.intersection(&top_s).count().min(depth);
            measures.lower_overlap(both as f64 / depth as f64);
        }
        if let Some(rbo) = rbo::extrapolated(&p.keys, &s.keys, rbo::PERSISTENCE) {
            super::elements::lower(&mut measures.rank_biased_overlap, rbo);
        }
        let lost = |own: &Side<'_>, other: &Side<'_>| own.lost(other, |value| pair.tolerance.around(value));
        let membership = match (lost(&p, &s), lost(&s, &p)) {
            (Some((Flip::Real, at)), _) | (Some((Flip::NearTie, _)) | None, Some((Flip::Real, at))) => {
                Some((Flip::Real, at))
            }
            (one, other) => one.or(other),
        };
        let top_lost = p.keys.first().is_some_and(|top| !s.scores.contains_key(top));
        let common = |side: &Side<'_>, other: &Side<'_>| -> Vec<String> {
            side.keys
                .iter()
                .filter(|key| other.scores.contains_key(*key))
                .map(|key| (*key).to_owned())
                .collect()
        };
        let reordered = !has_scores && common(&p, &s) != common(&s, &p);
        let top_moved = !has_scores && p.keys.first() != s.keys.first();
        let mut shared = pair.with(row(one), row(other));
        shared.ranked = has_scores && shared.dtype.is_float() && shared.primary.values.len() >= 2;
        Self {
            shared,
            membership,
            top_lost: top_lost && membership.is_some_and(|(flip, _)| flip == Flip::Real),
            reordered,
            top_moved,
        }
    }
}

/// The items of one side, best first.
struct Side<'a> {
    keys: Vec<&'a str>,
    /// Score and place in the answer.
    scores: BTreeMap<&'a str, (f64, usize)>,
    has_scores: bool,
}

impl<'a> Side<'a> {
    /// By falling score, as they stand where scores are equal or there are none. Of an item that is there twice, the first counts.
    fn of(output: &'a Output) -> Self {
        let has_scores = output.values.len() == output.keys.len();
        let count = output.keys.len();
        let mut items: Vec<(&str, f64)> = Vec::with_capacity(count);
        let mut scores = BTreeMap::new();
        for (place, key) in output.keys.iter().enumerate() {
            // Without scores, places counted from the end rank as the items do.
            let score = if has_scores { output.values[place] } else { (count - place) as f64 };
            if let std::collections::btree_map::Entry::Vacant(entry) = scores.entry(key.as_str()) {
                entry.insert((score, place));
                items.push((key, score));
            }
        }
        items.sort_by(|a, b| b.1.total_cmp(&a.1));
        Self { keys: items.into_iter().map(|(key, _)| key).collect(), scores, has_scores }
    }

    /// The best `k` items, and all whose score is that of the last of them.
    fn top(&self, k: usize) -> BTreeSet<&'a str> {
        let Some(last) = self.keys[..self.keys.len().min(k)].last().map(|key| self.scores[key].0) else {
            return BTreeSet::new();
        };
        let tied = |(place, key): &(usize, &&'a str)| *place < k || self.scores[**key].0 == last;
        self.keys.iter().enumerate().take_while(tied).map(|(_, key)| *key).collect()
    }

    /// The best item that the other side lacks, by its place in the answer. A near tie where it is within noise of the last item that
    /// the other lists instead, which the next run may swap; never where the other's list is shorter: there nothing took its place.
    fn lost(&self, other: &Side<'_>, noise: impl Fn(f64) -> f64) -> Option<(Flip, usize)> {
        let (best, at) = self
            .keys
            .iter()
            .filter(|key| !other.scores.contains_key(*key))
            .find_map(|key| self.scores.get(key).copied())?;
        let last = other.keys.last().and_then(|key| other.scores.get(key)).map(|(score, _)| *score);
        let shares = other.keys.iter().any(|key| self.scores.contains_key(key));
        let near = last.is_some_and(|last| best - noise(best) <= last + noise(last));
        let tie = near && shares && self.has_scores && other.keys.len() >= self.keys.len();
        Some((if tie { Flip::NearTie } else { Flip::Real }, at))
    }
}

/// Measures the order within the rows of scores that no keys name: where they are few enough, or said to be rankings.
pub(super) fn rows(pair: &Pair<'_>, rules: &Rules, measures: &mut Measures, said: bool) {
    let width = pair.primary.shape.last().and_then(|last| usize::try_from(*last).ok()).unwrap_or(0);
    if !pair.dtype.is_float() || width < 3 || (width > MOST_UNSAID && !said) {
        return;
    }
    for (p, s) in pair.primary.values.chunks_exact(width).zip(pair.shadow.values.chunks_exact(width)) {
        order_measures(measures, p, s);
        if let Some(share) = overlap::at_k(p, s, rules.top_k) {
            measures.lower_overlap(share);
        }
        if said
            && let Some(rbo) =
                rbo::extrapolated(&overlap::top(p, width), &overlap::top(s, width), rbo::PERSISTENCE)
        {
            super::elements::lower(&mut measures.rank_biased_overlap, rbo);
        }
    }
}

fn order_measures(measures: &mut Measures, p: &[f64], s: &[f64]) {
    if let Some(tau) = order::kendall_tau_b(p, s) {
        super::elements::lower(&mut measures.kendall_tau, tau);
    }
    if let Some(cost) = order::cost(p, s) {
        super::elements::raise(&mut measures.rank_cost, cost);
    }
}
