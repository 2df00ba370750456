//! Sets that look sound and must not pass.

use analyzer::report::{TerminalStyle, json, terminal};
use analyzer::verdict::Status;
use analyzer::{Options, Summary, analyze};
use tempfile::tempdir;

use crate::fixture::{Row, ledger_of, sound, write_exchanges, write_ledger, write_set};

fn of(rows: &[Row], ledger: &[Row]) -> Summary {
    let dir = tempdir().unwrap();
    write_exchanges(dir.path(), rows, 2);
    write_ledger(dir.path(), &ledger_of(ledger), true);
    analyze(dir.path(), &Options::default(), &|_| ()).unwrap()
}

#[test]
fn no_pass_tells_of_a_rate_above_the_limit() {
    for pairs in [2996, 3837, 3838] {
        let rows = sound(pairs);
        let summary = of(&rows, &rows);
        let below = summary.targets[0].serious.upper.unwrap() <= 1e-3;
        assert_eq!(summary.verdict.status == Status::Pass, below, "{pairs}: {:?}", summary.verdict.reasons);
        assert_eq!(below, pairs == 3838);
    }
}

#[test]
fn rows_that_are_in_the_set_twice_do_not_make_up_the_number() {
    let once = sound(3000);
    let twice = [once.clone(), once.clone()].concat();
    let summary = of(&twice, &once);
    assert_eq!(summary.verdict.status, Status::Inconclusive);
    let reasons = summary.verdict.reasons.join("\n");
    assert!(reasons.contains("3,000 rows more than were mirrored"), "{reasons}");
}

#[test]
fn rows_too_many_of_one_shadow_do_not_hide_those_missing_of_another() {
    let named = |target, count| -> Vec<Row> {
        sound(count).into_iter().map(|row| Row { target, inflight: 0, ..row }).collect()
    };
    let mirrored = [named("a", 8000), named("b", 8000)].concat();
    let recorded = [named("a", 8500), named("b", 7500)].concat();
    let summary = of(&recorded, &mirrored);
    assert_eq!((summary.ledger[0].lost, summary.ledger[0].unlisted), (500, 500));
    let reasons = summary.verdict.reasons.join("\n");
    assert!(reasons.contains("500 of 16,000 mirrored exchanges are lost"), "{reasons}");
}

#[test]
fn a_candidate_that_is_down_has_numbers_all_the_same() {
    let down = sound(8000).into_iter().map(|row| Row {
        class: "INCOMPARABLE",
        shadow_outcome: "refused",
        shadow_status: None,
        units: None,
        ratio: None,
        ..row
    });
    let rows: Vec<Row> = down.collect();
    let summary = of(&rows, &rows);
    assert_eq!(summary.verdict.status, Status::Fail);
    let value: serde_json::Value = serde_json::from_str(&json(&summary)).unwrap();
    assert!(value["targets"][0]["failed_e"].is_number());
}

#[test]
fn names_of_labels_cannot_steer_the_terminal() {
    let rows: Vec<Row> =
        sound(100).into_iter().map(|row| Row { labels: r#"{"\u001b[2J":"x"}"#.into(), ..row }).collect();
    let dir = tempdir().unwrap();
    write_set(dir.path(), &rows, 1);
    let summary = analyze(dir.path(), &Options::default(), &|_| ()).unwrap();
    assert!(!terminal(&summary, &TerminalStyle::default()).contains('\x1b'));
}

#[test]
fn a_few_lost_that_could_be_serious_refuse_the_pass_where_the_set_is_small() {
    for (pairs, status) in [(8000, Status::Inconclusive), (20_000, Status::Pass)] {
        let mirrored = sound(pairs);
        let summary = of(&mirrored[..pairs - 7], &mirrored);
        assert_eq!((summary.verdict.status, summary.ledger[0].lost), (status, 7), "{pairs}");
        let hides =
            summary.verdict.reasons[0].contains("mirrored exchanges are lost (after the proxy), which could");
        assert_eq!(hides, status == Status::Inconclusive);
    }
}
