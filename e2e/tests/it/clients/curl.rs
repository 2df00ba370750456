//! curl, and what it shows of HTTP/1: `Expect`, HEAD, HTTP/1.0, chunked uploads.

use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use e2e::cache::{Component, have};
use e2e::process;
use e2e::scripted::{Scripted, full};
use e2e::set::{self, Row};
use http_body_util::BodyExt as _;
use hyper::Response;
use tempfile::{TempDir, tempdir};
use xxhash_rust::xxh3::xxh3_128;

use crate::ranker;

/// Head of a request as a server got it, lines sorted, with the digest of its body.
type Got = Arc<Mutex<Vec<(String, u128)>>>;

/// A server that says how long the body was, in a header and in its answer's body.
fn server(got: &Got) -> Scripted {
    let got = got.clone();
    Scripted::started(move |request| {
        let got = got.clone();
        async move {
            let (parts, body) = request.into_parts();
            let Ok(body) = body.collect().await else { return Response::new(full("broken")) };
            let body = body.to_bytes();
            let head = format!("{} {:?} {:?}", parts.method, parts.version, parts.headers);
            got.lock().unwrap().push((head, xxh3_128(&body)));
            let answer = format!(r#"{{"predictions":[{}]}}"#, body.len());
            Response::builder().header("content-type", "application/json").body(full(answer)).unwrap()
        }
    })
}

/// Runs curl on a proxy with both legs recorded; gives its standard output, what each leg got, and the rows.
struct Seen {
    stdout: String,
    stderr: String,
    primary: Vec<(String, u128)>,
    candidate: Vec<(String, u128)>,
    rows: Vec<Row>,
}

fn curl(arguments: &[&str], files: impl FnOnce(&TempDir)) -> Seen {
    let dir = tempdir().unwrap();
    files(&dir);
    let (at_primary, at_candidate) = (Got::default(), Got::default());
    let (primary, candidate) = (server(&at_primary), server(&at_candidate));
    let proxy = ranker::local_proxy(dir.path(), &["--primary", &primary.url, "--candidate", &candidate.url]);
    let mut command = Command::new("curl");
    command.current_dir(dir.path()).args(["--silent", "--show-error", "--verbose", "--max-time", "60"]);
    command.args(arguments).arg(format!("{}/v1/models/m:predict", proxy.url)).stdin(Stdio::null());
    let output = process::output(command);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    proxy.settled();
    proxy.stop();
    let taken = |got: &Got| std::mem::take(&mut *got.lock().unwrap());
    Seen {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr,
        primary: taken(&at_primary),
        candidate: taken(&at_candidate),
        rows: set::rows(&dir.path().join("set"), "exchanges"),
    }
}

#[test]
fn two_megabytes_with_expect_arrive_whole_on_both_legs() {
    if !have("curl with Expect", &[Component::Tools]) {
        return;
    }
    let body: Vec<u8> = (0..2 << 20).map(|at: u32| (at % 251) as u8).collect();
    let digest = xxh3_128(&body);
    let arguments = ["-H", "Expect: 100-continue", "--data-binary", "@body"];
    let seen = curl(&arguments, |dir| std::fs::write(dir.path().join("body"), &body).unwrap());
    assert!(seen.stderr.contains("HTTP/1.1 100 Continue"), "{}", seen.stderr);
    assert_eq!(seen.stdout, format!(r#"{{"predictions":[{}]}}"#, body.len()));
    for leg in [&seen.primary, &seen.candidate] {
        assert_eq!(leg.len(), 1);
        assert_eq!(leg[0].1, digest);
        assert!(!leg[0].0.contains("\"expect\""), "answered by the proxy: {}", leg[0].0);
    }
    assert_eq!(seen.rows[0]["request_digest"], format!("{digest:032x}").as_str());
    assert_eq!(seen.rows[0]["shadow_outcome"], "answered");
}

#[test]
fn an_upload_of_unknown_length_arrives_whole_on_both_legs() {
    if !have("curl with a chunked upload", &[Component::Tools]) {
        return;
    }
    let body = vec![b'7'; 300_000];
    let arguments = ["-H", "Transfer-Encoding: chunked", "--data-binary", "@body"];
    let seen = curl(&arguments, |dir| std::fs::write(dir.path().join("body"), &body).unwrap());
    assert_eq!(seen.stdout, r#"{"predictions":[300000]}"#);
    assert!(seen.primary[0].0.contains("chunked"), "as it was sent: {}", seen.primary[0].0);
    assert_eq!((seen.primary[0].1, seen.candidate[0].1), (xxh3_128(&body), xxh3_128(&body)));
}

#[test]
fn http_1_0_is_answered_and_closed() {
    if !have("curl with HTTP/1.0", &[Component::Tools]) {
        return;
    }
    let seen = curl(&["--http1.0", "--data", "[1]"], |_| {});
    assert_eq!(seen.stdout, r#"{"predictions":[3]}"#);
    assert!(seen.stderr.contains("Closing connection"), "{}", seen.stderr);
    assert_eq!((seen.rows.len(), &seen.rows[0]["class"]), (1, &"BIT_EQUAL".into()));
}

#[test]
fn head_has_the_head_of_the_answer_and_is_not_mirrored() {
    if !have("curl with HEAD", &[Component::Tools]) {
        return;
    }
    let seen = curl(&["--head"], |_| {});
    assert!(seen.stdout.starts_with("HTTP/1.1 200 OK\r\n"), "{}", seen.stdout);
    assert!(seen.stdout.contains("content-length: 19\r\n"), "{}", seen.stdout);
    assert!(seen.primary[0].0.starts_with("HEAD"), "{:?}", seen.primary);
    assert!(seen.candidate.is_empty() && seen.rows.is_empty(), "{:?}", seen.candidate);
}
