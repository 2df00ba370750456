//! What crosses the wire of HTTP/1 in ways that client libraries hide.

use std::sync::{Arc, Mutex};

use e2e::scripted::{Scripted, full};
use e2e::set;
use e2e::wire::exchange;
use http_body_util::BodyExt as _;
use hyper::Response;
use tempfile::tempdir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::{fake, ranker};

/// A server that answers with the target of the request.
fn echo() -> Scripted {
    Scripted::started(|request| async move {
        let target = request.uri().to_string();
        // Read whole, or the connection could not be kept.
        let _ = request.into_body().collect().await;
        Response::new(full(target))
    })
}

fn post(target: &str, body: &str) -> String {
    format!("POST {target} HTTP/1.1\r\nhost: model\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn requests_sent_in_one_go_are_answered_in_their_order() {
    let dir = tempdir().unwrap();
    let (primary, candidate) = (echo(), echo());
    let proxy = ranker::local_proxy(dir.path(), &["--primary", &primary.url, "--candidate", &candidate.url]);
    let targets: Vec<String> = (0..8).map(|number| format!("/v2/models/{number}/infer")).collect();
    let all: String = targets.iter().map(|target| post(target, "[1]")).collect();
    let answers = exchange(&proxy.url, all.as_bytes(), |text| text.matches("/infer").count() == 8);
    let found: Vec<usize> = targets.iter().filter_map(|target| answers.find(target.as_str())).collect();
    assert!(found.len() == 8 && found.is_sorted(), "{answers}");
    proxy.settled();
    proxy.stop();
    assert_eq!(set::rows(&dir.path().join("set"), "exchanges").len(), 8);
}

#[test]
fn an_answer_without_a_reason_phrase_is_an_answer() {
    let dir = tempdir().unwrap();
    // TorchServe's status line.
    let torch = "HTTP/1.1 200 \r\nx-request-id: 1\r\ncontent-length: 15\r\nconnection: close\r\n\r\n{\"score\": 0.88}";
    let (primary, candidate) = (fake::server(torch), fake::server(torch));
    let proxy = ranker::local_proxy(dir.path(), &["--primary", &primary, "--candidate", &candidate]);
    let answer = exchange(&proxy.url, post("/predictions/m", "[1]").as_bytes(), |text| text.ends_with('}'));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.ends_with("{\"score\": 0.88}"), "{answer}");
    proxy.settled();
    proxy.stop();
    let rows = set::rows(&dir.path().join("set"), "exchanges");
    assert_eq!((&rows[0]["primary_status"], &rows[0]["shadow_status"]), (&200.into(), &200.into()));
}

#[test]
fn trailers_of_a_request_and_of_an_answer_pass() {
    let dir = tempdir().unwrap();
    let got = Arc::new(Mutex::new(Vec::new()));
    let keep = got.clone();
    // Bytes, so that no library stands between the test and the trailers.
    let primary = Scripted::raw(move |mut stream, _| {
        let keep = keep.clone();
        async move {
            let mut buffer = [0; 4096];
            while !keep.lock().unwrap().ends_with(b"x-sum: 7\r\n\r\n") {
                match stream.read(&mut buffer).await {
                    Ok(read @ 1..) => keep.lock().unwrap().extend_from_slice(&buffer[..read]),
                    _ => return,
                }
            }
            let answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-cost\r\n\r\n\
                2\r\n[]\r\n0\r\nx-cost: 3\r\n\r\n";
            let _ = stream.write_all(answer).await;
            let _ = stream.shutdown().await;
        }
    });
    let candidate = echo();
    let proxy = ranker::local_proxy(dir.path(), &["--primary", &primary.url, "--candidate", &candidate.url]);
    let request = "POST /v1/models/m:predict HTTP/1.1\r\nhost: model\r\nte: trailers\r\ntrailer: x-sum\r\n\
        transfer-encoding: chunked\r\n\r\n3\r\n[1]\r\n0\r\nx-sum: 7\r\n\r\n";
    let answer =
        exchange(&proxy.url, request.as_bytes(), |text| text.contains("0\r\n") && text.ends_with("\r\n\r\n"));
    assert!(answer.ends_with("0\r\nx-cost: 3\r\n\r\n"), "{answer}");
    let got = String::from_utf8_lossy(&got.lock().unwrap()).into_owned();
    assert!(got.ends_with("3\r\n[1]\r\n0\r\nx-sum: 7\r\n\r\n"), "{got}");
}
