//! The folder publisher, its recorder refused by the file system.

use std::time::{Duration, Instant};

use exchange::{Exchange, Ledger, Leg, Outcome, Request, Role, Uuid};
use proxy::publish::{Kind, Publish};
use recorder::{RecordError, Rotation, Settings};

use super::open;

fn message(sequence: u64) -> bytes::Bytes {
    let exchange = Exchange {
        id: Uuid::from_u128(sequence.into()),
        run: "r".into(),
        proxy: "p".into(),
        sequence,
        request: Request::default(),
        primary: Leg::unsent(Outcome::Answered, ""),
        shadow: Leg::unsent(Outcome::Answered, ""),
        shadow_target: "candidate".into(),
        shadow_role: Role::Candidate,
    };
    exchange::wire::encode_exchange(exchange, usize::MAX)
}

#[test]
fn what_is_taken_is_recorded_at_the_latest_when_the_proxy_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let (publisher, recording) = open(Settings::new(dir.path()), "p").unwrap();
    for sequence in 0..3 {
        publisher.publish(Kind::Exchange, b"", message(sequence)).unwrap();
    }
    publisher.publish(Kind::Ledger, b"", exchange::wire::encode_ledger(Ledger::default())).unwrap();
    publisher.flush(Duration::from_secs(20));
    let published = publisher.published();
    assert_eq!((published.delivered, published.failed, published.waiting), (3, 0, 0));
    drop(publisher);
    let recorded = recording.join().unwrap();
    assert!(recorded.error.is_none());
    assert_eq!((recorded.progress.rows, recorded.progress.files), (3, 1));
}

#[test]
fn what_the_file_system_refuses_is_counted_as_lost_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let rotation = Rotation { rows: 2, ..Rotation::default() };
    let (publisher, recording) = open(Settings { rotation, ..Settings::new(dir.path()) }, "p").unwrap();
    // A file where the folder of the exchanges should be: nothing can be moved into the set.
    std::fs::write(dir.path().join("exchanges"), "").unwrap();
    for sequence in 0..5 {
        publisher.publish(Kind::Exchange, b"", message(sequence)).unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    publisher.flush(deadline - Instant::now());
    let published = publisher.published();
    assert_eq!((published.delivered, published.failed, published.waiting), (0, 5, 0));
    assert!(!published.connected);
    drop(publisher);
    let recorded = recording.join().unwrap();
    assert_eq!(recorded.progress.rows, 0);
    assert!(matches!(recorded.error, Some(RecordError::Lost { messages: 2, .. })), "{:?}", recorded.error);
}
