//! A real broker that is away, and a proxy with a disk spool: what was mirrored is recorded once, over stops and crashes of
//! both.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use e2e::broker::Broker;
use e2e::cache::{Component, have};
use e2e::set::{self, Row};
use e2e::shadowdiff::{DemoServer, Proxy, run};
use e2e::wait::until_true;
use tempfile::{TempDir, tempdir};

use crate::ranker;

/// Two servers, a broker, and what a proxy between them needs.
struct Place {
    dir: TempDir,
    broker: Broker,
    primary: DemoServer,
    candidate: DemoServer,
}

impl Place {
    fn new(broker: fn(&Path) -> Broker) -> Self {
        let dir = tempdir().unwrap();
        let (primary, candidate) =
            (ranker::server("primary", dir.path()), ranker::server("candidate", dir.path()));
        Self { broker: broker(dir.path()), primary, candidate, dir }
    }

    fn spool(&self) -> PathBuf {
        self.dir.path().join("spool")
    }

    /// A proxy with the spool; `kafka` are further lines of its Kafka table.
    fn proxy(&self, run: &str, kafka: &str) -> Proxy {
        let file = self.dir.path().join(format!("{run}.toml"));
        std::fs::write(&file, format!("[proxy]\nledger_every_ms = 200\n[kafka]\n{kafka}\n")).unwrap();
        let (file, spool) = (file.display().to_string(), self.spool().display().to_string());
        let flags = ["--primary", &self.primary.url, "--candidate", &self.candidate.url];
        let to = ["--kafka", &self.broker.address(), "--spool", &spool, "--config", &file];
        Proxy::started(self.dir.path(), &[&flags[..], &to, &["--name", "p", "--run", run]].concat())
    }

    /// Records all that is in the topic, and gives the rows of a table.
    fn recorded(&self) -> Set {
        let out = self.dir.path().join("set");
        let out = out.to_str().unwrap();
        let recorded = run(&["record", "--kafka", &self.broker.address(), "--out", out, "--exit-at-end"]);
        assert_eq!(recorded.code, 0, "{}", recorded.stderr);
        let rows = |table| set::rows(Path::new(out), table);
        Set { exchanges: rows("exchanges"), ledger: rows("ledger") }
    }
}

struct Set {
    exchanges: Vec<Row>,
    ledger: Vec<Row>,
}

impl Set {
    fn distinct(&self) -> usize {
        let ids = self.exchanges.iter().filter_map(|row| row["exchange_id"].as_str());
        ids.collect::<BTreeSet<_>>().len()
    }

    /// A count of the closing ledger of a run.
    fn closing(&self, run: &str, item: &str) -> i64 {
        let of_run = |row: &&Row| row["run"] == run && row["closing"] == true;
        let closing: Vec<Row> = self.ledger.iter().filter(of_run).cloned().collect();
        assert!(!closing.is_empty(), "no closing ledger of {run}");
        set::ledger_total(&closing, item)
    }

    /// `mirrored = delivered + spooled + dropped`, by the run's closing ledger.
    fn balances(&self, run: &str, mirrored: i64) {
        assert_eq!(self.closing(run, "mirrored"), mirrored);
        assert_eq!(self.closing(run, "outcome."), mirrored);
        let accounted = ["delivered", "spooled", "dropped."].map(|item| self.closing(run, item));
        assert_eq!(accounted.iter().sum::<i64>(), mirrored, "delivered, spooled, dropped: {accounted:?}");
    }
}

#[test]
fn what_a_proxy_without_kafka_left_in_its_spool_is_delivered_by_the_next_one() {
    if !have("spool over a restart", &[Component::Kafka]) {
        return;
    }
    let mut place = Place::new(Broker::stopped);
    let proxy = place.proxy("first", "");
    ranker::send_all(&proxy.url, 0..50);
    until_true("all exchanges have ended", || proxy.status()["ended"] == 50);
    let log = proxy.stop();
    assert!(log.contains("exchanges wait in the spool"), "{log}");

    place.broker.start();
    let proxy = place.proxy("second", "");
    ranker::send_all(&proxy.url, 50..60);
    until_true("the spool is empty", || proxy.metric("shadowdiff_spool_messages", "") == Some(0.0));
    assert_eq!(proxy.metric("shadowdiff_spool_bytes", ""), Some(0.0));
    proxy.settled();
    proxy.stop();
    let set = place.recorded();
    assert_eq!((set.exchanges.len(), set.distinct()), (60, 60));
    set.balances("first", 50);
    assert_eq!(set.closing("first", "spooled"), 50);
    set.balances("second", 10);
    assert_eq!(set.closing("second", "delivered"), 10);
}

#[test]
fn a_broker_that_goes_away_and_comes_back_costs_nothing_with_a_spool() {
    if !have("spool while kafka is away", &[Component::Kafka]) {
        return;
    }
    let mut place = Place::new(Broker::started);
    // A queue in memory that holds a fraction of what comes while Kafka is away, and short patience.
    let proxy = place.proxy("r", "queue_messages = 20\ndelivery_timeout_ms = 2000");
    ranker::send_all(&proxy.url, 0..100);
    place.broker.kill();
    ranker::send_all(&proxy.url, 100..400);
    until_true("messages wait in the spool", || {
        proxy.metric("shadowdiff_spool_messages", "").is_some_and(|messages| messages > 200.0)
    });
    place.broker.start();
    ranker::send_all(&proxy.url, 400..500);
    let status = proxy.settled();
    assert_eq!((&status["mirrored"], &status["dropped"]), (&500.into(), &0.into()), "{status}");
    until_true("the spool is empty", || proxy.metric("shadowdiff_spool_messages", "") == Some(0.0));
    proxy.stop();
    let set = place.recorded();
    set.balances("r", 500);
    let counts = (set.closing("r", "delivered"), set.exchanges.len(), set.distinct());
    assert_eq!(
        counts,
        (500, 500, 500),
        "a batch that the broker stored and did not acknowledge is there once"
    );
}

#[test]
fn a_proxy_that_is_killed_with_a_spool_leaves_it_to_the_next_one() {
    if !have("spool over a crash", &[Component::Kafka]) {
        return;
    }
    let mut place = Place::new(Broker::started);
    let mut proxy = place.proxy("killed", "delivery_timeout_ms = 1000");
    ranker::send_all(&proxy.url, 0..100);
    proxy.settled();
    place.broker.kill();
    ranker::send_all(&proxy.url, 100..300);
    // What was in Kafka's hands comes back after its time; then all of it is in the spool or on its way from it.
    until_true("all that is mirrored is delivered or in the spool", || {
        let status = proxy.status();
        let count = |name: &str| status[name].as_u64().unwrap();
        count("ended") == 300 && count("delivered") + count("spooled") == 300
    });
    until_true("all of the spool is written", || {
        let files =
            std::fs::read_dir(place.spool()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
        proxy.status()["publisher"]["spool"]["bytes"] == files.sum::<u64>()
    });
    proxy.process.kill();

    place.broker.start();
    // At whatever point each is killed: what it sent and could not note is sent again, and recorded once.
    for run in ["second", "third", "fourth"] {
        let mut proxy = place.proxy(run, "");
        until_true("it sends", || {
            proxy.metric("shadowdiff_publisher_waiting", "").is_some_and(|waiting| waiting > 0.0)
                || proxy.metric("shadowdiff_spool_messages", "") == Some(0.0)
        });
        proxy.process.kill();
    }
    let proxy = place.proxy("next", "");
    until_true("the spool is empty", || proxy.metric("shadowdiff_spool_messages", "") == Some(0.0));
    proxy.stop();
    let set = place.recorded();
    assert_eq!((set.exchanges.len(), set.distinct()), (300, 300));
}

#[test]
fn a_stop_while_kafka_is_away_keeps_its_deadline_with_and_without_a_spool() {
    if !have("stop while kafka is away", &[Component::Kafka]) {
        return;
    }
    let mut place = Place::new(Broker::started);
    let proxy = place.proxy("with", "");
    ranker::send_all(&proxy.url, 0..50);
    proxy.settled();
    let address = place.broker.address();
    let flags = ["--primary", &place.primary.url, "--candidate", &place.candidate.url];
    let without = Proxy::started(place.dir.path(), &[&flags[..], &["--kafka", &address]].concat());
    ranker::send_all(&without.url, 0..50);
    without.settled();
    place.broker.kill();
    for proxy in [proxy, without] {
        ranker::send_all(&proxy.url, 50..100);
        until_true("all exchanges have ended", || proxy.status()["ended"] == 100);
        // The processes' own deadline is what a supervisor commonly gives; `stop` fails when it passes.
        let log = proxy.stop();
        let (ending, _) = log.rsplit_once("stopped").unwrap_or_else(|| panic!("{log}"));
        assert!(!ending.is_empty());
    }
    place.broker.start();
    let proxy = place.proxy("after", "");
    until_true("the spool is empty", || proxy.metric("shadowdiff_spool_messages", "") == Some(0.0));
    proxy.stop();
    let set = place.recorded();
    set.balances("with", 100);
    let with: Vec<&Row> = set.exchanges.iter().filter(|row| row["run"] == "with").collect();
    assert_eq!(with.len(), 100);
}

#[test]
fn two_proxies_do_not_share_a_spool() {
    if !have("two proxies and one spool", &[Component::Kafka]) {
        return;
    }
    let place = Place::new(Broker::stopped);
    let _first = place.proxy("first", "");
    let spool = place.spool().display().to_string();
    let legs = ["--primary", &place.primary.url, "--candidate", &place.candidate.url];
    let address = place.broker.address();
    let line = ["proxy", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--kafka", &address];
    let second = run(&[&line[..], &legs, &["--spool", &spool]].concat());
    assert_eq!(second.code, 64, "{}", second.stderr);
    assert!(second.stderr.contains("used by another proxy"), "{}", second.stderr);
}
