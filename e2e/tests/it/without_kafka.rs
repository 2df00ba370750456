//! One machine, no network: `proxy --out DIR`. Needs nothing but cargo.

use std::collections::BTreeSet;

use e2e::http::Client;
use e2e::set;
use e2e::shadowdiff::{DemoServer, run};
use rdkafka::mocking::MockCluster;
use tempfile::tempdir;

use crate::ranker;

#[test]
fn an_orderly_stop_leaves_a_row_for_every_request() {
    let dir = tempdir().unwrap();
    let primary = ranker::server("primary", dir.path());
    let candidate =
        DemoServer::started("candidate", dir.path(), &["--service-time-ms", "1", "--fault", "error:10"]);
    let proxy = ranker::local_proxy(dir.path(), &["--primary", &primary.url, "--candidate", &candidate.url]);
    ranker::send_all(&proxy.url, 0..40);
    // At once: what is under way must be finished and written.
    proxy.stop();

    let rows = set::rows(&dir.path().join("set"), "exchanges");
    let ids: BTreeSet<_> = rows.iter().filter_map(|row| row["request_id"].as_str()).collect();
    assert_eq!((rows.len(), ids.len()), (40, 40));
    assert!(rows.iter().all(|row| row["primary_status"] == 200 && row["shadow_outcome"] == "answered"));
    let failed = rows.iter().filter(|row| row["shadow_status"] == 500).count();
    assert_eq!(failed, 4, "one of ten");
    let classes = set::counts(&rows, "class");
    assert_eq!((classes["BIT_EQUAL"], classes["INCOMPARABLE"]), (36, 4), "{classes:?}");

    let ledger = set::rows(&dir.path().join("set"), "ledger");
    for item in ["mirrored", "outcome.answered", "delivered"] {
        assert_eq!(set::ledger_total(&ledger, item), 40, "{item}");
    }
    assert_eq!(set::ledger_total(&ledger, "dropped."), 0);
    assert!(ledger.iter().any(|row| row["closing"] == true), "no closing ledger");
}

#[test]
fn the_answer_is_the_primarys_own_byte_for_byte() {
    let dir = tempdir().unwrap();
    let primary = ranker::server("primary", dir.path());
    let candidate =
        DemoServer::started("candidate", dir.path(), &["--service-time-ms", "1", "--fault", "zero"]);
    let proxy = ranker::local_proxy(dir.path(), &["--primary", &primary.url, "--candidate", &candidate.url]);
    let client = Client::default();
    for number in 0..5 {
        let through = ranker::send(&client, &proxy.url, number);
        let mut direct = ranker::send(&client, &primary.url, number);
        // The clock may tick between the two.
        for header in &mut direct.headers {
            if header.0 == "date" {
                header.1 = through.headers.iter().find(|(name, _)| name == "date").unwrap().1.clone();
            }
        }
        assert_eq!(through, direct, "request {number}");
    }
}

#[test]
fn a_second_run_into_the_same_folder_appends() {
    let dir = tempdir().unwrap();
    let primary = ranker::server("primary", dir.path());
    let candidate = ranker::server("candidate", dir.path());
    for (run, numbers) in [("first", 0..10), ("second", 10..25)] {
        let proxy = ranker::local_proxy(
            dir.path(),
            &["--primary", &primary.url, "--candidate", &candidate.url, "--run", run],
        );
        ranker::send_all(&proxy.url, numbers);
        proxy.stop();
    }
    let rows = set::rows(&dir.path().join("set"), "exchanges");
    let runs = set::counts(&rows, "run");
    assert_eq!((runs["first"], runs["second"]), (10, 15), "{runs:?}");
    let places: BTreeSet<_> =
        rows.iter().map(|row| (row["partition"].to_string(), row["offset"].to_string())).collect();
    assert_eq!(places.len(), 25, "offsets go on where the first run ended");
}

#[test]
fn the_set_has_the_same_columns_as_through_kafka() {
    let dir = tempdir().unwrap();
    let primary = ranker::server("primary", dir.path());
    let candidate = ranker::server("candidate", dir.path());
    let local = ranker::local_proxy(dir.path(), &["--primary", &primary.url, "--candidate", &candidate.url]);
    ranker::send_all(&local.url, 0..5);
    local.stop();

    let broker = MockCluster::new(1).unwrap();
    let brokers = broker.bootstrap_servers();
    let legs = ["--primary", primary.url.as_str(), "--candidate", candidate.url.as_str()];
    let proxy = e2e::shadowdiff::Proxy::started(dir.path(), &[&legs[..], &["--kafka", &brokers]].concat());
    ranker::send_all(&proxy.url, 0..5);
    proxy.stop();
    let kafka_set = dir.path().join("through-kafka");
    let recorded =
        run(&["record", "--kafka", &brokers, "--out", kafka_set.to_str().unwrap(), "--exit-at-end"]);
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);

    assert_eq!(set::rows(&kafka_set, "exchanges").len(), 5);
    for table in ["exchanges", "ledger"] {
        assert_eq!(set::columns(&dir.path().join("set"), table), set::columns(&kafka_set, table), "{table}");
    }
}

#[test]
fn the_verdict_is_in_the_exit_code() {
    let dir = tempdir().unwrap();
    let primary = ranker::server("primary", dir.path());
    let healthy = ranker::server("healthy", dir.path());
    let zero = DemoServer::started("old-gpu", dir.path(), &["--service-time-ms", "1", "--fault", "zero"]);
    let set = dir.path().join("set");
    let record = |candidate: &DemoServer, numbers| {
        let proxy =
            ranker::local_proxy(dir.path(), &["--primary", &primary.url, "--candidate", &candidate.url]);
        ranker::send_all(&proxy.url, numbers);
        proxy.stop();
    };
    let analyze = |code: i32, what: &str| {
        // One load level: how many requests overlap here is chance.
        let options = ["--max-rate", "2%", "--load-bins", "1", "--json"];
        let analyzed = run(&[&["analyze", set.to_str().unwrap()], &options[..]].concat());
        assert_eq!(analyzed.code, code, "{what}:\n{}{}", analyzed.stdout, analyzed.stderr);
        serde_json::from_str::<serde_json::Value>(&analyzed.stdout).unwrap()
    };

    record(&healthy, 0..3);
    analyze(2, "three pairs say nothing");
    record(&healthy, 3..600);
    analyze(0, "all alike");
    record(&zero, 600..900);
    let summary = analyze(1, "one of three is zero");
    assert!(summary["verdict"].to_string().contains("DEGENERATE"), "{}", summary["verdict"]);
}
