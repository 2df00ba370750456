//! Kafka away: clients do not wait, what is held is bounded, and what was dropped is in the ledger.

use e2e::faulty::{Fault, Faulty};
use e2e::shadowdiff::{Proxy, run};
use e2e::wait::until_true;
use rdkafka::mocking::MockCluster;
use std::time::Duration;
use tempfile::tempdir;

use super::{Bounds, PRIMARY, SMALL, read};

#[test]
fn a_broker_that_is_down_costs_no_client_anything_and_every_loss_is_counted() {
    let dir = tempdir().unwrap();
    let broker = MockCluster::new(1).unwrap();
    broker.create_topic("shadowdiff", 1, 1).unwrap();
    let brokers = broker.bootstrap_servers();
    broker.broker_down(1).unwrap();
    let primary = Faulty::started(PRIMARY);
    let candidate = Faulty::started(Fault::Slow(Duration::from_millis(1)));
    let bounds = Bounds { inflight: 2048, ..Bounds::default() };
    let config = bounds.config(dir.path(), &candidate.url, "[kafka]\nqueue_messages = 100\n");
    let flags = ["--primary", &primary.url, "--config", &config, "--kafka", &brokers];
    let proxy = Proxy::started(dir.path(), &flags);
    let memory = proxy.process.peak_memory_kib();

    SMALL.run(&proxy.url);
    until_true("all exchanges have ended", || proxy.status()["ended"] == SMALL.total());
    let status = proxy.status();
    assert_eq!(status["delivered"], 0, "{status}");
    assert!(status["waiting"].as_u64().is_some_and(|waiting| waiting <= 100), "{status}");
    let grown = proxy.process.peak_memory_kib() - memory;
    assert!(grown <= 56 << 10, "grew by {grown} KiB");

    broker.broker_up(1).unwrap();
    proxy.settled();
    proxy.stop();
    let out = dir.path().join("set");
    let recorded = run(&["record", "--kafka", &brokers, "--out", out.to_str().unwrap(), "--exit-at-end"]);
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
    let run = read(&out);
    assert!(!run.rows.is_empty() && run.rows.len() < 640, "{} rows", run.rows.len());
}
