//! Without Kafka.

use std::time::Duration;

use recorder::{Local, RecordError, Rotation, Settings};

use crate::fixture::{files, ledger, message, mixed, numbers};

#[test]
fn a_stopped_recording_goes_on_where_it_ended() {
    let out = tempfile::tempdir().unwrap();
    let settings = Settings {
        rotation: Rotation { rows: 4, bytes: u64::MAX, age: Duration::MAX },
        ..Settings::new(out.path())
    };
    let mut first = Local::open(settings.clone(), "local-a").unwrap();
    (0..10).for_each(|offset| first.append(mixed(offset)).unwrap());
    let progress = first.close().unwrap();
    assert_eq!((progress.rows, progress.ledgers, progress.dead_letters, progress.files), (7, 2, 1, 3));
    assert_eq!(progress.lag, None);

    let mut second = Local::open(settings, "local-a").unwrap();
    second.append(message(10)).unwrap();
    second.close().unwrap();
    assert_eq!(numbers(out.path(), "exchanges", "offset"), [0, 1, 2, 3, 5, 7, 8, 10]);
    assert_eq!(numbers(out.path(), "exchanges", "sequence"), [0, 1, 2, 3, 5, 7, 8, 10]);
}

#[test]
fn age_closes_a_file_between_messages() {
    let out = tempfile::tempdir().unwrap();
    let rotation = Rotation { age: Duration::ZERO, ..Rotation::default() };
    let mut local = Local::open(Settings { rotation, ..Settings::new(out.path()) }, "local-a").unwrap();
    local.tick().unwrap();
    assert!(files(out.path()).is_empty());
    local.append(message(0)).unwrap();
    local.tick().unwrap();
    assert_eq!(files(&out.path().join("exchanges")).len(), 1);
    assert_eq!(local.progress().files, 1);
}

#[test]
fn nothing_recorded_leaves_an_empty_set() {
    let out = tempfile::tempdir().unwrap();
    let progress = Local::open(Settings::new(out.path()), "local-a").unwrap().close().unwrap();
    assert_eq!(progress, recorder::Progress::default());
    assert!(files(out.path()).is_empty() && out.path().join("shadowdiff.json").is_file());
}

#[test]
fn two_recorders_of_one_name_are_refused_and_of_two_names_share_the_folder() {
    let out = tempfile::tempdir().unwrap();
    let open = |topic| Local::open(Settings::new(out.path()), topic);
    let _first = open("local-a").unwrap();
    let error = open("local-a").err().unwrap();
    assert!(matches!(error, RecordError::Busy { .. }), "{error}");
    open("local-b").unwrap();
}

#[test]
fn names_that_are_no_topics_and_folders_of_others_are_refused() {
    let out = tempfile::tempdir().unwrap();
    for topic in ["", "../up", "a b", "ü", &"x".repeat(191)] {
        let error = Local::open(Settings::new(out.path()), topic).err().unwrap();
        assert!(error.to_string().contains("no legal name"), "{error}");
    }
    std::fs::write(out.path().join("thesis.tex"), "x").unwrap();
    let error = Local::open(Settings::new(out.path()), "local-a").err().unwrap();
    assert!(error.to_string().contains("thesis.tex"), "{error}");
}

#[test]
fn a_file_that_cannot_be_put_into_the_set_is_counted_as_lost_and_recording_goes_on() {
    let out = tempfile::tempdir().unwrap();
    let rotation = Rotation { rows: 3, ..Rotation::default() };
    let mut local = Local::open(Settings { rotation, ..Settings::new(out.path()) }, "local-p").unwrap();
    // In place of the folder of the table: no file can be moved into it.
    let blocked = out.path().join("exchanges");
    std::fs::write(&blocked, "").unwrap();
    local.append(message(0)).unwrap();
    local.append(ledger(1)).unwrap();
    let error = local.append(message(2)).unwrap_err();
    assert!(matches!(error, RecordError::Lost { messages: 3, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("can be written and has room") && text.contains("3 messages"), "{text}");

    std::fs::remove_file(&blocked).unwrap();
    for sequence in 3..7 {
        local.append(message(sequence)).unwrap();
    }
    assert_eq!(local.close().unwrap().rows, 4);
    assert_eq!(numbers(out.path(), "exchanges", "offset"), [3, 4, 5, 6]);
}
