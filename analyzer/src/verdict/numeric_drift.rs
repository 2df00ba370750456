//! NUMERIC_DRIFT: answers beyond tolerance without consequence, more often than the control's.

use super::{Case, Facts, Finding, Severity};
use crate::accumulate::Counts;
use crate::stats::{Share, newcombe, normal, trend};
use crate::summary::Rate;
use crate::text::{count, named_probability, significant};
use crate::view::levels;

pub(super) fn judge(case: &Case<'_>, earlier: &[Finding]) -> Vec<Finding> {
    let confidence = case.options.confidence;
    let share = case.candidate.total.minor_share();
    let rate = Rate::new(share, confidence);
    if rate.lower.is_none_or(|lower| lower <= case.options.min_rate) {
        return Vec::new();
    }
    let control = case.control.map(|control| control.total.minor_share());
    let above = control.and_then(|control| newcombe::interval(share, control, confidence));
    if above.is_some_and(|difference| difference.lower <= 0.0) {
        return Vec::new();
    }
    let strata: Vec<_> = case
        .candidate
        .nodes
        .iter()
        .map(|node| {
            levels(&case.candidate.bins, |bin| node.share(Counts::minor_share, |load| bin.holds(load)))
        })
        .collect();
    let p_value = trend::stratified(&strata).map(normal::upper_tail);
    let likeness = if earlier.iter().any(|finding| finding.name == "LOAD_RACE") {
        "as the race does: these may be its milder cases"
    } else {
        "as noise of batching does"
    };
    let with_load = match p_value {
        Some(p) if p < 0.01 => format!("; it grows with load ({}), {likeness}", named_probability("p", p)),
        _ => String::new(),
    };
    let mut units = crate::accumulate::Sketch::default();
    case.candidate.target.loads.values().for_each(|part| units.merge(part.quiet_units.clone()));
    let size =
        units.quantile(1.0).map_or_else(String::new, |q| format!("; largest {} tolerances", significant(q)));
    let against = control.map(|control: Share| Rate::new(control, confidence));
    let text = format!(
        "{} of {} comparable pairs are beyond tolerance without consequence: {}{}{size}{with_load}",
        count(rate.events),
        count(rate.trials),
        rate.text(),
        against.map_or_else(
            || ", no control to hold it against".into(),
            |rate| format!(", control {}", rate.text())
        ),
    );
    vec![Finding {
        facts: Facts { rate: Some(rate), against, p_value, ..Facts::default() },
        ..case.finding("NUMERIC_DRIFT", Severity::Warn, text)
    }]
}
