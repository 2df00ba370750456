//! Sets with planted faults, and what is found in them from the files alone.

use analyzer::verdict::{Finding, Severity, Status};
use analyzer::{Options, Summary, analyze};
use tempfile::tempdir;

use crate::fixture::{
    Chance, Row, ledger_of, sound, two_faults, write_dead_letters, write_exchanges, write_ledger, write_set,
};

fn summary(rows: &[Row]) -> Summary {
    let dir = tempdir().unwrap();
    write_set(dir.path(), rows, 3);
    analyze(dir.path(), &Options::default(), &|_| ()).unwrap()
}

fn findings<'a>(summary: &'a Summary, name: &str) -> Vec<&'a Finding> {
    summary.verdict.findings.iter().filter(|finding| finding.name == name).collect()
}

fn blocking(summary: &Summary) -> Vec<&str> {
    let blocks = summary.verdict.findings.iter().filter(|finding| finding.severity == Severity::Block);
    blocks.map(|finding| finding.name).collect()
}

#[test]
fn a_zero_node_and_a_load_race_are_told_apart_and_named() {
    let summary = summary(&two_faults(12_000));
    assert_eq!((summary.verdict.status, summary.verdict.exit_code()), (Status::Fail, 1));
    assert_eq!(blocking(&summary), ["DEGENERATE_NODE", "LOAD_RACE"]);

    let degenerate = &findings(&summary, "DEGENERATE_NODE")[0];
    assert_eq!(degenerate.facts.node.as_deref(), Some("10.0.0.2:8000"));
    assert_eq!(degenerate.facts.labels["gpu"], "Tesla M10");
    assert_eq!(degenerate.facts.labels["driver"], "450.80");
    assert_eq!(degenerate.facts.rate.unwrap().events, 3000);
    assert!(
        degenerate.text.contains("Tesla M10") && degenerate.text.contains("all_zero"),
        "{}",
        degenerate.text
    );
    assert!(!degenerate.examples.is_empty());

    let race = &findings(&summary, "LOAD_RACE")[0];
    let onset = race.facts.onset_inflight.unwrap();
    assert_eq!(onset, 8, "the count at dispatch is blurred, the highest count meanwhile is not");
    assert_eq!(race.facts.steepest_inflight, Some(onset));
    let peaks = &summary.targets[0].peaks;
    assert_eq!(peaks.iter().map(|row| row.sound.trials).sum::<u64>(), 9000, "without the degenerate node");
    assert!(peaks.iter().filter(|row| row.inflight_to < 8).all(|row| row.sound.events == 0));
    assert!(peaks.iter().filter(|row| row.inflight_from >= 8).all(|row| row.sound.events > 0));
    assert_eq!(race.facts.nodes, ["10.0.0.0:8000", "10.0.0.1:8000", "10.0.0.3:8000"]);
    assert!(race.text.contains("no node pattern"), "{}", race.text);
    assert!(race.facts.node_pattern_p.unwrap() > 0.01);
    let rate = race.facts.rate.unwrap();
    assert!(rate.lower.unwrap() < 0.06 && rate.upper.unwrap() > 0.06, "{rate:?}");
    assert!(race.examples.iter().all(|example| example.inflight >= 5 && example.class == "GROSS"));
    assert!(race.examples.len() >= 3);
}

#[test]
fn equal_answers_in_number_pass_and_the_pass_says_what_it_leaves_open() {
    let summary = summary(&sound(8000));
    assert_eq!(
        (summary.verdict.status, summary.verdict.exit_code()),
        (Status::Pass, 0),
        "{:?}",
        summary.verdict.findings
    );
    assert!(summary.verdict.findings.is_empty());
    let open = summary.verdict.not_covered.join("\n");
    for part in ["load above 23 in flight", "no control", "cross-talk", "latency"] {
        assert!(open.contains(part), "{part}: {open}");
    }
}

#[test]
fn few_pairs_are_inconclusive() {
    let summary = summary(&sound(500));
    assert_eq!((summary.verdict.status, summary.verdict.exit_code()), (Status::Inconclusive, 2));
    assert!(
        summary.verdict.reasons[0].contains("500 comparable pairs; at least 3,838"),
        "{:?}",
        summary.verdict.reasons
    );
}

#[test]
fn numeric_noise_that_grows_with_load_is_no_race() {
    let mut chance = Chance(3);
    let noisy = sound(12_000).into_iter().map(|row| {
        if chance.happens(u64::from(row.inflight) * 20) {
            Row { class: "NUMERIC", units: Some(2.5), ratio: Some(1e-5), ..row }
        } else {
            row
        }
    });
    let summary = summary(&noisy.collect::<Vec<_>>());
    assert_eq!(summary.verdict.status, Status::Pass);
    assert!(findings(&summary, "LOAD_RACE").is_empty());
    let drift = &findings(&summary, "NUMERIC_DRIFT")[0];
    assert_eq!(drift.severity, Severity::Warn);
    assert!(drift.text.contains("grows with load"), "{}", drift.text);
}

#[test]
fn a_single_node_that_gives_zeros_is_named_without_others_to_compare_with() {
    let rows: Vec<Row> = two_faults(16_000).into_iter().filter(|row| row.node == "10.0.0.2:8000").collect();
    let summary = summary(&rows);
    assert_eq!(blocking(&summary), ["DEGENERATE_NODE"]);
    assert!(findings(&summary, "DEGENERATE_NODE")[0].text.contains("no healthy node"));
}

#[test]
fn a_bad_node_that_sees_only_high_load_is_no_load_race() {
    // Simpson's trap: pooled over nodes, the rate rises with load.
    let mut chance = Chance(5);
    let rows = sound(16_000).into_iter().map(|row| {
        let bad = row.node.starts_with("10.0.0.3");
        let inflight = if bad { 12 + row.inflight / 2 } else { row.inflight / 2 };
        let row = Row { inflight, ..row };
        if bad && chance.happens(50) { row.gross() } else { row }
    });
    let summary = summary(&rows.collect::<Vec<_>>());
    assert_eq!(summary.verdict.status, Status::Fail);
    assert!(findings(&summary, "LOAD_RACE").is_empty(), "{:?}", summary.verdict.reasons);
}

#[test]
fn one_node_worse_at_the_same_load_is_an_outlier() {
    let mut chance = Chance(5);
    let rows = sound(16_000).into_iter().map(|row| {
        let per_mille = if row.node.starts_with("10.0.0.1") { 40 } else { 1 };
        if chance.happens(per_mille) { row.gross() } else { row }
    });
    let summary = summary(&rows.collect::<Vec<_>>());
    let outliers = findings(&summary, "NODE_OUTLIER");
    assert_eq!(outliers.len(), 1);
    assert_eq!(outliers[0].facts.node.as_deref(), Some("10.0.0.1:8000"));
    assert!(findings(&summary, "LOAD_RACE").is_empty());
}

#[test]
fn divergence_without_a_pattern_still_fails() {
    let mut chance = Chance(9);
    let rows = sound(8000).into_iter().map(|row| if chance.happens(20) { row.gross() } else { row });
    let summary = summary(&rows.collect::<Vec<_>>());
    assert_eq!(blocking(&summary), ["SERIOUS_DIVERGENCE"]);
}

#[test]
fn failures_of_the_candidate_alone_fail() {
    let mut chance = Chance(13);
    let rows = sound(8000).into_iter().map(|row| {
        if chance.happens(20) {
            let detail = "shadow: timed_out";
            Row {
                class: "INCOMPARABLE",
                detail,
                units: None,
                ratio: None,
                shadow_status: None,
                shadow_outcome: "timed_out",
                ..row
            }
        } else {
            row
        }
    });
    let summary = summary(&rows.collect::<Vec<_>>());
    assert_eq!(blocking(&summary), ["AVAILABILITY"]);
    assert_eq!(summary.targets[0].outcomes[1].name, "answered 200 → timed_out");
}

#[test]
fn a_control_that_rises_as_well_takes_the_blame_off_the_candidate() {
    let mut chance = Chance(17);
    let rows: Vec<Row> = sound(24_000)
        .into_iter()
        .enumerate()
        .map(|(i, row)| {
            let control = i % 8 >= 4;
            let (target, role) = if control { ("twin", "control") } else { ("candidate", "candidate") };
            let row = Row { target, role, ..row };
            if row.inflight >= 8 && chance.happens(60) { row.gross() } else { row }
        })
        .collect();
    let summary = summary(&rows);
    assert_eq!(findings(&summary, "LOAD_RACE")[0].severity, Severity::Warn);
    assert_eq!(
        summary.targets.iter().map(|target| target.role.as_str()).collect::<Vec<_>>(),
        ["candidate", "control"]
    );
    assert_eq!(summary.verdict.status, Status::Inconclusive, "{:?}", summary.verdict.reasons);
}

#[test]
fn loss_that_could_hide_a_fault_refuses_the_pass() {
    let rows = sound(8000);
    let mut items = ledger_of(&rows);
    for (key, count) in &mut items {
        if key.1 == "mirrored" && key.3 == 16 {
            *count += 100;
        }
        if key.1 == "outcome.answered" && key.3 == 16 {
            *count += 100;
        }
    }
    items.insert(("run-1".into(), "dropped.queue_full".into(), "candidate".into(), 0), 100);
    let dir = tempdir().unwrap();
    write_exchanges(dir.path(), &rows, 2);
    write_ledger(dir.path(), &items, true);
    let summary = analyze(dir.path(), &Options::default(), &|_| ()).unwrap();
    assert_eq!(summary.verdict.status, Status::Inconclusive);
    let reasons = summary.verdict.reasons.join("\n");
    assert!(reasons.contains("100 of 8,100 mirrored exchanges are lost (queue_full 100)"), "{reasons}");
    let run = &summary.ledger[0];
    assert_eq!((run.mirrored, run.rows, run.lost, run.unfinished), (8100, 8000, 100, 0));
    let at_16 = run.loads.iter().find(|bin| bin.inflight_from == 16).unwrap();
    assert_eq!(at_16.lost, 100);
}

#[test]
fn without_a_closing_ledger_there_is_no_pass() {
    let rows = sound(8000);
    for (ledger, said) in [(true, "no closing ledger"), (false, "no ledger")] {
        let dir = tempdir().unwrap();
        write_exchanges(dir.path(), &rows, 2);
        if ledger {
            write_ledger(dir.path(), &ledger_of(&rows), false);
        }
        let summary = analyze(dir.path(), &Options::default(), &|_| ()).unwrap();
        assert_eq!(summary.verdict.status, Status::Inconclusive);
        assert!(summary.verdict.reasons[0].contains(said), "{:?}", summary.verdict.reasons);
    }
}

#[test]
fn copies_missing_just_at_high_load_are_said_and_are_no_failures() {
    let rows: Vec<Row> = sound(8000)
        .into_iter()
        .enumerate()
        .map(|(i, row)| {
            if row.inflight >= 16 && i % 5 == 0 {
                Row {
                    class: "INCOMPARABLE",
                    shadow_outcome: "shed",
                    shadow_status: None,
                    node: String::new(),
                    ..row
                }
            } else {
                row
            }
        })
        .collect();
    let summary = summary(&rows);
    assert_eq!(summary.verdict.status, Status::Inconclusive);
    let reasons = summary.verdict.reasons.join("\n");
    assert!(reasons.contains("at 16 in flight and above are missing"), "{reasons}");
    assert_eq!(summary.targets[0].shadow_failed.events, 0);
    assert!(summary.targets[0].nodes.iter().all(|node| !node.node.is_empty()));
}

#[test]
fn dead_letters_are_counted() {
    let dir = tempdir().unwrap();
    write_set(dir.path(), &sound(8000), 1);
    write_dead_letters(dir.path(), 50);
    let summary = analyze(dir.path(), &Options::default(), &|_| ()).unwrap();
    assert_eq!(summary.set.dead_letters, 50);
    assert_eq!(summary.verdict.status, Status::Inconclusive);
}
