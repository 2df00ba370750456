//! INSUFFICIENT: the data cannot carry a pass: too few pairs, too many missing, or nobody knows how many.

use super::{Case, Facts, Finding, Severity};
use crate::Options;
use crate::stats::{Share, wilson};
use crate::summary::{LoadLoss, Rate, RunLedger, SetFacts};
use crate::text::{count, percent, range, threshold};
use crate::view::View;

const NAME: &str = "INSUFFICIENT";
/// Pairs that the highest load bin needs.
const TOP_BIN_PAIRS: u64 = 200;
/// Highest share of sent requests without two comparable answers.
const INCOMPARABLE: f64 = 0.05;
/// A load bin that misses more than this, and twice the share of all, misses what matters.
const MISSING: f64 = 0.01;
/// Misses below this number are chance.
const MISSING_COUNT: u64 = 20;

/// About one candidate.
pub(super) fn judge(case: &Case<'_>, _: &[Finding]) -> Vec<Finding> {
    let (view, options) = (case.candidate, case.options);
    let find = |text| case.finding(NAME, Severity::Insufficient, text);
    let mut found = Vec::new();
    let (sent, comparable) = (view.total.sent(), view.total.comparable());
    // Without an event among fewer pairs the upper end of the rate would still be above the limit.
    let needed = wilson::trials_below(options.min_rate, options.confidence);
    if (comparable as f64) < needed {
        let text = format!(
            "{} comparable pairs; at least {} are needed to rule out a rate of {}",
            count(comparable),
            count(needed.ceil() as u64),
            threshold(options.min_rate)
        );
        found.push(find(text));
    }
    if let Some(top) = view.bins.last() {
        let pairs: Share = view
            .nodes
            .iter()
            .map(|node| node.share(|counts| counts.serious_share(), |load| top.holds(load)))
            .sum();
        if pairs.trials < TOP_BIN_PAIRS {
            found.push(find(format!(
                "{} pairs at the top load ({} in flight); at least {TOP_BIN_PAIRS} are needed",
                count(pairs.trials),
                range(top.from, top.to)
            )));
        }
    }
    let incomparable = Rate::new(Share { events: sent - comparable, trials: sent }, options.confidence);
    if incomparable.rate.is_some_and(|rate| rate > INCOMPARABLE) {
        let text = format!(
            "{} of {} sent requests have no two comparable answers ({}; at most {} may)",
            count(incomparable.events),
            count(sent),
            percent(incomparable.rate),
            threshold(INCOMPARABLE)
        );
        let facts = Facts { rate: Some(incomparable), ..Facts::default() };
        found.push(Finding { facts, ..find(text) });
    }
    found
}

/// About the set as a whole.
pub(super) fn of_set(
    views: &[View<'_>],
    set: &SetFacts,
    ledger: &[RunLedger],
    options: &Options,
) -> Vec<Finding> {
    let find = |text: String| Finding {
        name: NAME,
        severity: Severity::Insufficient,
        target: String::new(),
        text,
        facts: Facts::default(),
        examples: Vec::new(),
    };
    let mut found = Vec::new();
    if !views.iter().any(View::is_candidate) {
        found.push(find("no candidate in the set: nothing to judge".into()));
    }
    if set.unreadable_rows as f64 > options.min_rate * set.rows as f64 {
        let text = format!("{} rows have a class or outcome of an unknown name", count(set.unreadable_rows));
        found.push(find(text));
    }
    if set.dead_letters as f64 > options.min_rate * set.rows as f64 {
        let text = format!("{} messages could not be read and lie in dead_letters/", count(set.dead_letters));
        found.push(find(text));
    }
    let hides = hides_fault(views, ledger, options);
    for run in ledger {
        let of = format!("proxy {}, run {}", run.proxy, run.run);
        if run.snapshot.is_none() {
            found.push(find(format!("{of}: no ledger, so what is missing from the set is not known")));
            continue;
        }
        if !run.closed {
            found.push(find(format!(
                "{of}: no closing ledger (the proxy still runs, or did not stop in order), so what is missing since its last one is not known"
            )));
        }
        if run.lost > 0 && (hides || run.lost as f64 > options.min_rate * run.mirrored as f64) {
            let mut reasons: Vec<String> = run
                .dropped
                .iter()
                .map(|dropped| format!("{} {}", dropped.name, count(dropped.count)))
                .collect();
            let dropped: u64 = run.dropped.iter().map(|dropped| dropped.count).sum();
            match run.lost.saturating_sub(dropped) {
                0 => {}
                after if dropped == 0 && after == run.lost => reasons.push("after the proxy".into()),
                after => reasons.push(format!("after the proxy {}", count(after))),
            }
            found.push(find(format!(
                "{of}: {} of {} mirrored exchanges are lost ({}), which could hide a fault",
                count(run.lost),
                count(run.mirrored),
                reasons.join(", ")
            )));
        }
        if run.spooled > 0 && (hides || run.spooled as f64 > options.min_rate * run.mirrored as f64) {
            found.push(find(format!(
                "{of}: {} of {} mirrored exchanges are still in the spool of proxy {}: start it again with that spool, let it be recorded, and analyze anew",
                count(run.spooled),
                count(run.mirrored),
                run.proxy
            )));
        }
        if run.closed && run.unlisted as f64 > options.min_rate * run.mirrored as f64 {
            found.push(find(format!(
                "{of}: {} rows more than were mirrored, so some are counted twice: take out files that are in the set more than once",
                count(run.unlisted)
            )));
        }
        found.extend(missing_at_load(run).map(|text| find(format!("{of}: {text}"))));
    }
    found
}

/// Whether a candidate's rate could be above the limit, had all that is lost or still to come been serious.
fn hides_fault(views: &[View<'_>], ledger: &[RunLedger], options: &Options) -> bool {
    let lost: u64 = ledger.iter().map(|run| run.lost + run.spooled).sum();
    let lost = Share { events: lost, trials: lost };
    let candidates = views.iter().filter(|view| view.is_candidate());
    let with_lost = candidates.map(|view| view.total.serious_share() + lost);
    with_lost
        .filter_map(|share| wilson::interval(share, options.confidence))
        .any(|interval| interval.upper > options.min_rate)
}

/// Copies that were not sent, or rows that are not there, at one load more than at the others: missing just where the fault may be.
fn missing_at_load(run: &RunLedger) -> Option<String> {
    let missing = |bin: &LoadLoss| bin.unsent + bin.lost;
    let all = run.loads.iter().fold(Share::default(), |sum, bin| {
        sum + Share { events: missing(bin), trials: bin.finished.max(bin.rows) }
    });
    let worst = run
        .loads
        .iter()
        .filter(|bin| missing(bin) >= MISSING_COUNT)
        .map(|bin| {
            let share = Share { events: missing(bin), trials: bin.finished.max(bin.rows) };
            (bin, share.rate().unwrap_or(0.0))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (bin, rate) = worst;
    (rate > MISSING && rate > 2.0 * all.rate().unwrap_or(0.0)).then(|| {
        format!(
            "{} of the copies for {} at {} in flight and above are missing, {} over all loads",
            percent(Some(rate)),
            bin.target,
            bin.inflight_from,
            percent(all.rate())
        )
    })
}
