//! An accumulated shadow as the statistics see it: nodes, exact in-flight counts, load bins.

use std::collections::BTreeMap;

use crate::Options;
use crate::accumulate::{Counts, NodePart, Target, TargetKey};
use crate::stats::{Share, bins, trend};
use crate::summary::Labels;

/// One load bin.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoadBin {
    /// Lowest in-flight count in it.
    pub(crate) from: u32,
    /// Highest.
    pub(crate) to: u32,
    /// Mean over the comparable pairs: the score of the trend tests.
    pub(crate) mean: f64,
}

impl LoadBin {
    pub(crate) fn holds(&self, inflight: u32) -> bool {
        (self.from..=self.to).contains(&inflight)
    }
}

/// One node.
pub(crate) struct NodeView<'a> {
    pub(crate) name: &'a str,
    pub(crate) part: &'a NodePart,
    pub(crate) total: Counts,
}

impl NodeView<'_> {
    /// Share at the in-flight counts for which `keep` holds.
    pub(crate) fn share(&self, of: fn(&Counts) -> Share, keep: impl Fn(u32) -> bool) -> Share {
        self.part.loads.iter().filter(|(load, _)| keep(**load)).map(|(_, counts)| of(counts)).sum()
    }

    /// The label set met most often, the first by text of equals.
    pub(crate) fn labels(&self) -> Labels {
        let most = self.part.labels.iter().reduce(|best, next| if next.1 > best.1 { next } else { best });
        most.map(|(json, _)| parse_labels(json)).unwrap_or_default()
    }
}

/// Labels of a JSON object; what is no text is shown as its JSON. Anything else is one label with no name.
fn parse_labels(json: &str) -> Labels {
    use serde_json::Value;
    match serde_json::from_str::<BTreeMap<String, Value>>(json) {
        Ok(labels) => labels
            .into_iter()
            .map(|(name, value)| (name, value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
            .collect(),
        Err(_) if json.is_empty() => Labels::new(),
        Err(_) => Labels::from([(String::new(), json.to_owned())]),
    }
}

/// One shadow.
pub(crate) struct View<'a> {
    pub(crate) key: &'a TargetKey,
    pub(crate) target: &'a Target,
    pub(crate) nodes: Vec<NodeView<'a>>,
    pub(crate) total: Counts,
    pub(crate) bins: Vec<LoadBin>,
}

impl<'a> View<'a> {
    pub(crate) fn new(key: &'a TargetKey, target: &'a Target, options: &Options) -> Self {
        let nodes: Vec<NodeView<'a>> =
            target.nodes.iter().map(|(name, part)| NodeView { name, part, total: part.total() }).collect();
        let mut total = Counts::default();
        nodes.iter().for_each(|node| total.merge(node.total));
        let bins = load_bins(nodes.iter(), options.load_bins);
        Self { key, target, nodes, total, bins }
    }

    pub(crate) fn is_candidate(&self) -> bool {
        self.key.role == exchange::Role::Candidate.as_str()
    }
}

/// Counts by exact in-flight count at dispatch over several nodes.
pub(crate) fn by_load<'v, 'a: 'v>(nodes: impl Iterator<Item = &'v NodeView<'a>>) -> BTreeMap<u32, Counts> {
    pooled(nodes.map(|node| &node.part.loads))
}

/// Counts by the most requests under way at once during a pair, over several nodes.
pub(crate) fn by_peak<'v, 'a: 'v>(nodes: impl Iterator<Item = &'v NodeView<'a>>) -> BTreeMap<u32, Counts> {
    pooled(nodes.map(|node| &node.part.peaks))
}

fn pooled<'v>(parts: impl Iterator<Item = &'v BTreeMap<u32, Counts>>) -> BTreeMap<u32, Counts> {
    let mut pooled: BTreeMap<u32, Counts> = BTreeMap::new();
    for (load, counts) in parts.flatten() {
        pooled.entry(*load).or_default().merge(*counts);
    }
    pooled
}

/// Mid-rank bins of the in-flight counts at dispatch of the comparable pairs, empty ones left out.
pub(crate) fn load_bins<'v, 'a: 'v>(
    nodes: impl Iterator<Item = &'v NodeView<'a>>,
    count: usize,
) -> Vec<LoadBin> {
    mid_rank_bins(&by_load(nodes), count)
}

/// Mid-rank bins of the comparable pairs of `loads`, empty ones left out.
pub(crate) fn mid_rank_bins(loads: &BTreeMap<u32, Counts>, count: usize) -> Vec<LoadBin> {
    let mut pooled: Vec<(u32, u64)> =
        loads.iter().map(|(load, counts)| (*load, counts.comparable())).collect();
    pooled.retain(|(_, pairs)| *pairs > 0);
    let counts: Vec<u64> = pooled.iter().map(|(_, pairs)| *pairs).collect();
    let of_value = bins::mid_rank(&counts, count.max(1));
    let mut made: Vec<LoadBin> = Vec::new();
    for group in pooled.iter().zip(&of_value).collect::<Vec<_>>().chunk_by(|a, b| a.1 == b.1) {
        let pairs: u64 = group.iter().map(|((_, pairs), _)| pairs).sum();
        let weighted: u128 =
            group.iter().map(|((load, pairs), _)| u128::from(*load) * u128::from(*pairs)).sum();
        made.push(LoadBin {
            from: group[0].0.0,
            to: group[group.len() - 1].0.0,
            mean: weighted as f64 / pairs as f64,
        });
    }
    made
}

/// Levels of a trend test: the share of one node, or of several, in each bin.
pub(crate) fn levels(bins: &[LoadBin], share: impl Fn(&LoadBin) -> Share) -> Vec<trend::Level> {
    bins.iter().map(|bin| (bin.mean, share(bin))).collect()
}
