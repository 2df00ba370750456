//! Reports: the same bytes for the same rows, however they are cut into files.

use analyzer::report::{TerminalStyle, html, json, terminal};
use analyzer::{Options, Summary, analyze};
use tempfile::tempdir;

use crate::fixture::{Row, exchanges, sound, two_faults, write, write_exchanges, write_set};

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

#[test]
fn the_terminal_report_fits_and_leads_with_the_verdict() {
    let summary = summary(&two_faults(12_000), 2);
    let text = terminal(&summary, &TerminalStyle { color: false, width: 100 });
    assert!(text.starts_with("VERDICT FAIL  12,000 rows"), "{text}");
    for part in [
        "DEGENERATE_NODE",
        "LOAD_RACE",
        "Tesla M10",
        "By node",
        "By load level",
        "By latency percentile",
        "p99–99.9",
        "Worst pairs",
        "Ledger",
        "Not covered",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let longest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
    assert!(longest.chars().count() <= 100, "{longest}");
    assert!(!text.contains('\x1b'));
    assert!(terminal(&summary, &TerminalStyle { color: true, width: 100 }).contains("\x1b[1;31m"));
    keep("terminal.txt", &text);
}

#[test]
fn names_from_the_traffic_cannot_steer_the_terminal_or_the_page() {
    let mut rows = two_faults(6000);
    let evil = "<script>alert(1)</script>\x1b[2J";
    rows.iter_mut().filter(|row| row.node.starts_with("10.0.0.2")).for_each(|row| {
        row.node = evil.into();
        row.labels = r#"{"gpu":"\"><img src=x onerror=alert(2)>"}"#.into();
    });
    let summary = summary(&rows, 1);
    assert!(summary.verdict.findings.iter().any(|finding| finding.facts.node.as_deref() == Some(evil)));
    let page = html(&summary);
    assert!(!page.contains("<script") && !page.contains("<img"), "unescaped");
    assert!(page.contains("&lt;script&gt;"));
    assert!(!terminal(&summary, &TerminalStyle::default()).contains('\x1b'));
}

#[test]
fn the_page_is_one_file_with_its_plots_and_no_address_in_it() {
    let summary = summary(&two_faults(12_000), 2);
    let page = html(&summary);
    assert_eq!(page.matches("<svg").count(), 6);
    for foreign in ["http://", "https://", "src=", "<link", "<script", "NaN", "inf,"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    for part in ["DEGENERATE_NODE", "Tesla M10", "onset 8", "Not covered", "prefers-color-scheme: dark"] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page, html(&summary));
    keep("report.html", &page);
}

#[test]
fn the_page_of_a_pass_says_what_it_rests_on_beside_its_warnings() {
    let noisy = sound(8000)
        .into_iter()
        .enumerate()
        .map(|(i, row)| if i % 40 == 0 { Row { class: "NUMERIC", units: Some(2.5), ..row } } else { row });
    let page = html(&summary(&noisy.collect::<Vec<_>>(), 1));
    assert!(page.contains("NUMERIC_DRIFT"));
    assert!(page.contains("0 serious divergences in 8,000 comparable pairs"));
}

#[test]
fn a_set_without_rows_still_makes_reports() {
    let dir = tempdir().unwrap();
    write_exchanges(dir.path(), &[Row::default()], 1);
    let one = analyze(dir.path(), &Options::default(), &|_| ()).unwrap();
    let empty = tempdir().unwrap();
    write(&empty.path().join("exchanges/none.parquet"), &exchanges(&[], 0), 10);
    let none = analyze(empty.path(), &Options::default(), &|_| ()).unwrap();
    for summary in [one, none] {
        assert_eq!(summary.verdict.exit_code(), 2);
        assert!(html(&summary).contains("Inconclusive"));
        assert!(!html(&summary).contains("NaN"));
        assert!(terminal(&summary, &TerminalStyle::default()).contains("INCONCLUSIVE"));
    }
}

/// Leaves a report where it can be looked at: the temporary folder of the tests, under the target folder.
fn keep(name: &str, text: &str) {
    std::fs::write(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), text).unwrap();
}
