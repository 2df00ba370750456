//! AVAILABILITY: requests that the primary answers with success and the candidate does not.

use divergence::Class;

use super::{Case, Facts, Finding, Q_MAX, Severity};
use crate::stats::{Share, mcnemar};
use crate::summary::Rate;
use crate::text::{count, named_probability};

/// A node with more than this share of the failures is named.
const CONCENTRATED: f64 = 0.8;

pub(super) fn judge(case: &Case<'_>, _: &[Finding]) -> Vec<Finding> {
    let total = &case.candidate.total;
    let (failed, reverse) = (total.shadow_failed, total.primary_failed);
    if failed == 0 {
        return Vec::new();
    }
    let rate = Rate::new(Share { events: failed, trials: total.sent() }, case.options.confidence);
    let p_value = mcnemar::exact(failed, reverse);
    let worse =
        failed > reverse && p_value < Q_MAX && rate.lower.is_some_and(|lower| lower > case.options.min_rate);
    let severity = if worse { Severity::Block } else { Severity::Warn };
    let most = case.candidate.nodes.iter().max_by_key(|node| node.total.shadow_failed);
    let most = most.filter(|node| {
        case.candidate.nodes.len() > 1 && node.total.shadow_failed as f64 > CONCENTRATED * failed as f64
    });
    let text = format!(
        "{} requests failed on the candidate alone: {} of {} sent; {} failed on the primary alone; McNemar {}{}",
        count(failed),
        rate.text(),
        count(rate.trials),
        count(reverse),
        named_probability("p", p_value),
        most.map_or_else(String::new, |node| format!("; most of them on node {}", node.name)),
    );
    let examples = case
        .candidate
        .nodes
        .iter()
        .filter_map(|node| node.part.examples.get(&(Class::Incomparable as u8)))
        .flat_map(|held| held.worst.iter().take(2).cloned())
        .take(6)
        .collect();
    vec![Finding {
        facts: Facts {
            node: most.map(|node| node.name.to_owned()),
            rate: Some(rate),
            p_value: Some(p_value),
            ..Facts::default()
        },
        examples,
        ..case.finding("AVAILABILITY", severity, text)
    }]
}
