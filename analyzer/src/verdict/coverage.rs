//! What the data cannot tell, in one line each.

use crate::stats::bins::mid_share;
use crate::summary::{RunLedger, SetFacts};
use crate::text::{count, range};
use crate::view::View;

pub(super) fn not_covered(views: &[View<'_>], set: &SetFacts, ledger: &[RunLedger]) -> Vec<String> {
    let mut lines = Vec::new();
    for view in views.iter().filter(|view| view.is_candidate()) {
        load_range(view, &mut lines);
    }
    if views.iter().all(View::is_candidate) {
        lines.push("no control: noise of the system itself is not told apart from the candidate's".into());
    }
    lines
        .push("cross-talk: whether a wrong answer is another request's is not tested by this version".into());
    lines.push("latency is reported, not judged".into());
    lines.push("quality: a difference does not say who is right; no true outcomes are known".into());
    if set.rules.len() > 1 {
        lines.push(format!("the rows were compared under {} different rule sets", set.rules.len()));
    }
    let open = ledger.iter().filter(|run| !run.closed).count();
    if open > 0 {
        lines.push(format!("loss in {} of {} runs: their ledger is not closed", open, ledger.len()));
    }
    lines
}

fn load_range(view: &View<'_>, lines: &mut Vec<String>) {
    let name = &view.key.name;
    let (Some(first), Some(last)) = (view.bins.first(), view.bins.last()) else {
        lines.push(format!("{name}: nothing comparable, so no load is covered"));
        return;
    };
    let primary = p99(view.target.primary_loads.iter().map(|(load, rows)| (*load, *rows)));
    let beside =
        primary.map_or_else(String::new, |load| format!("; the primary's 99th percentile was {load}"));
    lines.push(format!("{name}: load above {} in flight on a node{beside}", last.to));
    if first.from == last.to {
        lines.push(format!(
            "{name}: one load level only ({}): no effect of load can be seen",
            range(first.from, last.to)
        ));
    }
    if view.nodes.len() < 2 {
        lines.push(format!(
            "{name}: {} node: no difference between nodes can be seen",
            count(view.nodes.len() as u64)
        ));
    }
    if view.nodes.iter().all(|node| node.labels().is_empty()) {
        lines.push(format!("{name}: no labels on its nodes: hardware and drivers cannot be named"));
    }
}

/// The load below which 99 % lie, by mid-rank.
fn p99(counts: impl Iterator<Item = (u32, u64)> + Clone) -> Option<u32> {
    let total: u64 = counts.clone().map(|(_, rows)| rows).sum();
    let mut below = 0;
    let mut last = None;
    for (load, rows) in counts {
        if last.is_some() && mid_share(below, rows, total) > 0.99 {
            break;
        }
        below += rows;
        last = Some(load);
    }
    last
}
