//! A candidate with every fault that a mirror must stand: clients on kept connections get the primary's answers,
//! byte for byte; memory and descriptors stay within what is configured; the ledger balances with the set.

mod kafka_down;
mod slow;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use e2e::faulty::{Fault, Faulty};
use e2e::load::{Load, body_of};
use e2e::ports::free_port;
use e2e::set::{self, Row};
use e2e::shadowdiff::Proxy;
use tempfile::tempdir;
use xxhash_rust::xxh3::xxh3_128;

use crate::ranker;

/// A primary of the issue: 10 ms.
pub(crate) const PRIMARY: Fault = Fault::Slow(Duration::from_millis(10));

/// What a proxy of these tests holds at most besides captured bodies: allocator, buffers of connections, code.
const BESIDES_KIB: u64 = 40 << 10;

/// Bounds of a proxy in a test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Mirrored requests under way, those that wait for the shadow too.
    pub(crate) inflight: usize,
    /// Copies under way at the shadow at once.
    pub(crate) at_once: usize,
    /// Bytes of captured bodies.
    pub(crate) bytes: usize,
    /// Bytes captured of one body.
    pub(crate) body: usize,
    /// Deadline of the shadow, in milliseconds.
    pub(crate) shadow_ms: u64,
    /// Worker threads.
    pub(crate) threads: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        // The deadline is far beyond a test's load: a shadow that hangs does so for all of it.
        Self { inflight: 256, at_once: 64, bytes: 16 << 20, body: 1 << 20, shadow_ms: 60_000, threads: 2 }
    }
}

impl Bounds {
    pub(crate) fn config(self, dir: &Path, candidate: &str, more: &str) -> String {
        let path = dir.join("config.toml");
        let text = format!(
            "{more}\n[proxy]\ndrain_ms = 500\nthreads = {}\n[limits]\nmirror_inflight = {}\nmirror_bytes = {}\nbody_bytes = {}\n\
             [[shadow]]\nnodes = [\"{candidate}\"]\ntimeout_ms = {}\nconnect_timeout_ms = 1000\nmax_inflight = {}\n",
            self.threads, self.inflight, self.bytes, self.body, self.shadow_ms, self.at_once
        );
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// What the set of a run says.
pub(crate) struct Run {
    pub(crate) rows: Vec<Row>,
    pub(crate) outcomes: BTreeMap<String, usize>,
}

/// Puts `load` through a proxy whose candidate is at `candidate`; `then` may do more before the stop.
pub(crate) fn run(candidate: &str, bounds: Bounds, load: Load, then: impl FnOnce(&Proxy)) -> Run {
    let dir = tempdir().unwrap();
    let primary = Faulty::started(PRIMARY);
    let config = bounds.config(dir.path(), candidate, "");
    let proxy = ranker::local_proxy(dir.path(), &["--primary", &primary.url, "--config", &config]);
    let (memory, descriptors) = (proxy.process.peak_memory_kib(), proxy.process.descriptors());

    load.run(&proxy.url);
    let connections = usize::try_from(load.connections).unwrap();
    // Each client has a connection, and one to the primary; each copy under way at most one.
    let allowed = descriptors + 2 * connections + bounds.at_once + 8;
    let open = proxy.process.descriptors();
    assert!(open <= allowed, "{open} descriptors, {descriptors} at the start, {allowed} allowed");
    then(&proxy);
    let grown = proxy.process.peak_memory_kib() - memory;
    // A record on its way into the file is there encoded, decoded, and as a column of the writer.
    let allowed = u64::try_from((bounds.bytes + 4 * bounds.body) / 1024).unwrap() + BESIDES_KIB;
    assert!(grown <= allowed, "grew by {grown} KiB, {allowed} KiB allowed");
    assert_eq!(primary.asked().len() as u64 % load.each, 0, "the primary got each request once");
    proxy.stop();
    read(&dir.path().join("set"))
}

/// Reads the set and balances it against its ledger: `mirrored = recorded + dropped`, by outcome too.
pub(crate) fn read(folder: &Path) -> Run {
    let rows = set::rows(folder, "exchanges");
    let ledger = set::rows(folder, "ledger");
    let total = |item: &str| set::ledger_total(&ledger, item);
    let recorded = i64::try_from(rows.len()).unwrap();
    assert_eq!(total("mirrored"), total("outcome."), "every mirrored request has ended");
    assert_eq!(total("outcome."), recorded + total("dropped."), "recorded, or dropped for a reason");
    assert!(ledger.iter().any(|row| row["closing"] == true), "no closing ledger");
    let outcomes = set::counts(&rows, "shadow_outcome");
    if total("dropped.") == 0 {
        for (outcome, count) in &outcomes {
            let counted = total(&format!("outcome.{outcome}"));
            assert_eq!(counted, i64::try_from(*count).unwrap(), "{outcome}");
        }
    }
    Run { rows, outcomes }
}

impl Run {
    /// Each request of the load is there once, with the digest of what was sent, and answered by the primary.
    pub(crate) fn covers(&self, load: Load) {
        let mut numbers: Vec<u64> = self.rows.iter().map(number).collect();
        numbers.sort_unstable();
        let all: Vec<u64> = (load.first..load.first + load.total()).collect();
        assert_eq!(numbers, all, "each request is recorded once");
        for row in &self.rows {
            assert_eq!((&row["primary_outcome"], &row["primary_status"]), (&"answered".into(), &200.into()));
            assert_eq!(row["request_bytes"].as_u64(), Some(load.body as u64));
            // A copy that was shed while its body came has no digest: the rest of the body was not looked at.
            if !row["request_digest"].is_null() || row["shadow_outcome"] != "shed" {
                let digest = format!("{:032x}", xxh3_128(&body_of(number(row), load.body)));
                assert_eq!(row["request_digest"], digest.as_str(), "request {}", number(row));
            }
        }
    }

    pub(crate) fn count(&self, outcome: &str) -> usize {
        self.outcomes.get(outcome).copied().unwrap_or(0)
    }

    /// Every copy ended in one of these ways.
    fn only(&self, outcomes: &[&str]) {
        let other: Vec<_> = self.outcomes.keys().filter(|key| !outcomes.contains(&key.as_str())).collect();
        assert!(other.is_empty(), "{other:?} in {:?}", self.outcomes);
    }
}

fn number(row: &Row) -> u64 {
    let id = row["request_id"].as_str().unwrap_or_default();
    id.strip_prefix("request-").and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("id {id:?}"))
}

/// Small requests on kept connections.
pub(crate) const SMALL: Load = Load { connections: 16, each: 40, first: 0, body: 1024 };

#[test]
fn a_candidate_that_is_down_costs_no_client_anything() {
    let run = run(&format!("http://127.0.0.1:{}", free_port()), Bounds::default(), SMALL, |_| {});
    run.covers(SMALL);
    run.only(&["refused", "shed"]);
    assert!(run.count("refused") > 0, "{:?}", run.outcomes);
}

#[test]
fn a_candidate_that_hangs_costs_no_client_anything() {
    let candidate = Faulty::started(Fault::Hang);
    let run = run(&candidate.url, Bounds::default(), SMALL, |proxy| {
        // All clients have been served while not one copy has been answered.
        assert_eq!(proxy.metric("shadowdiff_exchanges_total", "answered").unwrap_or(0.0), 0.0);
    });
    run.covers(SMALL);
    run.only(&["shed", "shutdown"]);
    assert!(run.count("shutdown") <= Bounds::default().inflight, "{:?}", run.outcomes);
    assert!(run.count("shutdown") > 0, "{:?}", run.outcomes);
}

#[test]
fn a_candidate_that_listens_and_never_accepts_costs_no_client_anything() {
    let candidate = Faulty::started(Fault::NeverAccepts);
    let run = run(&candidate.url, Bounds::default(), SMALL, |_| {});
    run.covers(SMALL);
    // A few fit into its backlog.
    run.only(&["shed", "shutdown", "refused", "timed_out"]);
}

#[test]
fn a_candidate_that_resets_in_mid_body_is_recorded_as_incomplete() {
    let candidate = Faulty::started(Fault::ResetMidBody);
    let run = run(&candidate.url, Bounds { inflight: 2048, ..Bounds::default() }, SMALL, |proxy| {
        proxy.settled();
    });
    run.covers(SMALL);
    // A reset may overtake the half that was sent.
    run.only(&["incomplete", "reset"]);
}

#[test]
fn a_candidate_that_reads_nothing_of_a_large_body_holds_neither_clients_nor_memory() {
    let candidate = Faulty::started(Fault::ReadsNothing);
    let large = Load { connections: 4, each: 8, first: 0, body: 10 << 20 };
    let bounds = Bounds { bytes: 48 << 20, body: 12 << 20, ..Bounds::default() };
    let run = run(&candidate.url, bounds, large, |_| {});
    run.covers(large);
    run.only(&["shed", "shutdown"]);
}

#[test]
fn a_candidate_that_hangs_and_recovers_gets_every_copy_again() {
    let candidate = Faulty::started(Fault::Hang);
    let after = Load { first: SMALL.total(), ..SMALL };
    let bounds = Bounds { inflight: 2048, ..Bounds::default() };
    let run = run(&candidate.url, bounds, SMALL, |proxy| {
        assert_eq!(proxy.metric("shadowdiff_exchanges_total", "answered").unwrap_or(0.0), 0.0);
        candidate.heal();
        after.run(&proxy.url);
        proxy.settled();
    });
    run.covers(Load { each: 2 * SMALL.each, ..SMALL });
    run.only(&["answered"]);
}
