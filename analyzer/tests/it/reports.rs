//! Reports: the same bytes for the same rows, however they are cut into files.

use analyzer::report::json;
use analyzer::{Options, Summary, analyze};
use tempfile::tempdir;

use crate::fixture::{Row, two_faults, write_set};

fn summary(rows: &[Row], files: usize) -> Summary {
    let dir = tempdir().unwrap();
    write_set(dir.path(), rows, files);
    analyze(dir.path(), &Options::default(), &|_| ()).unwrap()
}

#[test]
fn the_cut_of_the_set_does_not_change_a_byte() {
    let mut rows = two_faults(6000);
    // Metrics that are no numbers must not disturb the order of anything.
    rows.iter_mut().step_by(7).for_each(|row| row.units = Some(f64::NAN));
    rows.iter_mut().step_by(11).for_each(|row| row.units = Some(f64::INFINITY));
    let whole = json(&summary(&rows, 1));
    for files in [3, 17] {
        assert!(json(&summary(&rows, files)) == whole, "{files} files");
    }
    assert!(json(&summary(&rows, 3)) == whole, "a second run");
}

#[test]
fn the_json_has_a_version_and_numbers_that_add_up() {
    let rows = two_faults(6000);
    let value: serde_json::Value = serde_json::from_str(&json(&summary(&rows, 2))).unwrap();
    assert_eq!(value["schema"], 1);
    assert_eq!(value["set"]["rows"], 6000);
    let target = &value["targets"][0];
    let sum = |rows: &str, field: &str| -> u64 {
        let rows = target[rows].as_array().unwrap();
        rows.iter().map(|row| row[field]["trials"].as_u64().unwrap()).sum()
    };
    for table in ["nodes", "loads", "bands"] {
        assert_eq!(sum(table, "serious"), 6000, "{table}");
    }
    let of_classes: u64 =
        target["classes"].as_array().unwrap().iter().map(|row| row["rate"]["events"].as_u64().unwrap()).sum();
    assert_eq!(of_classes, 6000);
    assert_eq!(target["latency"]["primary"]["count"], 6000);
}
