//! NODE_OUTLIER: one node diverges more than the others at the same load.

use std::collections::BTreeMap;

use super::degenerate_node::described;
use super::{Case, Facts, Finding, Q_MAX, Severity};
use crate::accumulate::{Counts, NodePart};
use crate::stats::risk_ratio::RiskRatio;
use crate::stats::stratified::{self, Stratum};
use crate::stats::{Share, fdr};
use crate::summary::Rate;
use crate::text::{named_probability, percent, significant};
use crate::view::NodeView;

const RATIO: f64 = 3.0;
const RATIO_LOWER: f64 = 1.5;

/// What is counted of the pairs at one load.
type Of = fn(&Counts) -> Share;
/// A scale of load, and the counts of a node on it.
type Scale = fn(&NodePart) -> &BTreeMap<u32, Counts>;

/// The load at dispatch, and the most requests under way at once: a node must stand out on both, so that one which only sees more
/// load than the others, or more coming in after, is no outlier.
const SCALES: [Scale; 2] = [|part| &part.loads, |part| &part.peaks];

pub(super) fn judge(case: &Case<'_>, _: &[Finding]) -> Vec<Finding> {
    let mut found = outliers(case, Counts::serious_share, Severity::Block, "serious divergence");
    let minor = outliers(
        case,
        Counts::minor_share,
        Severity::Warn,
        "divergence beyond tolerance, none of it serious,",
    );
    found.extend(minor);
    found
}

/// The test of one node: p-value, and the ratio of its rate to that of the others.
type Test = (f64, RiskRatio);

/// One test for each node: the weaker of those on the two scales; `None` where the node has no company at any load.
fn tests(nodes: &[&NodeView<'_>], of: Of, confidence: f64) -> Vec<Option<Test>> {
    let on_scales = SCALES.map(|scale| {
        let mut all: BTreeMap<u32, Share> = BTreeMap::new();
        for (load, counts) in nodes.iter().flat_map(|node| scale(node.part)) {
            let sum = all.entry(*load).or_default();
            *sum = *sum + of(counts);
        }
        nodes.iter().map(|node| test(scale(node.part), &all, of, confidence)).collect::<Vec<_>>()
    });
    let [at_dispatch, at_peak] = on_scales;
    let weaker = |(a, b): (Test, Test)| {
        (a.0.max(b.0), if a.1.interval.lower < b.1.interval.lower { a.1 } else { b.1 })
    };
    at_dispatch.into_iter().zip(at_peak).map(|(a, b)| a.zip(b).map(weaker)).collect()
}

fn test(node: &BTreeMap<u32, Counts>, all: &BTreeMap<u32, Share>, of: Of, confidence: f64) -> Option<Test> {
    let strata: Vec<Stratum> = node
        .iter()
        .map(|(load, counts)| {
            let (group, all) = (of(counts), all.get(load).copied().unwrap_or_default());
            let rest = Share { events: all.events - group.events, trials: all.trials - group.trials };
            Stratum { group, rest }
        })
        .collect();
    Some((stratified::greater(&strata)?, stratified::ratio(&strata, confidence)?))
}

fn outliers(case: &Case<'_>, of: Of, severity: Severity, what: &str) -> Vec<Finding> {
    let view = case.candidate;
    let nodes: Vec<&NodeView<'_>> =
        view.nodes.iter().filter(|node| !case.degenerate.contains(node.name)).collect();
    let all: Share = nodes.iter().map(|node| of(&node.total)).sum();
    let tests = tests(&nodes, of, case.options.confidence);
    let p_values: Vec<f64> = tests.iter().map(|test| test.map_or(f64::NAN, |test| test.0)).collect();
    let q_values = fdr::benjamini_hochberg(&p_values);
    let mut found = Vec::new();
    for ((node, test), q_value) in nodes.iter().zip(tests).zip(q_values) {
        let Some((p_value, ratio)) = test else { continue };
        let own = of(&node.total);
        let others = Share { events: all.events - own.events, trials: all.trials - own.trials };
        let stands_out = q_value < Q_MAX && ratio.ratio >= RATIO && ratio.interval.lower > RATIO_LOWER;
        if !stands_out {
            continue;
        }
        let (rate, against) =
            (Rate::new(own, case.options.confidence), Rate::new(others, case.options.confidence));
        let labels = node.labels();
        let text = format!(
            "node {}{} shows {what} more than the others at the same load: {}, others {}; ratio at equal load {} (at least {}), {}",
            node.name,
            described(&labels),
            rate.text(),
            percent(against.rate),
            significant(ratio.ratio),
            significant(ratio.interval.lower),
            named_probability("q", q_value),
        );
        let examples =
            node.part.examples.values().flat_map(|held| held.worst.iter().take(1)).cloned().collect();
        found.push(Finding {
            facts: Facts {
                node: Some(node.name.to_owned()),
                labels,
                rate: Some(rate),
                against: Some(against),
                risk_ratio: Some(ratio.ratio),
                risk_ratio_lower: Some(ratio.interval.lower),
                p_value: Some(p_value),
                q_value: Some(q_value),
                ..Facts::default()
            },
            examples,
            ..case.finding("NODE_OUTLIER", severity, text)
        });
    }
    found
}
