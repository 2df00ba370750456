//! A real Kafka broker that is down at the start, or crashes in between: clients are served, and what was
//! acknowledged is recorded.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use e2e::broker::Broker;
use e2e::cache::{Component, have};
use e2e::http::Client;
use e2e::set;
use e2e::shadowdiff::{DemoServer, Proxy, run, spawn};
use e2e::wait::until_true;
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use tempfile::tempdir;

use crate::ranker;

const PATIENCE: Duration = Duration::from_secs(60);

fn legs(dir: &Path, broker: &Broker) -> (DemoServer, DemoServer, Proxy) {
    let primary = ranker::server("primary", dir);
    let candidate = ranker::server("candidate", dir);
    let flags = ["--primary", &primary.url, "--candidate", &candidate.url, "--kafka", &broker.address()];
    let proxy = Proxy::started(dir, &flags);
    (primary, candidate, proxy)
}

fn record(broker: &Broker, out: &Path) {
    let flags = ["record", "--kafka", &broker.address(), "--out", out.to_str().unwrap(), "--exit-at-end"];
    let recorded = run(&flags);
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
}

#[test]
fn a_proxy_that_starts_without_kafka_serves_and_delivers_later() {
    if !have("kafka down at the start", &[Component::Kafka]) {
        return;
    }
    let dir = tempdir().unwrap();
    let mut broker = Broker::stopped(dir.path());
    let (_primary, _candidate, mut proxy) = legs(dir.path(), &broker);
    ranker::send_all(&proxy.url, 0..20);

    until_true("all exchanges have ended", || proxy.status()["ended"] == 20);
    let status = proxy.status();
    assert_eq!((&status["delivered"], &status["dropped"]), (&0.into(), &0.into()), "{status}");
    assert!(proxy.metric("shadowdiff_publisher_waiting", "").is_some_and(|waiting| waiting >= 20.0));
    assert_eq!(status["publisher"]["connected"], false, "{status}");
    proxy.process.wait_for("says that the broker is not reached", |log| {
        log.lines().any(|line| line.contains("WARN") && line.to_lowercase().contains("kafka")).then_some(())
    });

    broker.start();
    let status = proxy.settled();
    assert_eq!((&status["delivered"], &status["dropped"]), (&20.into(), &0.into()), "{status}");
    proxy.stop();
    let out = dir.path().join("set");
    record(&broker, &out);
    assert_eq!(set::rows(&out, "exchanges").len(), 20);
}

#[test]
fn a_broker_that_crashes_loses_nothing_that_it_acknowledged() {
    if !have("kafka crash and restart", &[Component::Kafka]) {
        return;
    }
    let dir = tempdir().unwrap();
    let out = dir.path().join("set");
    let mut broker = Broker::started(dir.path());
    let (_primary, _candidate, proxy) = legs(dir.path(), &broker);
    ranker::send_all(&proxy.url, 0..1);
    until_true("the first exchange is delivered", || proxy.status()["delivered"] == 1);
    let flags = ["record", "--kafka", &broker.address(), "--out", out.to_str().unwrap()];
    let mut recorder = spawn("recorder", dir.path(), &flags);

    // A client that has no patience with a proxy that waits for Kafka.
    let client = Client::new(Duration::from_secs(10));
    let send = |numbers: std::ops::Range<usize>| {
        for number in numbers {
            assert_eq!(ranker::send(&client, &proxy.url, number).status, 200, "request {number}");
        }
    };
    send(1..300);
    broker.kill();
    send(300..600);
    broker.start();
    send(600..900);

    let status = proxy.settled();
    let count = |name: &str| usize::try_from(status[name].as_u64().unwrap()).unwrap();
    assert_eq!(count("mirrored"), 900);
    proxy.stop();
    assert_eq!(recorder.terminate(), 0, "{}", recorder.log());
    // Takes up where the first one left off.
    record(&broker, &out);

    let rows = set::rows(&out, "exchanges");
    let exchanges: BTreeSet<_> = rows.iter().filter_map(|row| row["exchange_id"].as_str()).collect();
    let requests: BTreeSet<_> = rows.iter().filter_map(|row| row["request_id"].as_str()).collect();
    assert_eq!((exchanges.len(), requests.len()), (rows.len(), rows.len()), "each exchange is recorded once");
    assert!(rows.len() >= count("delivered"), "{} rows of {} acknowledged", rows.len(), count("delivered"));
    assert!(rows.len() + count("dropped") >= 900, "{} rows, {status}", rows.len());
    let ledger = set::rows(&out, "ledger");
    assert_eq!(set::ledger_total(&ledger, "mirrored"), 900);
    assert_eq!(
        set::ledger_total(&ledger, "delivered") + set::ledger_total(&ledger, "dropped."),
        set::ledger_total(&ledger, "outcome.")
    );
}

#[test]
fn recording_ends_where_the_last_offset_is_the_marker_of_a_transaction() {
    if !have("transactions", &[Component::Kafka]) {
        return;
    }
    let dir = tempdir().unwrap();
    let broker = Broker::started(dir.path());
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", broker.address()).set("transactional.id", "copier");
    let producer: BaseProducer = config.create().unwrap();
    producer.init_transactions(PATIENCE).unwrap();
    producer.begin_transaction().unwrap();
    // No exchange, but a message: it is kept among the dead letters.
    for payload in ["a", "b", "c"] {
        producer
            .send(BaseRecord::<(), _>::to("shadowdiff").payload(payload))
            .map_err(|(error, _)| error)
            .unwrap();
    }
    producer.commit_transaction(PATIENCE).unwrap();
    let out = dir.path().join("set");
    record(&broker, &out);
    assert_eq!(set::rows(&out, "dead_letters").len(), 3);
    // The group has committed what comes before the marker: nothing more comes.
    let again = dir.path().join("again");
    record(&broker, &again);
    assert!(set::files(&again, "dead_letters").is_empty());
}
