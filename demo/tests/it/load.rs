use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use demo::load::{Failure, run};
use demo::{LoadError, Step};

use crate::fixture::Server;

fn step(concurrency: usize, requests: usize) -> Step {
    Step { concurrency, requests }
}

#[tokio::test]
async fn every_request_is_counted_once_and_progress_reaches_the_end() {
    let server = Server::start(1, &[]).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&seen);
    let steps = [step(1, 5), step(8, 100), step(50, 20), step(3, 0)];
    let report =
        run(server.address, &steps, 1, move |progress| keep.lock().unwrap().push(progress)).await.unwrap();
    assert_eq!((report.answered(), report.failed()), (125, 0));
    for (asked, step) in steps.iter().zip(&report.steps) {
        assert_eq!((step.step, step.answered), (*asked, asked.requests as u64));
        assert!(step.p50 <= step.p99 && step.p99 <= step.elapsed * 2);
    }
    server.stop().await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 125);
    let mut totals: Vec<usize> = seen.iter().map(|progress| progress.total_done).collect();
    totals.sort_unstable();
    assert_eq!(totals, (1..=125).collect::<Vec<_>>());
    assert!(
        seen.iter().all(|progress| progress.total == 125
            && progress.steps == 4
            && progress.done <= progress.requests)
    );
}

#[tokio::test]
async fn errors_are_counted_by_kind_and_do_not_stop_the_load() {
    let server = Server::start(0, &["error:10"]).await;
    let report = run(server.address, &[step(4, 100)], 2, |_| {}).await.unwrap();
    assert_eq!(report.steps[0].answered, 90);
    assert_eq!(report.steps[0].failures, BTreeMap::from([(Failure::Status(500), 10)]));
    let address = server.address;
    server.stop().await;
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let steps = [step(4, 20)];
    let counted = run(address, &steps, 2, move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let report = counted.await.unwrap();
    assert_eq!(report.steps[0].failures, BTreeMap::from([(Failure::Connect, 20)]));
    assert_eq!((report.answered(), calls.load(Ordering::Relaxed)), (0, 20));
}

#[tokio::test]
async fn steps_that_make_no_sense_are_refused() {
    let nowhere = "127.0.0.1:1".parse().unwrap();
    assert!(matches!(run(nowhere, &[], 0, |_| {}).await, Err(LoadError::NoSteps)));
    for concurrency in [0, 5000] {
        let error = run(nowhere, &[step(1, 0), step(concurrency, 1)], 0, |_| {}).await.unwrap_err();
        assert!(
            matches!(error, LoadError::Concurrency { step: 1, concurrency: c } if c == concurrency),
            "{error}"
        );
    }
}
