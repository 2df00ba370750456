//! SERIOUS_DIVERGENCE: serious pairs for which no other rule names a cause.

use super::{Case, Facts, Finding, Severity};
use crate::stats::{Share, newcombe};
use crate::summary::{Example, Rate};
use crate::text::{count, threshold};
use crate::view::NodeView;

pub(super) fn judge(case: &Case<'_>, found: &[Finding]) -> Vec<Finding> {
    if found.iter().any(|finding| finding.name == "LOAD_RACE" && finding.severity == Severity::Block) {
        return Vec::new();
    }
    let blamed = |name: &str| {
        found
            .iter()
            .any(|finding| finding.severity == Severity::Block && finding.facts.node.as_deref() == Some(name))
    };
    let nodes: Vec<&NodeView<'_>> = case.candidate.nodes.iter().filter(|node| !blamed(node.name)).collect();
    let share: Share = nodes.iter().map(|node| node.total.serious_share()).sum();
    let rate = Rate::new(share, case.options.confidence);
    // Without an event the number of pairs decides, which is another rule's business.
    let (Some(lower), Some(upper)) = (rate.lower, rate.upper) else { return Vec::new() };
    let limit = case.options.min_rate;
    if share.events == 0 || upper <= limit {
        return Vec::new();
    }
    let control = case.control.map(|control| control.total.serious_share());
    let above_control =
        control.and_then(|control| newcombe::interval(share, control, case.options.confidence));
    let (severity, why) = match above_control {
        Some(difference) if difference.upper <= limit => return Vec::new(),
        Some(difference) if lower > limit && difference.lower <= 0.0 => {
            let why = if control.is_some_and(|control| control.events > 0) {
                "; the control diverges as much, so it may be the system's own noise"
            } else {
                "; the control has too few pairs to tell it from the system's own noise"
            };
            (Severity::Insufficient, why)
        }
        _ if lower > limit => (Severity::Block, "; no node, load or failure explains it"),
        _ => (Severity::Insufficient, "; too few pairs to tell whether the rate is below the limit"),
    };
    let against = control.map(|control| Rate::new(control, case.options.confidence));
    let text = format!(
        "{} of {} comparable pairs diverge seriously: {}, limit {}{}{why}",
        count(rate.events),
        count(rate.trials),
        rate.text(),
        threshold(limit),
        against.map_or_else(String::new, |control| format!(", control {}", control.text())),
    );
    vec![Finding {
        facts: Facts { rate: Some(rate), against, ..Facts::default() },
        examples: examples(&nodes),
        ..case.finding("SERIOUS_DIVERGENCE", severity, text)
    }]
}

fn examples(nodes: &[&NodeView<'_>]) -> Vec<Example> {
    let serious = |node: &&NodeView<'_>| -> Vec<Example> {
        let classes =
            node.part.examples.iter().filter(|(class, _)| **class != divergence::Class::Incomparable as u8);
        classes.flat_map(|(_, held)| held.worst.iter().take(1).cloned()).collect()
    };
    nodes.iter().flat_map(serious).take(6).collect()
}
