//! The folder publisher, its recorder refused by the file system.

use std::sync::Arc;
use std::time::{Duration, Instant};

use exchange::{DropReason, Exchange, Ledger, Leg, Outcome, Request, Role, Uuid};
use proxy::publish::{Kind, Message, Publish, Tally};
use recorder::{RecordError, Rotation, Settings};

use super::open;

fn message(sequence: u64, tally: &Arc<Tally>) -> Message {
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
    let payload = exchange::wire::encode_exchange(exchange, usize::MAX);
    Message { kind: Kind::Exchange, key: bytes::Bytes::new(), payload, tally: tally.clone() }
}

fn counts(tally: &Tally) -> (u64, u64) {
    (tally.delivered(), tally.dropped(DropReason::DeliveryFailed))
}

#[test]
fn what_is_taken_is_recorded_at_the_latest_when_the_proxy_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let (publisher, recording) = open(Settings::new(dir.path()), "p").unwrap();
    let tally: Arc<Tally> = Arc::default();
    for sequence in 0..3 {
        publisher.publish(message(sequence, &tally)).unwrap();
    }
    let payload = exchange::wire::encode_ledger(Ledger::default());
    publisher.publish(Message { kind: Kind::Ledger, payload, ..message(3, &tally) }).unwrap();
    publisher.flush(Duration::from_secs(20));
    assert_eq!((counts(&tally), publisher.published().waiting), ((3, 0), 0));
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
    let (first, second): (Arc<Tally>, Arc<Tally>) = (Arc::default(), Arc::default());
    publisher.publish(message(0, &first)).unwrap();
    for sequence in 1..5 {
        publisher.publish(message(sequence, &second)).unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    publisher.flush(deadline - Instant::now());
    let published = publisher.published();
    assert_eq!((counts(&first), counts(&second), published.waiting), ((0, 1), (0, 4), 0));
    assert!(!published.connected);
    drop(publisher);
    let recorded = recording.join().unwrap();
    assert_eq!(recorded.progress.rows, 0);
    assert!(matches!(recorded.error, Some(RecordError::Lost { messages: 2, .. })), "{:?}", recorded.error);
}
