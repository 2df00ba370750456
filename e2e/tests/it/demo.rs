//! The one-command demo finds the faults it plants, from the files alone.

use std::collections::BTreeSet;

use e2e::set;
use e2e::shadowdiff::run;
use serde_json::Value;
use tempfile::tempdir;

#[test]
fn the_demo_names_the_old_gpu_and_the_load_race() {
    let dir = tempdir().unwrap();
    let out = dir.path().join("demo");
    let demo = run(&["demo", "--out", out.to_str().unwrap()]);
    // Not the verdict's code: the demo is done when it finds both faults.
    assert_eq!(demo.code, 0, "{}{}", demo.stdout, demo.stderr);
    for word in ["DEGENERATE_NODE", "Tesla M10", "LOAD_RACE", "onset"] {
        assert!(demo.stdout.contains(word), "no {word:?} in the report:\n{}", demo.stdout);
    }

    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("LOAD_RACE") && page.contains("<svg"), "the page has findings and plots");
    for fetch in ["src=\"http", "href=\"http", "url(http", "@import", "<script src"] {
        assert!(!page.contains(fetch), "the page fetches something: {fetch}");
    }

    let folder = set_folder(&out);
    let rows = set::rows(&folder, "exchanges");
    assert!(rows.len() > 5000, "only {} rows", rows.len());
    let zero: BTreeSet<&str> = rows
        .iter()
        .filter(|row| row["class"] == "DEGENERATE")
        .filter_map(|row| row["shadow_labels"].as_str())
        .collect();
    assert!(zero.len() == 1 && zero.iter().all(|labels| labels.contains("Tesla M10")), "{zero:?}");

    let again = run(&["analyze", folder.to_str().unwrap(), "--json"]);
    assert_eq!(again.code, 1, "{}", again.stderr);
    let twice = run(&["analyze", folder.to_str().unwrap(), "--json"]);
    assert_eq!(again.stdout, twice.stdout, "the same files give the same report");
    serde_json::from_str::<Value>(&again.stdout).unwrap();
}

/// The set lies in the demo's folder or in one below it.
fn set_folder(out: &std::path::Path) -> std::path::PathBuf {
    let below = std::fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    let mut folders = std::iter::once(out.to_owned()).chain(below);
    folders.find(|folder| folder.join("exchanges").is_dir()).expect("the demo leaves its set")
}
