//! DEGENERATE_NODE: one node gives degenerate answers at every load and the others do not, such as zeros from a card for
//! which a kernel was never compiled.

use divergence::Class;

use super::{Case, Facts, Finding, Q_MAX, Severity};
use crate::Options;
use crate::stats::{Share, fdr, fisher, mcnemar, wilson};
use crate::summary::{Labels, Rate};
use crate::text::{count, named_probability, percent};
use crate::view::{NodeView, View, load_bins};

/// The node's lower bound must be more than this many times the upper bound of what it is held against.
const RATIO: f64 = 5.0;

/// A node that is degenerate.
pub(super) struct Named<'v, 'a> {
    pub(super) node: &'v NodeView<'a>,
    share: Share,
    against: Option<Share>,
    lowest: Share,
    p_value: f64,
    q_value: f64,
}

/// The degenerate nodes of a shadow.
pub(super) fn named<'v, 'a>(view: &'v View<'a>, options: &Options) -> Vec<Named<'v, 'a>> {
    let tested: Vec<Named<'v, 'a>> = view.nodes.iter().map(|node| test(node, view)).collect();
    let p_values: Vec<f64> = tested.iter().map(|named| named.p_value).collect();
    let with_q = tested.into_iter().zip(fdr::benjamini_hochberg(&p_values));
    let tested = with_q.map(|(named, q_value)| Named { q_value, ..named });
    tested.filter(|named| is_degenerate(named, options)).collect()
}

/// Holds a node against those whose rate is far lower; when there are none (a single node, or all alike) against its own
/// primary answers.
fn test<'v, 'a>(node: &'v NodeView<'a>, view: &View<'a>) -> Named<'v, 'a> {
    let share = node.total.degenerate_share();
    let rate = share.rate().unwrap_or(0.0);
    let healthy = view.nodes.iter().map(|other| other.total.degenerate_share());
    let rest: Share = healthy.filter(|other| other.rate().is_some_and(|other| other * RATIO < rate)).sum();
    let against = (rest.trials > 0).then_some(rest);
    let p_value = match against {
        Some(rest) => fisher::greater(share, rest),
        None if share.events > node.total.primary_degenerate => {
            mcnemar::exact(share.events, node.total.primary_degenerate)
        }
        None => 1.0,
    };
    let lowest = load_bins(std::iter::once(node), 8)
        .first()
        .map(|bin| node.share(|counts| counts.degenerate_share(), |load| bin.holds(load)))
        .unwrap_or_default();
    Named { node, share, against, lowest, p_value, q_value: f64::NAN }
}

fn is_degenerate(named: &Named<'_, '_>, options: &Options) -> bool {
    let interval = |share| wilson::interval(share, options.confidence);
    let Some(own) = interval(named.share) else { return false };
    let limit = named.against.and_then(interval).map_or(options.min_rate, |rest| rest.upper);
    // A fault of load is absent from the lowest loads; this one is there already, at much the same rate.
    let lowest = named.lowest.rate().unwrap_or(0.0);
    let at_all_loads = lowest * 3.0 >= named.share.rate().unwrap_or(0.0) && named.lowest.events > 0;
    own.lower > RATIO * limit && named.q_value < Q_MAX && at_all_loads
}

pub(super) fn judge(case: &Case<'_>, _: &[Finding]) -> Vec<Finding> {
    named(case.candidate, case.options).iter().map(|named| finding(case, named)).collect()
}

fn finding(case: &Case<'_>, named: &Named<'_, '_>) -> Finding {
    let (node, labels) = (named.node, named.node.labels());
    let rate = Rate::new(named.share, case.options.confidence);
    let against = named.against.map(|share| Rate::new(share, case.options.confidence));
    let kinds: Vec<&str> =
        node.part.degenerate.iter().map(|(kind, _)| kind.as_str()).filter(|kind| !kind.is_empty()).collect();
    let others = against.map_or_else(
        || "no healthy node to compare with".into(),
        |rest| format!("{} on the other nodes", percent(rest.rate)),
    );
    let text = format!(
        "node {}{} gives degenerate answers ({}) at all loads: {} of {} pairs, {}; already {} at its lowest load; {others}; {}",
        node.name,
        described(&labels),
        kinds.join(" / "),
        count(rate.events),
        count(rate.trials),
        rate.text(),
        percent(named.lowest.rate()),
        named_probability("q", named.q_value),
    );
    let examples = node.part.examples.get(&(Class::Degenerate as u8)).map(|held| held.worst.clone());
    Finding {
        facts: Facts {
            node: Some(node.name.to_owned()),
            labels,
            rate: Some(rate),
            against,
            p_value: Some(named.p_value),
            q_value: Some(named.q_value),
            ..Facts::default()
        },
        examples: examples.unwrap_or_default(),
        ..case.finding("DEGENERATE_NODE", Severity::Block, text)
    }
}

/// ` (gpu Tesla M10, driver 450)`, or nothing.
pub(super) fn described(labels: &Labels) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> = labels.iter().map(|(name, value)| format!("{name} {value}")).collect();
    format!(" ({})", pairs.join(", "))
}
