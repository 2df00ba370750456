//! Rules of the source tree that the compiler does not check.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::cache::root;
use serde_json::Value;

/// Which crates of the workspace each library may use; `cli`, `bench`, `e2e` and `fuzz` may use any.
const ARROWS: [(&str, &[&str]); 6] = [
    ("exchange", &[]),
    ("divergence", &[]),
    ("demo", &[]),
    ("proxy", &["exchange"]),
    ("recorder", &["exchange", "divergence"]),
    ("analyzer", &["exchange", "divergence"]),
];

const MAX_LINES: usize = 500;
const MEDIAN_LINES: usize = 200;

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 50, "only {} sources found", found.len());
    found
}

fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).unwrap().lines().count()
}

#[test]
fn no_source_file_is_too_long() {
    let long: Vec<_> = sources().into_iter().filter(|path| lines(path) > MAX_LINES).collect();
    assert!(long.is_empty(), "over {MAX_LINES} lines: {long:?}");
}

#[test]
fn the_median_source_file_is_short() {
    let mut all: Vec<usize> = sources().iter().map(|path| lines(path)).collect();
    all.sort_unstable();
    assert!(all[all.len() / 2] <= MEDIAN_LINES, "median {}", all[all.len() / 2]);
}

#[test]
fn modules_lie_beside_their_folder() {
    let old: Vec<_> = sources().into_iter().filter(|path| path.ends_with("mod.rs")).collect();
    assert!(old.is_empty(), "foo.rs and foo/, no mod.rs: {old:?}");
}

#[test]
fn crates_use_only_those_below_them() {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let members: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let used: BTreeMap<&str, Vec<&str>> = packages
        .iter()
        .map(|package| {
            let names = package["dependencies"].as_array().unwrap().iter().filter_map(|d| d["name"].as_str());
            (package["name"].as_str().unwrap(), names.filter(|name| members.contains(name)).collect())
        })
        .collect();

    for (package, allowed) in ARROWS {
        let wrong: Vec<_> = used[package].iter().filter(|name| !allowed.contains(name)).collect();
        assert!(wrong.is_empty(), "{package} must not use {wrong:?}");
    }
    for (package, uses) in &used {
        let tools: Vec<_> =
            uses.iter().filter(|name| ["cli", "e2e", "bench", "fuzz"].contains(name)).collect();
        assert!(tools.is_empty(), "{package} must not use {tools:?}");
    }
    for library in ARROWS.map(|(package, _)| package) {
        assert!(used["cli"].contains(&library), "cli does not use {library}");
    }
}

#[test]
fn the_guide_to_the_report_explains_every_finding_class_and_outcome() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let guide = read("docs/REPORT.md");
    let explained = |name: &str| guide.contains(&format!("\n| `{name}` |"));

    let rules = std::fs::read_dir(root().join("analyzer/src/verdict")).unwrap();
    let rules =
        rules.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_uppercase());
    let rules: Vec<String> = rules.filter(|name| name != "COVERAGE").collect();
    assert!(rules.len() > 5, "{rules:?}");

    let columns = read("docs/COLUMNS.md");
    let listed = |column: &str, before: &str| -> Vec<String> {
        let row = columns.lines().find(|line| line.starts_with(&format!("| `{column}` "))).unwrap();
        let (_, names) = row.split_once(before).unwrap();
        let names = names.trim_end_matches([' ', '|']).split(';').next().unwrap();
        names.split(", ").map(|name| name.trim().to_owned()).collect()
    };
    let classes = listed("class", "first match: ");
    let outcomes = listed("shadow_outcome", "the leg ended: ");
    assert_eq!((classes.len(), outcomes.len()), (10, 12), "{classes:?} {outcomes:?}");

    let all = rules.iter().chain(&classes).chain(&outcomes);
    let missing: Vec<_> = all.filter(|name| !explained(name)).collect();
    assert!(missing.is_empty(), "docs/REPORT.md does not explain {missing:?}");
}
