//! Sets in which something looks like a fault of a node, or of the candidate, and is not.

use analyzer::verdict::Severity;
use analyzer::{Options, Summary, analyze};
use tempfile::tempdir;

use crate::fixture::{Chance, Row, sound, write_set};

fn summary(rows: &[Row]) -> Summary {
    let dir = tempdir().unwrap();
    write_set(dir.path(), rows, 3);
    analyze(dir.path(), &Options::default(), &|_| ()).unwrap()
}

fn blocking(summary: &Summary) -> Vec<&str> {
    let blocks = summary.verdict.findings.iter().filter(|finding| finding.severity == Severity::Block);
    blocks.map(|finding| finding.name).collect()
}

#[test]
fn single_serious_pairs_on_many_small_nodes_are_no_outliers() {
    let mut chance = Chance(29);
    let rows: Vec<Row> = sound(16_000)
        .into_iter()
        .enumerate()
        .map(|(i, row)| {
            let row = Row { node: format!("10.0.{}.1:8000", chance.below(300)), ..row };
            if i % 4000 == 7 { row.gross() } else { row }
        })
        .collect();
    let summary = summary(&rows);
    assert!(blocking(&summary).is_empty(), "{:?}", summary.verdict.reasons);
}

#[test]
fn a_node_with_more_load_than_the_others_is_no_outlier_of_a_race_that_all_have() {
    let mut chance = Chance(31);
    let rows: Vec<Row> = sound(16_000)
        .into_iter()
        .enumerate()
        .map(|(i, row)| {
            let load = (0..40).take_while(|_| chance.happens(855)).count() as u32;
            let inflight = if i % 4 == 0 { load + 8 } else { load.min(15) };
            let row = Row { inflight, joined: chance.below(4) as u32, ..row };
            let over = u64::from((inflight + row.joined).saturating_sub(7));
            if chance.happens(over * over / 2) { row.gross() } else { row }
        })
        .collect();
    let summary = summary(&rows);
    assert_eq!(blocking(&summary), ["LOAD_RACE"], "{:?}", summary.verdict.reasons);
}

/// A candidate and a control that gets one request in 40, with noise that grows with load on the rows that `noisy` picks.
fn beside_a_small_control(noisy: impl Fn(&Row) -> bool) -> Summary {
    let mut chance = Chance(41);
    let mut rows: Vec<Row> = Vec::new();
    for row in sound(32_000) {
        let (target, role) =
            if chance.below(40) == 0 { ("twin", "control") } else { ("candidate", "candidate") };
        let row = Row { target, role, ..row };
        let hit = chance.happens(u64::from(row.inflight)) && noisy(&row);
        rows.push(if hit { row.gross() } else { row });
    }
    summary(&rows)
}

#[test]
fn noise_that_a_small_control_has_too_is_not_blamed_on_the_candidate() {
    let both = beside_a_small_control(|_| true);
    assert!(blocking(&both).is_empty(), "{:?}", both.verdict.reasons);
    let race = both.verdict.findings.iter().find(|finding| finding.name == "LOAD_RACE").unwrap();
    assert!(race.text.contains("the control diverges as much from"), "{}", race.text);
    let alone = beside_a_small_control(|row| row.role == "candidate");
    assert_eq!(blocking(&alone), ["LOAD_RACE"]);
}

#[test]
fn a_control_of_few_pairs_is_not_said_to_diverge() {
    let mut chance = Chance(43);
    let rows: Vec<Row> = sound(8000)
        .into_iter()
        .enumerate()
        .map(|(i, row)| match () {
            () if i % 200 == 0 => Row { target: "twin", role: "control", ..row },
            () if chance.happens(10) => row.gross(),
            () => row,
        })
        .collect();
    let summary = summary(&rows);
    assert!(
        summary.verdict.reasons[0].contains("the control has too few pairs"),
        "{:?}",
        summary.verdict.reasons
    );
}
