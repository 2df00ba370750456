//! The whole path on a real model server, a real client and a real broker.

use e2e::broker::Broker;
use e2e::cache::{Component, have, root};
use e2e::shadowdiff::{Proxy, run, spawn};
use e2e::triton::Triton;
use e2e::{python, set};
use serde_json::Value;
use tempfile::tempdir;

const REQUESTS: usize = 120;

#[test]
fn tritonclient_through_the_proxy_to_parquet_and_a_verdict() {
    if !have("triton, kafka and python", &[Component::Kafka, Component::Triton, Component::Python]) {
        return;
    }
    let dir = tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let broker = Broker::started(dir.path());
    let primary = Triton::started("node-a", "primary", dir.path());
    let candidate = Triton::started("node-b", "candidate", dir.path());
    let kafka = ["--kafka", &broker.address(), "--topic", "triton"];
    let flags = ["--primary", &primary.url, "--candidate", &candidate.url, "--name", "edge", "--run", "one"];
    let proxy = Proxy::started(dir.path(), &[&flags[..], &kafka].concat());
    let out = path("set");
    let mut recorder = spawn("recorder", dir.path(), &[&["record", "--out", &out], &kafka[..]].concat());

    let (sent, requests) = (path("sent.jsonl"), REQUESTS.to_string());
    let _ = python::run("drive.py", &[&proxy.url, &primary.url, &requests, &sent]);
    let status = proxy.settled();
    assert_eq!((&status["mirrored"], &status["dropped"]), (&REQUESTS.into(), &0.into()), "{status}");
    assert_eq!(proxy.metric("shadowdiff_exchanges_total", "answered"), Some(120.0));
    proxy.stop();
    assert_eq!(recorder.terminate(), 0, "{}", recorder.log());
    // Whatever the first recorder had not read when it was told to stop.
    let rest = run(&[&["record", "--out", &out, "--exit-at-end"], &kafka[..]].concat());
    assert_eq!(rest.code, 0, "{}", rest.stderr);

    let columns = root().join("docs/COLUMNS.md");
    let classes = python::run("check_set.py", &[&out, columns.to_str().unwrap(), &sent]);
    let classes: Value = serde_json::from_str(&classes).unwrap();
    let expected = [("BIT_EQUAL", 84), ("GROSS", 12), ("DEGENERATE", 12), ("WITHIN_TOL", 12)];
    for (class, count) in expected {
        assert_eq!(classes[class], count, "{class} in {classes}");
    }
    let readme = root().join("README.md");
    let shown = python::run("run_readme.py", &[readme.to_str().unwrap(), dir.path().to_str().unwrap()]);
    assert!(shown.contains("BIT_EQUAL") && shown.contains("84"), "{shown}");

    let rows = set::rows(dir.path().join("set").as_path(), "exchanges");
    assert_eq!(set::counts(&rows, "topic")["triton"], REQUESTS);
    let node = primary.url.trim_start_matches("http://");
    assert_eq!(set::counts(&rows, "primary_node").get(node), Some(&REQUESTS));

    let html = path("report.html");
    let verdict = run(&["analyze", &out, "--json", "--html", &html]);
    assert_eq!(verdict.code, 1, "a fifth of the answers is wrong: {}{}", verdict.stdout, verdict.stderr);
    let summary: Value = serde_json::from_str(&verdict.stdout).unwrap();
    assert!(summary.to_string().contains("GROSS"), "{summary}");
    assert!(std::fs::read_to_string(&html).unwrap().contains("GROSS"));
}
