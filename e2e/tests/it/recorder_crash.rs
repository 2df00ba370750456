//! A recorder that is killed and started again: each exchange is in the set exactly once.

use std::collections::BTreeSet;

use e2e::set;
use e2e::shadowdiff::{Proxy, run, spawn};
use e2e::wait::until_true;
use rdkafka::mocking::MockCluster;
use tempfile::tempdir;

use crate::ranker;

#[test]
fn a_killed_recorder_repeats_nothing_and_leaves_nothing_out() {
    let dir = tempdir().unwrap();
    let broker = MockCluster::new(1).unwrap();
    let brokers = broker.bootstrap_servers();
    let primary = ranker::server("primary", dir.path());
    let candidate = ranker::server("candidate", dir.path());
    let legs = ["--primary", primary.url.as_str(), "--candidate", candidate.url.as_str()];
    let proxy = Proxy::started(dir.path(), &[&legs[..], &["--kafka", &brokers]].concat());

    // Small files, so that there are some before the crash; the group gives the dead member up soon.
    let config = dir.path().join("config.toml");
    std::fs::write(&config, "[record]\nfile_rows = 20\n[kafka.options]\n\"session.timeout.ms\" = \"6000\"\n")
        .unwrap();
    let out = dir.path().join("set");
    let flags = ["--kafka", &brokers, "--out", out.to_str().unwrap(), "--config", config.to_str().unwrap()];
    ranker::send_all(&proxy.url, 0..200);
    let mut recorder = spawn("recorder", dir.path(), &[&["record"], &flags[..]].concat());
    until_true("the first files are there", || !set::files(&out, "exchanges").is_empty());
    ranker::send_all(&proxy.url, 200..250);
    recorder.kill();
    ranker::send_all(&proxy.url, 250..300);
    proxy.stop();

    let recorded = run(&[&["record", "--exit-at-end"], &flags[..]].concat());
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
    let rows = set::rows(&out, "exchanges");
    let exchanges: BTreeSet<_> = rows.iter().filter_map(|row| row["exchange_id"].as_str()).collect();
    assert_eq!((rows.len(), exchanges.len()), (300, 300));
    let ledger = set::rows(&out, "ledger");
    assert_eq!(set::ledger_total(&ledger, "delivered"), 300);
}
