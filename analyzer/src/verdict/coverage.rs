//! What the data cannot tell, in one line each.

use exchange::SkipReason;

use crate::stats::Share;
use crate::stats::bins::mid_share;
use crate::summary::{RunLedger, SetFacts};
use crate::text::{count, percent, range};
use crate::view::View;

/// A load bin that kept back fewer is not named: chance.
const MANY: u64 = 20;

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
    if !set.unused_rules.is_empty() {
        let rules = set.unused_rules.join(", ");
        lines.push(format!("rules that no answer had a use for, perhaps misspelt: {rules}"));
    }
    let open = ledger.iter().filter(|run| !run.closed).count();
    if open > 0 {
        lines.push(format!("loss in {} of {} runs: their ledger is not closed", open, ledger.len()));
    }
    for run in ledger {
        skipped(run, &mut lines);
    }
    lines
}

/// Requests that a rule kept from being mirrored. A cap on the rate keeps back just those that come at high load.
fn skipped(run: &RunLedger, lines: &mut Vec<String>) {
    let of = format!("proxy {}, run {}", run.proxy, run.run);
    let bins =
        run.capped.iter().map(|bin| (bin, Share { events: bin.skipped, trials: bin.skipped + bin.mirrored }));
    let all: Share = bins.clone().map(|(_, share)| share).sum();
    let rate = |share: &Share| share.rate().unwrap_or(0.0);
    if all.events > 0 {
        let worst = bins
            .filter(|(_, share)| share.events >= MANY && rate(share) > rate(&all))
            .max_by(|a, b| rate(&a.1).total_cmp(&rate(&b.1)));
        let worst = worst.map_or_else(String::new, |(bin, share)| {
            format!(", {} of those at {} in flight and above", percent(share.rate()), bin.inflight_from)
        });
        lines.push(format!(
            "{of}: {} requests kept back by the cap on the rate, {} of those chosen{worst}: high load is seen less often than it was",
            count(all.events),
            percent(all.rate())
        ));
    }
    let others = run.skipped.iter().filter(|skip| skip.name != SkipReason::RateCap.as_str());
    for skip in others {
        let why = match SkipReason::ALL.into_iter().find(|reason| reason.as_str() == skip.name) {
            Some(SkipReason::OutsideSchedule) => "outside the run's schedule",
            Some(SkipReason::Route) => "of no configured route",
            Some(SkipReason::Upgrade) => "that change the protocol",
            Some(SkipReason::RateCap) | None => continue,
        };
        lines.push(format!("{of}: {} requests {why} were not mirrored", count(skip.count)));
    }
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
