//! A candidate that is slow but able gets every copy.

use std::time::Duration;

use e2e::faulty::{Fault, Faulty};
use e2e::load::{Load, body_of};
use xxhash_rust::xxh3::xxh3_128;

use super::{Bounds, Run, SMALL, run};

const ROOM: usize = 4096;

fn delivered(fault: Fault, load: Load) -> (Run, Faulty) {
    let candidate = Faulty::started(fault);
    let bounds = Bounds { inflight: ROOM, ..Bounds::default() };
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
    delivered(Fault::Slow(Duration::from_millis(100)), SMALL);
}

#[test]
fn a_candidate_that_takes_32_at_a_time_gets_every_copy() {
    let (run, _) = delivered(Fault::Capacity { at_once: 32, each: Duration::from_millis(100) }, SMALL);
    let slowest = run.rows.iter().filter_map(|row| row["shadow_latency_us"].as_i64()).max();
    assert!(slowest.is_some_and(|slowest| slowest >= 100_000), "{slowest:?}");
}
