//! What the proxies' ledgers say is missing: still in a spool, dropped, or kept back by a rule.

use analyzer::verdict::Status;
use analyzer::{Options, Summary, analyze};
use tempfile::tempdir;

use crate::fixture::{Items, Row, ledger_of, sound, write_exchanges, write_ledger};

/// A sound set of 8,000 rows with a closing ledger that `change` has changed.
fn with(change: impl Fn(&mut Items)) -> Summary {
    of(&sound(8000), change)
}

fn of(rows: &[Row], change: impl Fn(&mut Items)) -> Summary {
    let mut items = ledger_of(rows);
    change(&mut items);
    let dir = tempdir().unwrap();
    write_exchanges(dir.path(), rows, 2);
    write_ledger(dir.path(), &items, true);
    analyze(dir.path(), &Options::default(), &|_| ()).unwrap()
}

fn add(items: &mut Items, item: &str, target: &str, bin: u32, count: i64) {
    *items.entry(("run-1".into(), item.into(), target.into(), bin)).or_default() += count;
}

/// `count` more were mirrored and answered at 16 in flight than there are rows.
fn missing(items: &mut Items, count: i64) {
    add(items, "mirrored", "candidate", 16, count);
    add(items, "outcome.answered", "candidate", 16, count);
}

#[test]
fn what_lies_in_the_spool_is_not_lost_and_refuses_the_pass() {
    let summary = with(|items| {
        missing(items, 300);
        add(items, "spooled", "", 0, 300);
    });
    let run = &summary.ledger[0];
    assert_eq!((run.mirrored, run.rows, run.spooled, run.lost), (8300, 8000, 300, 0));
    assert_eq!(summary.verdict.status, Status::Inconclusive);
    let reasons = summary.verdict.reasons.join("\n");
    assert!(
        reasons.contains("300 of 8,300 mirrored exchanges are still in the spool of proxy proxy-1"),
        "{reasons}"
    );
    assert!(!reasons.contains("lost"), "{reasons}");
}

#[test]
fn what_was_dropped_does_not_lie_in_the_spool() {
    let summary = with(|items| {
        missing(items, 300);
        add(items, "spooled", "", 0, 280);
        add(items, "dropped.spool_full", "", 0, 50);
    });
    let run = &summary.ledger[0];
    assert_eq!((run.spooled, run.lost), (250, 50));
    let reasons = summary.verdict.reasons.join("\n");
    assert!(reasons.contains("50 of 8,300 mirrored exchanges are lost (spool_full 50)"), "{reasons}");
}

#[test]
fn a_spool_that_has_been_drained_since_leaves_nothing_to_say() {
    let summary = with(|items| add(items, "spooled", "", 0, 300));
    let run = &summary.ledger[0];
    assert_eq!((run.spooled, run.lost, run.unlisted), (0, 0, 0));
    assert_eq!(summary.verdict.status, Status::Pass, "{:?}", summary.verdict.reasons);
}

#[test]
fn what_was_lost_after_the_proxy_is_told_apart_from_what_it_dropped() {
    let summary = with(|items| {
        missing(items, 300);
        add(items, "dropped.queue_full", "", 0, 100);
    });
    let reasons = summary.verdict.reasons.join("\n");
    assert!(reasons.contains("are lost (queue_full 100, after the proxy 200)"), "{reasons}");
}

#[test]
fn what_the_cap_on_the_rate_kept_back_is_not_covered_and_names_the_load() {
    let summary = with(|items| {
        add(items, "skipped.rate_cap", "", 1, 10);
        add(items, "skipped.rate_cap", "", 16, 6000);
        add(items, "skipped.route", "", 0, 7);
        add(items, "skipped.outside_schedule", "", 0, 1234);
    });
    assert_eq!(summary.verdict.status, Status::Pass, "{:?}", summary.verdict.reasons);
    let run = &summary.ledger[0];
    assert_eq!((run.mirrored, run.lost), (8000, 0), "what was skipped was never mirrored");
    let skipped: Vec<_> = run.skipped.iter().map(|skip| (skip.name.as_str(), skip.count)).collect();
    assert_eq!(skipped, [("outside_schedule", 1234), ("rate_cap", 6010), ("route", 7)]);
    let not_covered = summary.verdict.not_covered.join("\n");
    let at_16 = run.capped.iter().find(|bin| bin.inflight_from == 16).unwrap();
    let mirrored = sound(8000).iter().filter(|row| row.inflight >= 16).count() as u64;
    assert_eq!((at_16.skipped, at_16.mirrored), (6000, mirrored));
    for said in [
        "6,010 requests kept back by the cap on the rate",
        "of those at 16 in flight and above: high load is seen less often than it was",
        "7 requests of no configured route were not mirrored",
        "1,234 requests outside the run's schedule were not mirrored",
    ] {
        assert!(not_covered.contains(said), "{said}: {not_covered}");
    }
}

#[test]
fn a_client_that_went_away_leaves_a_pair_like_any_other() {
    let mut rows = sound(8000);
    for row in rows.iter_mut().step_by(3) {
        row.primary_outcome = "client_cancelled";
    }
    let summary = of(&rows, |_| ());
    assert_eq!(summary.verdict.status, Status::Pass, "{:?}", summary.verdict.reasons);
    let target = &summary.targets[0];
    assert_eq!((target.comparable, target.shadow_failed.events, target.primary_failed.events), (8000, 0, 0));
}

#[test]
fn a_grpc_call_that_failed_failed_whatever_its_http_status() {
    let mut rows = sound(8000);
    for row in rows.iter_mut().step_by(10) {
        row.class = "INCOMPARABLE";
        row.shadow_grpc_status = Some(14);
    }
    let summary = of(&rows, |_| ());
    assert_eq!(summary.targets[0].shadow_failed.events, 800);
    assert_eq!(summary.verdict.status, Status::Fail);
    assert!(summary.verdict.reasons[0].contains("AVAILABILITY"), "{:?}", summary.verdict.reasons);
}
