use super::*;

fn touch(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, b"x").unwrap();
}

fn name(topic: &str, partition: i32, first: i64, last: i64) -> FileName {
    FileName { topic: topic.into(), partition, first, last }
}

#[test]
fn a_new_folder_gets_a_marker_and_opens_again() {
    let out = tempfile::tempdir().unwrap();
    let root = out.path().join("deep/set");
    SetRoot::open(&root).unwrap();
    let marker: serde_json::Value = serde_json::from_slice(&fs::read(root.join(MARKER)).unwrap()).unwrap();
    assert_eq!(marker, serde_json::json!({ "format": "shadowdiff", "schema_version": SCHEMA_VERSION }));
    SetRoot::open(&root).unwrap();
}

#[test]
fn a_foreign_folder_is_refused_and_left_as_it_was() {
    let out = tempfile::tempdir().unwrap();
    touch(&out.path().join("holiday.jpg"));
    let error = SetRoot::open(out.path()).unwrap_err();
    assert!(
        matches!(&error, RecordError::Foreign { reason, .. } if reason.contains("holiday.jpg")),
        "{error}"
    );
    assert!(error.to_string().contains("new or an empty folder"), "{error}");
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 1);
}

#[test]
fn a_fresh_file_system_is_empty_and_a_set_without_its_marker_is_taken() {
    let out = tempfile::tempdir().unwrap();
    fs::create_dir(out.path().join("lost+found")).unwrap();
    touch(&out.path().join(".DS_Store"));
    SetRoot::open(out.path()).unwrap();

    let copied = tempfile::tempdir().unwrap();
    touch(&copied.path().join("README"));
    fs::create_dir(copied.path().join("exchanges")).unwrap();
    SetRoot::open(copied.path()).unwrap();
    assert!(copied.path().join(MARKER).is_file());
}

#[test]
fn a_marker_of_something_else_or_of_another_version_is_refused() {
    for (marker, told) in [
        ("{", "cannot be read"),
        (r#"{"format":"other","schema_version":1}"#, "other"),
        (r#"{"format":"shadowdiff","schema_version":999}"#, "999"),
    ] {
        let out = tempfile::tempdir().unwrap();
        fs::write(out.path().join(MARKER), marker).unwrap();
        let error = SetRoot::open(out.path()).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
    }
}

#[test]
fn a_file_in_place_of_the_folder_is_an_error_that_names_it() {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("file");
    touch(&file);
    let error = SetRoot::open(&file).unwrap_err();
    assert!(error.to_string().contains(&file.display().to_string()), "{error}");
}

#[test]
fn places_follow_the_utc_hour_and_odd_times_do_no_harm() {
    let set = SetRoot { root: "out".into() };
    let name = name("t", 0, 0, 1);
    for (at_us, folder) in [
        (1_700_000_000_000_000, "out/exchanges/date=2023-11-14/hour=22"),
        (i64::MIN, "out/exchanges/date=1970-01-01/hour=00"),
        (i64::MAX, "out/exchanges/date=9999-12-31/hour=23"),
    ] {
        assert_eq!(set.place(Table::Exchanges, &name, at_us), Path::new(folder).join(name.to_string()));
    }
    assert_eq!(set.place(Table::Ledger, &name, 0), Path::new("out/ledger").join(name.to_string()));
}

#[test]
fn a_claim_goes_on_after_the_set_and_removes_only_its_own_leftovers() {
    let out = tempfile::tempdir().unwrap();
    let set = SetRoot::open(out.path()).unwrap();
    let at = |table, topic, partition, first, last| set.place(table, &name(topic, partition, first, last), 0);
    let kept = [
        at(Table::Exchanges, "t", 0, 0, 9),
        at(Table::Ledger, "t", 0, 0, 9),
        at(Table::Ledger, "t", 1, 10, 19),
        at(Table::DeadLetters, "t-2", 0, 10, 19),
        set.temp(Table::Exchanges, "t", 1),
    ];
    let removed = [
        at(Table::Ledger, "t", 0, 10, 19),
        at(Table::DeadLetters, "t", 0, 10, 19),
        set.temp(Table::Exchanges, "t", 0),
        set.temp(Table::DeadLetters, "t", 0),
    ];
    kept.iter().chain(&removed).for_each(|path| touch(path));

    assert_eq!(set.claim("t", 0).unwrap().next, Some(10));
    for path in &kept {
        assert!(path.is_file(), "{}", path.display());
    }
    for path in &removed {
        assert!(!path.exists(), "{}", path.display());
    }
    assert_eq!(set.claim("u", 0).unwrap().next, None);
}

#[test]
fn a_partition_has_one_recorder_at_a_time() {
    let out = tempfile::tempdir().unwrap();
    let set = SetRoot::open(out.path()).unwrap();
    let claim = set.claim("t", 0).unwrap();
    set.claim("t", 1).unwrap();
    assert!(matches!(set.claim("t", 0), Err(RecordError::Busy { .. })));
    drop(claim);
    set.claim("t", 0).unwrap();
}

#[test]
fn recorders_with_one_process_number_make_a_folder_at_once() {
    // In containers that share a folder, each recorder is process 1.
    for _ in 0..50 {
        let out = tempfile::tempdir().unwrap();
        let ready = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    ready.wait();
                    SetRoot::open(out.path()).unwrap();
                });
            }
        });
        let found: Vec<_> = entries(out.path()).unwrap().iter().map(file_name).collect();
        assert!(found.iter().all(|name| name == MARKER || name == TEMP), "{found:?}");
    }
}
