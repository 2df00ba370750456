//! Folders that are no recorded set, each with an error of its own.

use std::path::Path;
use std::sync::Arc;

use analyzer::{AnalyzeError, Options, analyze};
use arrow_array::{Int32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use exchange::columns::{SCHEMA_VERSION_KEY, names};
use tempfile::tempdir;

use crate::fixture::{Row, exchanges, sound, write, write_set};

fn error(dir: &Path) -> AnalyzeError {
    analyze(dir, &Options::default(), &|_| ()).unwrap_err()
}

#[test]
fn options_out_of_range_are_named() {
    let dir = tempdir().unwrap();
    write_set(dir.path(), &sound(10), 1);
    for options in [
        Options { load_bins: 0, ..Options::default() },
        Options { confidence: 1.0, ..Options::default() },
        Options { min_rate: f64::NAN, ..Options::default() },
        Options { worst: 1_000_000, ..Options::default() },
    ] {
        assert!(matches!(analyze(dir.path(), &options, &|_| ()), Err(AnalyzeError::Option { .. })));
    }
    let least = Options { load_bins: 1, worst: 0, ..Options::default() };
    assert!(analyze(dir.path(), &least, &|_| ()).unwrap().targets[0].worst.is_empty());
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let dir = tempdir().unwrap();
    let missing = dir.path().join("nowhere");
    let error = error(&missing);
    assert!(matches!(&error, AnalyzeError::NotFound(path) if *path == missing));
    assert!(error.to_string().contains("nowhere does not exist"), "{error}");
}

#[test]
fn a_file_in_place_of_the_folder_is_named() {
    let dir = tempdir().unwrap();
    let file = dir.path().join("set.parquet");
    std::fs::write(&file, b"x").unwrap();
    assert!(matches!(error(&file), AnalyzeError::NotAFolder(_)));
}

#[test]
fn an_empty_folder_is_told_from_one_that_holds_other_things() {
    let dir = tempdir().unwrap();
    assert!(matches!(error(dir.path()), AnalyzeError::Empty(_)));
    std::fs::write(dir.path().join("readme.txt"), b"x").unwrap();
    assert!(matches!(error(dir.path()), AnalyzeError::NoExchanges(_)));
}

#[test]
fn a_file_that_a_writer_has_not_finished_is_passed_over() {
    let dir = tempdir().unwrap();
    write_set(dir.path(), &sound(100), 1);
    std::fs::write(dir.path().join("exchanges/.topic-0-9.parquet"), b"half").unwrap();
    std::fs::write(dir.path().join("exchanges/topic-0-9.parquet.tmp"), b"half").unwrap();
    assert_eq!(analyze(dir.path(), &Options::default(), &|_| ()).unwrap().set.rows, 100);
}

#[test]
fn foreign_parquet_is_named_with_the_column_it_lacks() {
    let dir = tempdir().unwrap();
    let schema = Schema::new(vec![Field::new("price", DataType::Int32, false)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int32Array::from(vec![1]))]).unwrap();
    let file = write(&dir.path().join("exchanges/prices.parquet"), &batch, 10);
    match error(dir.path()) {
        AnalyzeError::MissingColumn { file: named, column } => {
            assert_eq!((named, column.as_str()), (file, "exchange_id"));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_set_recorded_before_a_column_came_is_read() {
    let dir = tempdir().unwrap();
    let mut batch = exchanges(&sound(100), 0);
    for name in [names::PRIMARY_GRPC_STATUS, names::SHADOW_GRPC_STATUS] {
        batch.remove_column(batch.schema().index_of(name).unwrap());
    }
    write(&dir.path().join("exchanges/old.parquet"), &batch, 1000);
    assert_eq!(analyze(dir.path(), &Options::default(), &|_| ()).unwrap().set.rows, 100);
}

#[test]
fn rules_that_no_file_had_a_use_for_are_named() {
    let dir = tempdir().unwrap();
    let file = |name: &str, unused: Option<&str>| {
        let batch = exchanges(&sound(100), 0);
        let mut metadata = batch.schema().metadata().clone();
        if let Some(unused) = unused {
            metadata.insert(exchange::columns::UNUSED_KEY.to_owned(), unused.to_owned());
        }
        let schema = Schema::new(batch.schema().fields().clone()).with_metadata(metadata);
        let batch = RecordBatch::try_new(Arc::new(schema), batch.columns().to_vec()).unwrap();
        write(&dir.path().join("exchanges").join(name), &batch, 1000);
    };
    file("a.parquet", Some(r#"["ignore `scoer`","outputs `label`"]"#));
    file("b.parquet", Some(r#"["ignore `scoer`"]"#));
    file("c.parquet", None);
    let summary = analyze(dir.path(), &Options::default(), &|_| ()).unwrap();
    assert_eq!(summary.set.unused_rules, ["ignore `scoer`"]);
    let wanted = "rules that no answer had a use for, perhaps misspelt: ignore `scoer`";
    assert!(
        summary.verdict.not_covered.iter().any(|line| line == wanted),
        "{:?}",
        summary.verdict.not_covered
    );
    file("d.parquet", Some("[]"));
    assert!(analyze(dir.path(), &Options::default(), &|_| ()).unwrap().set.unused_rules.is_empty());
}

#[test]
fn a_column_of_another_type_is_named() {
    let dir = tempdir().unwrap();
    let batch = exchanges(&[Row::default()], 0);
    let index = batch.schema().index_of(names::SHADOW_NODE).unwrap();
    let mut fields: Vec<Field> = batch.schema().fields().iter().map(|field| field.as_ref().clone()).collect();
    fields[index] = Field::new(names::SHADOW_NODE, DataType::Int32, false);
    let mut columns = batch.columns().to_vec();
    columns[index] = Arc::new(Int32Array::from(vec![1]));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    write(&dir.path().join("exchanges/cast.parquet"), &batch, 10);
    assert!(
        matches!(error(dir.path()), AnalyzeError::WrongType { column, .. } if column == names::SHADOW_NODE)
    );
}

#[test]
fn a_newer_schema_is_refused() {
    let dir = tempdir().unwrap();
    let batch = exchanges(&[Row::default()], 0);
    let metadata = std::collections::HashMap::from([(SCHEMA_VERSION_KEY.to_owned(), "2".to_owned())]);
    let schema = batch.schema().as_ref().clone().with_metadata(metadata);
    let batch = RecordBatch::try_new(Arc::new(schema), batch.columns().to_vec()).unwrap();
    write(&dir.path().join("exchanges/newer.parquet"), &batch, 10);
    assert!(matches!(error(dir.path()), AnalyzeError::NewerSchema { found, known: 1, .. } if found == "2"));
}

#[test]
fn a_truncated_file_is_named_wherever_it_is_cut() {
    let dir = tempdir().unwrap();
    write_set(dir.path(), &sound(2000), 2);
    let file = dir.path().join("exchanges/date=2026-11-30/hour=01/topic-0-0001.parquet");
    let whole = std::fs::read(&file).unwrap();
    for keep in [0, 3, 100, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&file, &whole[..keep]).unwrap();
        match error(dir.path()) {
            AnalyzeError::Broken { file: named, .. } => assert_eq!(named, file),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn damage_inside_a_file_is_an_error_or_data_but_never_a_panic() {
    let dir = tempdir().unwrap();
    write_set(dir.path(), &sound(300), 1);
    let file = dir.path().join("exchanges/date=2026-11-30/hour=00/topic-0-0000.parquet");
    let whole = std::fs::read(&file).unwrap();
    let mut broken = 0;
    for at in (4..whole.len()).step_by(whole.len() / 60) {
        let mut damaged = whole.clone();
        damaged[at..(at + 16).min(whole.len())].fill(0xA5);
        std::fs::write(&file, &damaged).unwrap();
        broken += usize::from(analyze(dir.path(), &Options::default(), &|_| ()).is_err());
    }
    assert!(broken > 0);
}

#[test]
fn rows_of_an_unknown_class_are_counted_and_refuse_the_pass() {
    let dir = tempdir().unwrap();
    let mut rows = sound(8000);
    rows.iter_mut().take(40).for_each(|row| row.class = "NOVEL");
    write_set(dir.path(), &rows, 1);
    let summary = analyze(dir.path(), &Options::default(), &|_| ()).unwrap();
    assert_eq!((summary.set.rows, summary.set.unreadable_rows), (8000, 40));
    assert_eq!(summary.verdict.exit_code(), 2);
}

#[test]
fn progress_ends_with_all_files_and_rows() {
    let dir = tempdir().unwrap();
    write_set(dir.path(), &sound(3000), 4);
    let last = std::sync::Mutex::new((0, 0, 0));
    analyze(dir.path(), &Options::default(), &|progress| {
        let mut last = last.lock().unwrap();
        *last = (last.0.max(progress.files_done), progress.files, last.2.max(progress.rows));
    })
    .unwrap();
    assert_eq!(*last.lock().unwrap(), (5, 5, 3000));
}
