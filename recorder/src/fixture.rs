//! Messages for tests, and the set read back.

#![allow(dead_code, reason = "the unit tests and the integration tests each use a part")]

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use bytes::Bytes;
use exchange::{
    Body, Exchange, HttpVersion, Item, Ledger, LedgerItem, Leg, Outcome, Request, Role, Uuid, wire,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// 2023-11-14 22:13:20 UTC.
pub(crate) const AT_US: i64 = 1_700_000_000_000_000;

/// A V2 answer with one output of these scores.
pub(crate) fn answer(scores: &str) -> String {
    format!(
        r#"{{"model_name":"ranker","model_version":"3","outputs":[{{"name":"score","datatype":"FP32","shape":[2],"data":[{scores}]}}]}}"#
    )
}

pub(crate) fn leg(scores: &str) -> Leg {
    Leg {
        node: "10.0.0.1:8000".into(),
        labels: vec![("gpu".into(), "T4".into())],
        status: Some(200),
        grpc_status: Some(0),
        http_version: Some(HttpVersion::Http11),
        reported_queue_us: Some(12),
        reported_utilization: Some(0.5),
        reused: Some(true),
        stream: Some(4),
        trailers: vec![("grpc-status".into(), "0".into())],
        queued_us: Some(3),
        first_byte_us: Some(40),
        latency_us: Some(50),
        inflight: 7,
        rate_1s: 1.5,
        attempts: 1,
        headers: vec![("content-type".into(), "application/json".into())],
        body: Body::whole(answer(scores).into()),
        ..Leg::unsent(Outcome::Answered, "")
    }
}

pub(crate) fn exchange(sequence: u64) -> Exchange {
    Exchange {
        id: Uuid::from_u128(sequence.into()),
        run: "r".into(),
        proxy: "p".into(),
        sequence,
        request: Request {
            id: Some("req-1".into()),
            received_at_us: AT_US + i64::try_from(sequence).unwrap(),
            method: "POST".into(),
            path: "/v2/models/ranker/infer".into(),
            route: "default".into(),
            headers: vec![("accept".into(), "*/*".into())],
            body: Body::whole("{}".into()),
            ..Request::default()
        },
        primary: leg("0.25,0.75"),
        shadow: leg("0.25,0.75"),
        shadow_target: "candidate".into(),
        shadow_role: Role::Candidate,
    }
}

pub(crate) fn message(sequence: u64) -> Bytes {
    wire::encode_exchange(exchange(sequence), usize::MAX)
}

pub(crate) fn ledger(snapshot: u64) -> Bytes {
    let item = LedgerItem { item: Item::Mirrored, target: "candidate".into(), inflight_from: 4, count: 9 };
    wire::encode_ledger(Ledger {
        proxy: "p".into(),
        run: "r".into(),
        at_us: AT_US,
        snapshot,
        closing: false,
        items: vec![item],
    })
}

/// The message of an offset: each fifth a ledger, each seventh unreadable, the others exchanges.
pub(crate) fn mixed(offset: u64) -> Bytes {
    match offset {
        _ if offset % 5 == 4 => ledger(offset),
        _ if offset % 7 == 6 => Bytes::from(format!("no envelope {offset}")),
        _ => message(offset),
    }
}

/// All Parquet files below a folder, sorted.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "parquet") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

pub(crate) fn open(path: &Path) -> ParquetRecordBatchReaderBuilder<File> {
    ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap()
}

pub(crate) fn batches(path: &Path) -> Vec<RecordBatch> {
    open(path).build().unwrap().map(Result::unwrap).collect()
}

/// A 64-bit column of all files of a table (`exchanges`, `ledger`, `dead_letters`), sorted.
pub(crate) fn numbers(out: &Path, table: &str, column: &str) -> Vec<i64> {
    let mut all = Vec::new();
    for batch in files(&out.join(table)).iter().flat_map(|path| batches(path)) {
        let array = batch.column_by_name(column).unwrap().as_primitive::<Int64Type>();
        assert_eq!(array.null_count(), 0);
        all.extend(array.values());
    }
    all.sort_unstable();
    all
}
