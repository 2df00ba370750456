//! What people and other programs may get wrong: flags, files, folders, ports, messages.

use std::net::TcpListener;
use std::path::Path;

use e2e::set;
use e2e::shadowdiff::{Proxy, run};
use rdkafka::ClientConfig;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use tempfile::tempdir;

use crate::ranker;

const LEGS: [&str; 4] = ["--primary", "http://127.0.0.1:1", "--candidate", "http://127.0.0.1:1"];

/// Runs to the end, must fail with `code` and say each of `words` on standard error.
fn fails(arguments: &[&str], code: i32, words: &[&str]) {
    let finished = run(arguments);
    assert_eq!(finished.code, code, "{arguments:?}: {}", finished.stderr);
    for word in words {
        assert!(finished.stderr.contains(word), "{arguments:?} does not say {word:?}: {}", finished.stderr);
    }
    assert!(!finished.stderr.contains("panicked"), "{arguments:?}: {}", finished.stderr);
}

fn at(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn an_unknown_flag_is_a_usage_error() {
    fails(&["proxy", "--frobnicate"], 64, &["--frobnicate"]);
    fails(&["analyse"], 64, &["analyse"]);
}

#[test]
fn an_unknown_configuration_key_is_a_usage_error_that_names_it() {
    let dir = tempdir().unwrap();
    let config = dir.path().join("config.toml");
    std::fs::write(&config, "primry = [\"http://127.0.0.1:1\"]\n").unwrap();
    let out = dir.path().join("set");
    let flags = ["proxy", "--listen", "127.0.0.1:0", "--out", at(&out), "--config", at(&config)];
    fails(&[&flags[..], &LEGS].concat(), 64, &["primry", at(&config)]);
}

#[test]
fn a_port_in_use_is_an_error_that_names_the_address() {
    let dir = tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let out = dir.path().join("set");
    let flags = ["proxy", "--listen", &address, "--admin", "127.0.0.1:0", "--out", at(&out)];
    fails(&[&flags[..], &LEGS].concat(), 3, &[&address]);
}

#[test]
fn a_folder_without_a_recorded_set_cannot_be_analyzed() {
    let dir = tempdir().unwrap();
    let missing = dir.path().join("missing");
    fails(&["analyze", at(&missing)], 3, &[at(&missing)]);
    fails(&["analyze", at(dir.path())], 3, &[at(dir.path())]);

    let exchanges = dir.path().join("exchanges/date=2026-01-01/hour=00");
    std::fs::create_dir_all(&exchanges).unwrap();
    let broken = exchanges.join("t-0-0-1.parquet");
    std::fs::write(&broken, b"PAR1 and then nothing").unwrap();
    fails(&["analyze", at(dir.path())], 3, &["t-0-0-1.parquet"]);
}

#[test]
fn foreign_parquet_cannot_be_analyzed() {
    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use std::sync::Arc;

    let dir = tempdir().unwrap();
    let exchanges = dir.path().join("exchanges");
    std::fs::create_dir_all(&exchanges).unwrap();
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let batch = RecordBatch::try_from_iter([("speed", column)]).unwrap();
    let file = std::fs::File::create(exchanges.join("foreign.parquet")).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    fails(&["analyze", at(dir.path())], 3, &["foreign.parquet"]);
}

#[test]
fn a_message_that_cannot_be_read_becomes_a_dead_letter() {
    let dir = tempdir().unwrap();
    let broker = MockCluster::new(1).unwrap();
    let brokers = broker.bootstrap_servers();
    let primary = ranker::server("primary", dir.path());
    let candidate = ranker::server("candidate", dir.path());
    let flags =
        ["--primary", primary.url.as_str(), "--candidate", candidate.url.as_str(), "--kafka", &brokers];

    let proxy = Proxy::started(dir.path(), &flags);
    ranker::send_all(&proxy.url, 0..5);
    proxy.settled();
    let producer: BaseProducer = ClientConfig::new().set("bootstrap.servers", &brokers).create().unwrap();
    let garbage = b"\xff\xffnot an exchange".as_slice();
    producer.send(BaseRecord::to("shadowdiff").key("a key").payload(garbage)).unwrap();
    producer.flush(e2e::wait::DEADLINE).unwrap();
    ranker::send_all(&proxy.url, 5..10);
    proxy.stop();

    let out = dir.path().join("set");
    let recorded = run(&["record", "--kafka", &brokers, "--out", at(&out), "--exit-at-end"]);
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
    assert_eq!(set::rows(&out, "exchanges").len(), 10, "what came before and after is recorded");
    let letters = set::rows(&out, "dead_letters");
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0]["key"], "a key");
    assert_eq!(letters[0]["payload"], String::from_utf8_lossy(garbage).as_ref());
    assert!(letters[0]["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
}
