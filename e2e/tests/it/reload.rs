//! A proxy that is told other things while it serves: by its admin port and by SIGHUP, over a connection that lives.

use std::path::Path;

use e2e::http::Client;
use e2e::shadowdiff::Proxy;
use e2e::{set, wait};
use serde_json::Value;
use tempfile::tempdir;

use crate::ranker;

fn write(path: &Path, sampling: &str) {
    std::fs::write(path, format!("[sampling]\n{sampling}\n[limits]\nbody_bytes = 1000000\n")).unwrap();
}

fn sampling(proxy: &Proxy) -> Value {
    Client::default().get(&format!("{}/sampling", proxy.admin)).json()
}

#[test]
fn a_file_that_is_read_again_changes_what_is_mirrored_on_a_connection_that_lives() {
    let dir = tempdir().unwrap();
    let (primary, candidate) =
        (ranker::server("primary", dir.path()), ranker::server("candidate", dir.path()));
    let config = dir.path().join("proxy.toml");
    write(&config, "sample = 0");
    let legs = ["--primary", &primary.url, "--candidate", &candidate.url];
    let file = ["--config", config.to_str().unwrap(), "--log-format", "json", "--color", "never"];
    let mut proxy = ranker::local_proxy(dir.path(), &[&legs[..], &file[..]].concat());
    // One client: it keeps its connection.
    let client = Client::default();
    let send = |proxy: &Proxy, numbers: std::ops::Range<usize>| {
        for number in numbers {
            assert_eq!(ranker::send(&client, &proxy.url, number).status, 200, "request {number}");
        }
    };
    send(&proxy, 0..3);
    write(&config, "sample = 1.0\nmax_per_second = 1000");
    proxy.process.hang_up();
    wait::until("the file is in force", || (sampling(&proxy)["max_per_second"] == 1000.0).then_some(()));
    send(&proxy, 3..8);
    std::fs::write(&config, "[sampling]\nsample = '500%'\n").unwrap();
    proxy.process.hang_up();
    let told = proxy.process.wait_for("the file is refused", |log| {
        log.lines().find(|line| line.contains("the file is broken")).map(str::to_owned)
    });
    assert!(told.contains("500%"), "{told}");
    std::fs::write(&config, "[sampling]\nsample = '0%'\n[limits]\nbody_bytes = 7\n").unwrap();
    proxy.process.hang_up();
    let told = proxy.process.wait_for("what needs a restart is named", |log| {
        log.lines().find(|line| line.contains("needs a restart")).map(str::to_owned)
    });
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["level"], &told["tables"]), (&"WARN".into(), &"[limits]".into()));
    send(&proxy, 8..10);
    proxy.settled();
    let log = proxy.stop();
    for line in log.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok_and(|line| line["message"].is_string()), "{line}");
    }
    let rows = set::rows(&dir.path().join("set"), "exchanges");
    assert_eq!(rows.len(), 5);
    let connections: std::collections::BTreeSet<i64> =
        rows.iter().map(|row| row["client_connection"].as_i64().unwrap()).collect();
    assert_eq!(connections.len(), 1);
}
