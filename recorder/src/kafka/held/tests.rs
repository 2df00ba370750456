use std::path::Path;

use super::*;
use crate::fixture::{files, message, numbers};

fn held(out: &Path) -> Held {
    Held::new(SetRoot::open(out).unwrap(), Arc::new(Settings::new(out)), "t")
}

fn append(held: &mut Held, partition: i32, offsets: std::ops::Range<i64>) {
    for offset in offsets {
        let payload = Some(message(offset as u64));
        let message = Message { offset, payload, ..Message::default() };
        assert_eq!(held.append(partition, message, Duration::ZERO).unwrap(), None);
    }
}

#[test]
fn what_the_group_takes_away_is_closed_and_what_was_lost_is_given_up() {
    let out = tempfile::tempdir().unwrap();
    let mut held = held(out.path());
    for partition in [0, 1, 2] {
        held.claim(partition).unwrap();
        append(&mut held, partition, 0..5);
    }
    assert_eq!(held.give_back(&[0, 9], false), [(0, 5)]);
    assert_eq!(held.give_back(&[1], true), []);
    assert_eq!(numbers(out.path(), "exchanges", "offset"), [0, 1, 2, 3, 4]);
    assert_eq!(held.progress().rows, 10);

    assert_eq!(held.claim(0).unwrap(), Some(5));
    assert_eq!(held.claim(1).unwrap(), None, "read again by whoever holds it next");
}

#[test]
fn a_message_of_a_partition_given_back_is_left_to_its_new_holder() {
    let out = tempfile::tempdir().unwrap();
    let mut held = held(out.path());
    held.claim(0).unwrap();
    append(&mut held, 1, 0..3);
    assert_eq!(held.progress().rows, 0);
    assert_eq!(held.close_all().unwrap(), []);
}

#[test]
fn an_end_without_closing_leaves_no_file_and_frees_the_partitions() {
    let out = tempfile::tempdir().unwrap();
    let mut first = held(out.path());
    first.claim(0).unwrap();
    append(&mut first, 0, 0..3);
    first.give_up();
    assert!(first.has_ended());
    assert!(files(out.path()).is_empty());
    held(out.path()).claim(0).unwrap();
}

#[test]
fn the_lag_is_known_once_all_ends_are() {
    let out = tempfile::tempdir().unwrap();
    let mut held = held(out.path());
    assert_eq!(held.progress().lag, None);
    held.claim(0).unwrap();
    held.claim(1).unwrap();
    held.join();
    append(&mut held, 0, 0..3);
    held.start_at(1, 100);
    held.saw_end(0, 10);
    assert_eq!(held.progress().lag, None);
    held.saw_end(1, 104);
    assert_eq!(held.progress().lag, Some(11));
    held.saw_end(1, 90);
    assert_eq!(held.progress().lag, Some(7), "an old end is no lag");
}

#[test]
fn the_first_failure_counts() {
    let out = tempfile::tempdir().unwrap();
    let mut held = held(out.path());
    held.fail(RecordError::Busy { path: "first".into() });
    held.fail(RecordError::Busy { path: "second".into() });
    assert!(matches!(held.take_failure(), Some(RecordError::Busy { path }) if path == Path::new("first")));
    assert!(held.take_failure().is_none());
}
