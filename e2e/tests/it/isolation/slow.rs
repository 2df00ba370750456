//! A candidate that is slow but able gets every copy.

use std::collections::BTreeMap;
use std::time::Duration;

use e2e::faulty::{Fault, Faulty};
use e2e::load::{Load, body_of};
use xxhash_rust::xxh3::xxh3_128;

use super::{Bounds, Run, SMALL, number, run};

const ROOM: usize = 4096;

fn delivered(fault: Fault, at_once: usize, load: Load) -> (Run, Faulty) {
    delivered_within(fault, Bounds { inflight: ROOM, at_once, ..Bounds::default() }, load)
}

fn delivered_within(fault: Fault, bounds: Bounds, load: Load) -> (Run, Faulty) {
    let candidate = Faulty::started(fault);
    let run = run(&candidate.url, bounds, load, |proxy| {
        proxy.settled();
    });
    run.covers(load);
    let asked = candidate.asked();
    assert_eq!(asked.len() as u64, load.total(), "each copy is delivered, once");
    for one in &asked {
        let sent = body_of(one.number.unwrap(), load.body);
        assert_eq!((one.bytes, one.digest), (sent.len(), xxh3_128(&sent)), "copy {:?}", one.number);
    }
    assert_eq!(run.count("answered") as u64, load.total(), "{:?}", run.outcomes);
    (run, candidate)
}

#[test]
fn a_candidate_ten_times_slower_gets_every_copy() {
    let (_, candidate) = delivered(Fault::Slow(Duration::from_millis(100)), 256, SMALL);
    assert!(candidate.most_at_once() <= 256, "{}", candidate.most_at_once());
}

#[test]
fn a_candidate_that_takes_32_at_a_time_gets_every_copy() {
    let fault = Fault::Capacity { at_once: 32, each: Duration::from_millis(100) };
    let (run, candidate) = delivered(fault, 48, SMALL);
    assert!(candidate.most_at_once() <= 48, "{}", candidate.most_at_once());
    // 640 requests at 320 a second, which come in less than half of that: what waited is told.
    let waited = run.rows.iter().filter_map(|row| row["shadow_queued_us"].as_i64()).max();
    assert!(waited.is_some_and(|waited| waited >= 100_000), "{waited:?} µs");
}

#[test]
fn copies_that_wait_for_a_slow_candidate_keep_the_order_in_which_they_came() {
    let load = Load { connections: 8, each: 20, first: 0, body: 1024 };
    // With one worker: what two of them take up at the same time has no order.
    let bounds = Bounds { inflight: ROOM, at_once: 1, threads: 1, ..Bounds::default() };
    let (run, candidate) = delivered_within(Fault::Slow(Duration::from_millis(15)), bounds, load);
    assert_eq!(candidate.most_at_once(), 1);
    let came: BTreeMap<u64, i64> =
        run.rows.iter().map(|row| (number(row), row["received_at"].as_i64().unwrap())).collect();
    // The first of each connection may wait for a new connection to the primary, to which its body goes first.
    let numbers = candidate.asked().into_iter().filter_map(|asked| asked.number);
    let sent: Vec<i64> =
        numbers.filter(|number| number % load.each != 0).map(|number| came[&number]).collect();
    let overtaken = sent.windows(2).filter(|pair| pair[0] > pair[1]).count();
    assert_eq!(overtaken, 0, "{sent:?}");
}
