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
