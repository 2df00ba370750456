//! What reaches the candidate: bodies of every size, the share that was asked for, the first requests of all, and
//! what a candidate that knows no path makes of them.

use std::collections::BTreeSet;
use std::time::Duration;

use e2e::faulty::{Fault, Faulty};
use e2e::load::{Load, body_of};
use e2e::scripted::{Scripted, full};
use e2e::set;
use e2e::shadowdiff::run;
use hyper::Response;
use tempfile::tempdir;
use xxhash_rust::xxh3::xxh3_128;

use crate::isolation::{Bounds, SMALL};
use crate::{isolation, ranker};

fn quick() -> Faulty {
    Faulty::started(Fault::Slow(Duration::ZERO))
}

#[test]
fn bodies_of_every_size_are_mirrored_whole_or_recorded_as_too_large() {
    let dir = tempdir().unwrap();
    let (primary, candidate) = (quick(), quick());
    let cap = 8 << 20;
    let bounds = Bounds { body: cap, bytes: 128 << 20, ..Bounds::default() };
    let config = bounds.config(dir.path(), &candidate.url, "");
    let proxy = ranker::local_proxy(dir.path(), &["--primary", &primary.url, "--config", &config]);
    let sizes = [1 << 10, 16 << 10, (16 << 10) + 1, 1 << 20, (1 << 20) + 1, cap, cap + 1, 64 << 20];
    for (first, body) in (0..).zip(sizes) {
        Load { connections: 1, each: 1, first, body }.run(&proxy.url);
    }
    proxy.settled();
    proxy.stop();

    let sent = |size: usize, number: u64| xxh3_128(&body_of(number, size));
    let (at_primary, at_candidate) = (primary.asked(), candidate.asked());
    let rows = isolation::read(&dir.path().join("set")).rows;
    assert_eq!((rows.len(), at_primary.len()), (sizes.len(), sizes.len()));
    for (number, size) in (0..).zip(sizes) {
        let row = rows.iter().find(|row| row["request_id"] == format!("request-{number}").as_str()).unwrap();
        let copy = at_candidate.iter().find(|asked| asked.number == Some(number));
        assert!(at_primary.iter().any(|asked| asked.bytes == size && asked.digest == sent(size, number)));
        assert_eq!(row["request_bytes"].as_u64(), Some(size as u64));
        if size <= cap {
            assert_eq!(row["shadow_outcome"], "answered", "{size} bytes");
            assert_eq!(copy.map(|copy| copy.digest), Some(sent(size, number)), "{size} bytes");
        } else {
            assert_eq!(
                (row["shadow_outcome"].as_str(), copy),
                (Some("body_too_large"), None),
                "{size} bytes"
            );
        }
    }
}

/// Puts 2,000 requests through a proxy with these arguments; gives the ids that the candidate got.
fn sampled(arguments: &[&str]) -> BTreeSet<u64> {
    let dir = tempdir().unwrap();
    let (primary, candidate) = (quick(), quick());
    let legs = ["--primary", &primary.url, "--candidate", &candidate.url];
    let proxy = ranker::local_proxy(dir.path(), &[&legs[..], arguments].concat());
    Load { connections: 8, each: REQUESTS / 8, first: 0, body: 64 }.run(&proxy.url);
    proxy.settled();
    proxy.stop();
    let run = isolation::read(&dir.path().join("set"));
    assert_eq!(run.rows.len(), candidate.asked().len());
    candidate.asked().iter().filter_map(|asked| asked.number).collect()
}

const REQUESTS: u64 = 2000;

#[test]
fn the_share_that_is_mirrored_is_the_share_that_was_asked_for() {
    let mirrored = sampled(&["--sample", "20%"]).len();
    // Five standard deviations of the binomial distribution: sqrt(2000 * 0.2 * 0.8) is 17.9.
    assert!((310..=490).contains(&mirrored), "{mirrored} of {REQUESTS}");
}

#[test]
fn every_proxy_and_every_start_chooses_the_same_requests_by_their_hash() {
    let dir = tempdir().unwrap();
    let config = dir.path().join("by-header.toml");
    std::fs::write(&config, "[sampling]\nsample = \"20%\"\nby = \"header:x-request-id\"\n").unwrap();
    let arguments = ["--config", config.to_str().unwrap()];
    let first = sampled(&[&arguments[..], &["--name", "a"]].concat());
    let second = sampled(&[&arguments[..], &["--name", "b"]].concat());
    assert_eq!(first, second);
    assert!((310..=490).contains(&first.len()), "{} of {REQUESTS}", first.len());
}

#[test]
fn the_very_first_requests_are_counted_and_recorded() {
    let dir = tempdir().unwrap();
    let (primary, candidate) = (quick(), quick());
    let legs = ["--primary", &primary.url, "--candidate", &candidate.url];
    let burst = Load { connections: 64, each: 1, first: 0, body: 512 };
    let proxy = ranker::local_proxy(dir.path(), &legs);
    burst.run(&proxy.url);
    // At once, so that the stop meets copies under way.
    proxy.stop();
    let run = isolation::read(&dir.path().join("set"));
    run.covers(burst);
    assert_eq!(run.count("answered"), 64, "{:?}", run.outcomes);
}

#[test]
fn a_candidate_that_finds_nothing_is_told_from_one_that_differs() {
    let dir = tempdir().unwrap();
    let primary = quick();
    let candidate = Scripted::started(|_| async {
        Response::builder().status(404).body(full(r#"{"error":"no such host"}"#)).unwrap()
    });
    let legs = ["--primary", &primary.url, "--candidate", &candidate.url];
    let proxy = ranker::local_proxy(dir.path(), &legs);
    SMALL.run(&proxy.url);
    proxy.settled();
    proxy.stop();
    let set = dir.path().join("set");
    let rows = set::rows(&set, "exchanges");
    assert!(rows.iter().all(|row| row["shadow_status"] == 404 && row["class"] == "INCOMPARABLE"));
    let analyzed = run(&["analyze", set.to_str().unwrap(), "--load-bins", "1"]);
    assert_eq!(analyzed.code, 1, "nothing was compared: {}", analyzed.stdout);
    let words = "640 requests failed on the candidate alone";
    assert!(analyzed.stdout.contains(words), "{}", analyzed.stdout);
}
