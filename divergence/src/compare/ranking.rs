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
    /// An item that only one side has.
    pub(super) membership: Option<Flip>,
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
            p.keys.iter().filter_map(|key| Some((*p.scores.get(key)?, *s.scores.get(key)?))).collect();
        let row = |values: Vec<f64>| {
            let shape = vec![values.len() as u64];
            Output { values, ..Output::new(pair.primary.name.clone(), pair.dtype, shape) }
        };
        let (one, other): (Vec<f64>, Vec<f64>) = shared.iter().copied().unzip();
        let has_scores = p.has_scores && s.has_scores;
        order_measures(measures, &one, &other);
        let top = |keys: &[&str]| {
            keys.iter().take(rules.top_k).map(|key| (*key).to_owned()).collect::<BTreeSet<_>>()
        };
        let (top_p, top_s) = (top(&p.keys), top(&s.keys));
        let depth = top_p.len().max(top_s.len());
        if depth > 0 {
            let both = top_p.intersection(&top_s).count();
            measures.lower_overlap(both as f64 / depth as f64);
        }
        if let Some(rbo) = rbo::extrapolated(&p.keys, &s.keys, rbo::PERSISTENCE) {
            super::elements::lower(&mut measures.rank_biased_overlap, rbo);
        }
        let lost = |own: &Side<'_>, other: &Side<'_>| own.lost(other, |value| pair.tolerance.around(value));
        let membership = match (lost(&p, &s), lost(&s, &p)) {
            (Some(Flip::Real), _) | (_, Some(Flip::Real)) => Some(Flip::Real),
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
            top_lost: top_lost && membership == Some(Flip::Real),
            reordered,
            top_moved,
        }
    }
}

/// The items of one side, best first.
struct Side<'a> {
    keys: Vec<&'a str>,
    scores: BTreeMap<&'a str, f64>,
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
                entry.insert(score);
                items.push((key, score));
            }
        }
        items.sort_by(|a, b| b.1.total_cmp(&a.1));
        Self { keys: items.into_iter().map(|(key, _)| key).collect(), scores, has_scores }
    }

    /// Whether the other side lacks an item of this one: a near tie where every such item is within noise of the last one listed, which
    /// the next run may list instead.
    fn lost(&self, other: &Side<'_>, noise: impl Fn(f64) -> f64) -> Option<Flip> {
        let lost: Vec<f64> = self
            .keys
            .iter()
            .filter(|key| !other.scores.contains_key(*key))
            .filter_map(|key| self.scores.get(key).copied())
            .collect();
        let best = lost.iter().copied().reduce(f64::max)?;
        if lost.len() == self.keys.len() {
            // Nothing is left to be a tie with.
            return Some(Flip::Real);
        }
        let last = self.keys.last().and_then(|key| self.scores.get(key)).copied()?;
        let apart = best - noise(best) > last + noise(last);
        Some(if apart || !self.has_scores { Flip::Real } else { Flip::NearTie })
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
