//! NODE_OUTLIER: one node diverges more than the others at the same load.

use super::degenerate_node::described;
use super::{Case, Facts, Finding, Q_MAX, Severity};
use crate::accumulate::Counts;
use crate::stats::{Share, fdr, normal, risk_ratio, trend};
use crate::summary::Rate;
use crate::text::{named_probability, percent, significant};
use crate::view::NodeView;

const RATIO: f64 = 3.0;
const RATIO_LOWER: f64 = 1.5;

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

fn outliers(case: &Case<'_>, of: fn(&Counts) -> Share, severity: Severity, what: &str) -> Vec<Finding> {
    let view = case.candidate;
    let nodes: Vec<&NodeView<'_>> =
        view.nodes.iter().filter(|node| !case.degenerate.contains(node.name)).collect();
    if nodes.len() < 2 {
        return Vec::new();
    }
    let share = |node: &NodeView<'_>, keep: &dyn Fn(u32) -> bool| node.share(of, keep);
    let rest = |name: &str, keep: &dyn Fn(u32) -> bool| -> Share {
        nodes.iter().filter(|node| node.name != name).map(|node| share(node, keep)).sum()
    };
    // Strata are load bins: a node that only sees more load than the others is no outlier.
    let p_values: Vec<f64> = nodes
        .iter()
        .map(|node| {
            let strata: Vec<_> = view
                .bins
                .iter()
                .map(|bin| {
                    let keep = |load| bin.holds(load);
                    vec![(0.0, rest(node.name, &keep)), (1.0, share(node, &keep))]
                })
                .collect();
            trend::stratified(&strata).map_or(f64::NAN, normal::upper_tail)
        })
        .collect();
    let q_values = fdr::benjamini_hochberg(&p_values);
    let mut found = Vec::new();
    for ((node, p_value), q_value) in nodes.iter().zip(p_values).zip(q_values) {
        let (own, others) = (share(node, &|_| true), rest(node.name, &|_| true));
        let Some(ratio) = risk_ratio::katz(own, others, case.options.confidence) else { continue };
        let stands_out = q_value < Q_MAX && ratio.ratio >= RATIO && ratio.interval.lower > RATIO_LOWER;
        if !stands_out {
            continue;
        }
        let (rate, against) =
            (Rate::new(own, case.options.confidence), Rate::new(others, case.options.confidence));
        let labels = node.labels();
        let text = format!(
            "node {}{} shows {what} more than the others at the same load: {}, others {}; ratio {} (at least {}), {}",
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
