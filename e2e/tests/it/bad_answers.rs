//! Servers that are down, slow or wrong: the client is served as well as the primary allows, and there is a row.

use e2e::http::Client;
use e2e::ports::free_port;
use e2e::set::{self, Row};
use e2e::shadowdiff::DemoServer;
use tempfile::tempdir;

use crate::{fake, ranker};

/// Sends one request through a proxy with these arguments; gives the client's answer and the row.
fn one(arguments: &[&str], body: &[u8]) -> (e2e::http::Answer, Row) {
    let dir = tempdir().unwrap();
    let proxy = ranker::local_proxy(dir.path(), arguments);
    let answer = Client::default().post(&format!("{}{}", proxy.url, ranker::INFER), &[], body);
    proxy.settled();
    proxy.stop();
    let rows = set::rows(&dir.path().join("set"), "exchanges");
    assert_eq!(rows.len(), 1, "every ending makes a record");
    (answer, rows.into_iter().next().unwrap())
}

/// The address of a server that is not there.
fn dead() -> String {
    format!("http://127.0.0.1:{}", free_port())
}

fn text<'a>(row: &'a Row, column: &str) -> &'a str {
    row[column].as_str().unwrap_or_else(|| panic!("{column} is {}", row[column]))
}

#[test]
fn a_primary_that_is_down_gives_502_in_json_and_a_row() {
    let dir = tempdir().unwrap();
    let candidate = ranker::server("candidate", dir.path());
    let (answer, row) = one(&["--primary", &dead(), "--candidate", &candidate.url], &ranker::body(1));
    assert_eq!(answer.status, 502);
    assert!(
        answer.json()["error"].as_str().is_some_and(|error| error.contains("primary")),
        "{}",
        answer.text()
    );
    assert_eq!(row["primary_outcome"], "refused");
    assert_eq!(row["shadow_outcome"], "answered", "the copy is sent all the same");
    assert_eq!(row["class"], "INCOMPARABLE");
    assert!(text(&row, "class_detail").contains("primary"), "{}", row["class_detail"]);
    assert!(!text(&row, "primary_reason").is_empty());
}

#[test]
fn a_candidate_that_is_down_is_recorded_and_not_felt() {
    let dir = tempdir().unwrap();
    let primary = ranker::server("primary", dir.path());
    let (answer, row) = one(&["--primary", &primary.url, "--candidate", &dead()], &ranker::body(1));
    assert_eq!(answer.status, 200);
    assert_eq!((&row["primary_outcome"], &row["shadow_outcome"]), (&"answered".into(), &"refused".into()));
    assert_eq!(row["class"], "INCOMPARABLE");
    assert!(text(&row, "class_detail").contains("shadow"), "{}", row["class_detail"]);
}

#[test]
fn an_answer_that_is_not_json_cannot_be_compared() {
    let dir = tempdir().unwrap();
    let primary = ranker::server("primary", dir.path());
    let page = fake::server(&fake::ok("text/html", "<html>busy</html>"));
    let (answer, row) = one(&["--primary", &primary.url, "--candidate", &page], &ranker::body(1));
    assert_eq!(answer.status, 200);
    assert_eq!((&row["shadow_outcome"], &row["shadow_status"]), (&"answered".into(), &200.into()));
    assert_eq!(row["class"], "INCOMPARABLE");
    assert!(text(&row, "class_detail").contains("shadow"), "{}", row["class_detail"]);
    assert!(
        text(&row, "shadow_undecodable").to_lowercase().contains("json"),
        "{}",
        row["shadow_undecodable"]
    );
    assert!(row["primary_undecodable"].is_null());
}

#[test]
fn an_answer_that_breaks_off_is_incomplete() {
    let dir = tempdir().unwrap();
    let primary = ranker::server("primary", dir.path());
    let half = fake::server("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"outputs\":[");
    let (answer, row) = one(&["--primary", &primary.url, "--candidate", &half], &ranker::body(1));
    assert_eq!(answer.status, 200);
    assert_eq!((&row["shadow_outcome"], &row["shadow_status"]), (&"incomplete".into(), &200.into()));
    assert_eq!(row["class"], "INCOMPARABLE");
}

#[test]
fn a_candidate_that_hangs_is_cut_off_by_the_proxys_own_deadline() {
    let dir = tempdir().unwrap();
    let primary = ranker::server("primary", dir.path());
    let candidate = DemoServer::started("candidate", dir.path(), &["--fault", "hang:1"]);
    let config = dir.path().join("config.toml");
    std::fs::write(&config, format!("[[shadow]]\nnodes = [\"{}\"]\ntimeout_ms = 200\n", candidate.url))
        .unwrap();
    let arguments = ["--primary", &primary.url, "--config", config.to_str().unwrap()];
    let (answer, row) = one(&arguments, &ranker::body(1));
    assert_eq!(answer.status, 200);
    assert_eq!(row["shadow_outcome"], "timed_out");
    assert!(row["shadow_latency_us"].as_i64().is_some_and(|latency| latency >= 200_000), "{row:?}");
    assert_eq!(row["class"], "INCOMPARABLE");
}

#[test]
fn a_body_above_the_cap_goes_to_the_primary_only_and_is_recorded() {
    let dir = tempdir().unwrap();
    let primary = fake::server(&fake::ok("application/json", r#"{"predictions":[0.5]}"#));
    let candidate = ranker::server("candidate", dir.path());
    let config = dir.path().join("config.toml");
    std::fs::write(&config, "[limits]\nbody_bytes = 1000\n").unwrap();
    let legs = ["--primary", primary.as_str(), "--candidate", candidate.url.as_str()];
    let (answer, row) = one(&[&legs[..], &["--config", config.to_str().unwrap()]].concat(), &[b' '; 5000]);
    assert_eq!((answer.status, answer.text().as_str()), (200, r#"{"predictions":[0.5]}"#));
    assert_eq!(row["shadow_outcome"], "body_too_large");
    assert_eq!((&row["shadow_attempts"], &row["request_bytes"]), (&0.into(), &5000.into()));
}

#[test]
fn a_hanging_candidate_holds_up_neither_clients_nor_the_stop_and_copies_are_shed() {
    let dir = tempdir().unwrap();
    let primary = ranker::server("primary", dir.path());
    let candidate = DemoServer::started("candidate", dir.path(), &["--fault", "hang:1"]);
    let config = dir.path().join("config.toml");
    std::fs::write(&config, "[proxy]\ndrain_ms = 300\n[limits]\nmirror_inflight = 4\n").unwrap();
    let legs = ["--primary", primary.url.as_str(), "--candidate", candidate.url.as_str()];
    let proxy =
        ranker::local_proxy(dir.path(), &[&legs[..], &["--config", config.to_str().unwrap()]].concat());

    // Far below the 30 s that a shadow may take.
    let client = Client::new(std::time::Duration::from_secs(10));
    for number in 0..20 {
        assert_eq!(ranker::send(&client, &proxy.url, number).status, 200, "request {number}");
    }
    proxy.stop();

    let rows = set::rows(&dir.path().join("set"), "exchanges");
    let outcomes = set::counts(&rows, "shadow_outcome");
    assert_eq!(rows.len(), 20, "{outcomes:?}");
    assert_eq!((outcomes.get("shed"), outcomes.get("shutdown")), (Some(&16), Some(&4)), "{outcomes:?}");
    let ledger = set::rows(&dir.path().join("set"), "ledger");
    assert_eq!(set::ledger_total(&ledger, "outcome.shed"), 16);
    assert_eq!(set::ledger_total(&ledger, "mirrored"), set::ledger_total(&ledger, "outcome."));
}
