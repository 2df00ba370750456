use std::fs;
use std::path::Path;

use exchange::columns::{self, DEAD_LETTERS, EXCHANGES, LEDGER, RULES_KEY, SCHEMA_VERSION_KEY};
use parquet::basic::Compression;

use super::*;
use crate::Rotation;
use crate::fixture::{AT_US, batches, files, ledger, message, mixed, numbers, open as open_file};

fn open(out: &Path, rows: u64) -> Partition {
    let rotation = Rotation { rows, bytes: u64::MAX, age: Duration::from_secs(60) };
    let settings = Settings { rotation, ..Settings::new(out) };
    let set = SetRoot::open(out).unwrap();
    Partition::open(&set, Arc::new(settings), "t.a-b", 3).unwrap()
}

fn at(offset: i64, payload: Bytes) -> Message {
    Message { offset, at_us: Some(AT_US), key: Some("key".into()), payload: Some(payload), again: false }
}

fn append(partition: &mut Partition, offsets: std::ops::Range<i64>) {
    for offset in offsets {
        partition.append(at(offset, mixed(offset as u64)), Duration::ZERO).unwrap();
    }
}

/// Each of the offsets is in the set once, in the table it belongs to.
fn holds_once(out: &Path, offsets: std::ops::Range<i64>) {
    let is_ledger = |offset: &i64| offset % 5 == 4;
    let is_dead = |offset: &i64| !is_ledger(offset) && offset % 7 == 6;
    let all: Vec<i64> = offsets.collect();
    let of = |keep: &dyn Fn(&i64) -> bool| all.iter().copied().filter(|o| keep(o)).collect::<Vec<_>>();
    assert_eq!(numbers(out, "exchanges", "offset"), of(&|o| !is_ledger(o) && !is_dead(o)));
    assert_eq!(numbers(out, "ledger", "snapshot"), of(&|o| is_ledger(o)));
    assert_eq!(numbers(out, "dead_letters", "offset"), of(&|o| is_dead(o)));
}

#[test]
fn a_crash_at_any_step_loses_nothing_and_repeats_nothing() {
    for (crash, is_in_the_set) in
        [(Step::Written, false), (Step::Ledger, false), (Step::DeadLetters, false), (Step::Exchanges, true)]
    {
        let out = tempfile::tempdir().unwrap();
        let mut partition = open(out.path(), 1000);
        append(&mut partition, 0..20);
        assert_eq!(partition.close().unwrap(), Some(20));
        append(&mut partition, 20..40);
        let crashed = partition.close_by_steps(|step| {
            if step == crash { Err(RecordError::Busy { path: "crash".into() }) } else { Ok(()) }
        });
        assert!(matches!(crashed, Err(RecordError::Busy { .. })), "{crash:?}");
        drop(partition);

        let mut again = open(out.path(), 1000);
        assert_eq!(again.next(), Some(if is_in_the_set { 40 } else { 20 }), "{crash:?}");
        // Kafka may begin anywhere, even at the very beginning.
        append(&mut again, 0..50);
        again.close().unwrap();
        holds_once(out.path(), 0..50);
        assert_eq!(again.progress().duplicates, if is_in_the_set { 40 } else { 20 });
    }
}

#[test]
fn a_crash_while_filling_loses_nothing_and_repeats_nothing() {
    let out = tempfile::tempdir().unwrap();
    let mut partition = open(out.path(), 15);
    append(&mut partition, 0..40);
    drop(partition);
    assert_eq!(files(&out.path().join("exchanges")).len(), 2);
    let mut again = open(out.path(), 15);
    assert_eq!(again.next(), Some(30));
    append(&mut again, 30..41);
    again.close().unwrap();
    holds_once(out.path(), 0..41);
}

#[test]
fn the_same_messages_give_the_same_files_byte_for_byte() {
    let outs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let contents = outs.each_ref().map(|out| {
        let mut partition = open(out.path(), 25);
        append(&mut partition, 0..60);
        partition.close().unwrap();
        let name = |path: &Path| path.strip_prefix(out.path()).unwrap().to_owned();
        files(out.path()).iter().map(|path| (name(path), fs::read(path).unwrap())).collect::<Vec<_>>()
    });
    assert_eq!(contents[0].len(), 9);
    assert!(contents[0] == contents[1]);
}

#[test]
fn a_file_is_named_after_its_offsets_and_lies_in_the_hour_of_its_first_exchange() {
    let out = tempfile::tempdir().unwrap();
    let mut partition = open(out.path(), 1000);
    partition.append(at(7, ledger(0)), Duration::ZERO).unwrap();
    // A gap, as compaction leaves it.
    partition.append(at(12, message(1)), Duration::ZERO).unwrap();
    assert_eq!(partition.close().unwrap(), Some(13));
    let name = "t.a-b-00003-00000000000000000007-00000000000000000012.parquet";
    let hour = out.path().join("exchanges/date=2023-11-14/hour=22");
    assert_eq!(files(out.path()), [hour.join(name), out.path().join("ledger").join(name)]);
}

#[test]
fn a_range_without_exchanges_still_leaves_its_marker() {
    let out = tempfile::tempdir().unwrap();
    let mut partition = open(out.path(), 1000);
    partition.append(at(0, ledger(0)), Duration::ZERO).unwrap();
    partition.append(Message { offset: 1, ..Message::default() }, Duration::ZERO).unwrap();
    partition.close().unwrap();
    assert_eq!(files(&out.path().join("exchanges/date=2023-11-14/hour=22")).len(), 1);
    assert!(numbers(out.path(), "exchanges", "offset").is_empty());
    assert_eq!(numbers(out.path(), "dead_letters", "offset"), [1]);
    drop(partition);
    assert_eq!(open(out.path(), 1000).next(), Some(2));
}

#[test]
fn rows_and_age_close_a_file_and_an_empty_partition_makes_none() {
    let out = tempfile::tempdir().unwrap();
    let mut partition = open(out.path(), 2);
    assert_eq!(partition.tick(Duration::MAX).unwrap(), None);
    let second = Duration::from_secs(1);
    assert_eq!(partition.append(at(0, message(0)), second).unwrap(), None);
    assert_eq!(partition.append(at(1, message(1)), second).unwrap(), Some(2));
    assert_eq!(partition.append(at(2, message(2)), 2 * second).unwrap(), None);
    assert_eq!(partition.tick(61 * second).unwrap(), None);
    assert_eq!(partition.tick(62 * second).unwrap(), Some(3));
    let progress = partition.progress();
    assert_eq!((progress.rows, progress.files), (3, 2));
    let lengths: u64 = files(out.path()).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    assert_eq!(progress.bytes, lengths);
}

#[test]
fn a_row_group_ended_early_changes_no_row() {
    let out = tempfile::tempdir().unwrap();
    let mut partition = open(out.path(), 1000);
    append(&mut partition, 0..10);
    let before = partition.memory();
    partition.flush().unwrap();
    assert!(partition.memory() < before, "{} of {before} bytes", partition.memory());
    append(&mut partition, 10..20);
    partition.close().unwrap();
    holds_once(out.path(), 0..20);
    assert_eq!(open_file(&files(&out.path().join("exchanges"))[0]).metadata().num_row_groups(), 2);
}

#[test]
fn files_have_the_columns_and_the_layout_of_the_contract() {
    let out = tempfile::tempdir().unwrap();
    let mut partition = open(out.path(), 1000);
    append(&mut partition, 0..30);
    partition.close().unwrap();
    let rules = divergence::Rules::default().hash();
    for (folder, table) in [("exchanges", EXCHANGES), ("ledger", LEDGER), ("dead_letters", DEAD_LETTERS)] {
        let path = &files(&out.path().join(folder))[0];
        let reader = open_file(path);
        assert_eq!(reader.schema().fields(), columns::schema(table).fields(), "{folder}");
        let file = reader.metadata().file_metadata();
        assert!(file.created_by().unwrap().starts_with("shadowdiff "));
        let pairs = file.key_value_metadata().unwrap();
        let value = |key: &str| pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
        assert_eq!(value(SCHEMA_VERSION_KEY).as_deref(), Some("1"));
        assert_eq!(value(RULES_KEY).as_ref(), (folder == "exchanges").then_some(&rules));
        for column in reader.metadata().row_group(0).columns() {
            let name = column.column_path().string();
            assert!(matches!(column.compression(), Compression::ZSTD(_)), "{name}");
            assert!(column.offset_index_offset().is_some(), "{name}");
            let is_binary = name.ends_with("body") || ["key", "payload"].contains(&name.as_str());
            assert_eq!(column.column_index_offset().is_some(), !is_binary, "{name}");
            assert_eq!(column.statistics().is_some(), !is_binary, "{name}");
        }
        assert!(batches(path).iter().map(|batch| batch.num_rows()).sum::<usize>() > 0);
    }
}

#[test]
fn a_file_names_the_rules_that_no_pair_of_it_used() {
    let said = |ignore: &[&str], messages: std::ops::Range<i64>| {
        let out = tempfile::tempdir().unwrap();
        let ignore = ignore.iter().map(|name| (*name).to_owned()).collect();
        let rules = divergence::Rules { ignore, ..divergence::Rules::default() };
        let settings = Settings { rules, ..Settings::new(out.path()) };
        let set = SetRoot::open(out.path()).unwrap();
        let mut partition = Partition::open(&set, Arc::new(settings), "t", 0).unwrap();
        append(&mut partition, messages);
        partition.close().unwrap();
        let reader = open_file(&files(&out.path().join("exchanges"))[0]);
        let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
        pairs.iter().find(|pair| pair.key == columns::UNUSED_KEY).and_then(|pair| pair.value.clone())
    };
    assert_eq!(said(&["score", "scoer"], 0..4).as_deref(), Some(r#"["ignore `scoer`"]"#));
    assert_eq!(said(&["score"], 0..4).as_deref(), Some("[]"));
    // Offset 4 is a ledger: nothing was compared, and nothing is said.
    assert_eq!(said(&["scoer"], 4..5), None);
}

#[test]
fn a_disk_that_is_full_or_gone_is_an_error_that_names_the_path() {
    let out = tempfile::tempdir().unwrap();
    let mut partition = open(out.path(), 1000);
    let temp = partition.set.temp(crate::set::Table::Exchanges, "t.a-b", 3);
    #[cfg(target_os = "linux")]
    {
        std::os::unix::fs::symlink("/dev/full", &temp).unwrap();
        append(&mut partition, 0..3);
        let error = partition.close().unwrap_err();
        assert!(matches!(error, RecordError::Parquet { .. } | RecordError::Io { .. }));
        assert!(error.to_string().contains(&temp.display().to_string()), "{error}");
        fs::remove_file(&temp).unwrap();
    }
    fs::remove_dir_all(out.path().join(".tmp")).unwrap();
    let error = partition.append(at(3, message(3)), Duration::ZERO).unwrap_err();
    assert!(matches!(&error, RecordError::Io { path, .. } if *path == temp), "{error}");
    assert!(files(out.path()).is_empty());
}

#[test]
fn bodies_reach_no_table_where_none_are_kept() {
    let out = tempfile::tempdir().unwrap();
    let settings = Settings { bodies: crate::Bodies::None, ..Settings::new(out.path()) };
    let set = SetRoot::open(out.path()).unwrap();
    let mut partition = Partition::open(&set, Arc::new(settings), "t", 0).unwrap();
    partition.append(at(0, "no envelope, but a body".into()), Duration::ZERO).unwrap();
    partition.close().unwrap();
    let [dead] = &files(&out.path().join("dead_letters"))[..] else { panic!("one file") };
    assert_eq!(batches(dead)[0].column_by_name("payload").unwrap().null_count(), 1);
}

#[test]
fn an_exchange_that_is_sent_again_is_in_the_set_once_wherever_the_first_copy_is() {
    let out = tempfile::tempdir().unwrap();
    let mut offset = 0;
    let mut send = |partition: &mut Partition, id: u64, again: bool| {
        let key = Bytes::copy_from_slice(&u128::from(id).to_be_bytes());
        let message = Message { key: Some(key), again, ..at(offset, message(id)) };
        offset += 1;
        partition.append(message, Duration::ZERO).unwrap()
    };
    let mut partition = open(out.path(), 10);
    for id in 0..25 {
        send(&mut partition, id, false);
    }
    // In the first file, in the open one, which is closed for it, and nowhere.
    assert_eq!(send(&mut partition, 3, true), Some(25));
    assert_eq!(send(&mut partition, 24, true), None);
    assert_eq!(send(&mut partition, 25, true), None);
    // Among the rows since, and after a restart too.
    assert_eq!(send(&mut partition, 25, true), None);
    for id in 26..40 {
        send(&mut partition, id, false);
    }
    assert_eq!(send(&mut partition, 39, true), None);
    assert_eq!(partition.progress().duplicates, 4);
    partition.close().unwrap();
    drop(partition);
    let mut partition = open(out.path(), 10);
    for id in [39, 40, 0] {
        send(&mut partition, id, true);
    }
    partition.close().unwrap();
    assert_eq!(numbers(out.path(), "exchanges", "sequence"), (0..41).collect::<Vec<_>>());
}
