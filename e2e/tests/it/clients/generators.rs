//! Load generators: wrk, h2load over HTTP/1.1 and HTTP/2, and Triton's perf_analyzer over HTTP and gRPC.

use std::process::Command;
use std::time::Duration;

use e2e::cache::{Component, have};
use e2e::faulty::{Fault, Faulty};
use e2e::process;
use e2e::set;
use e2e::shadowdiff::Proxy;
use e2e::triton::Triton;
use tempfile::{TempDir, tempdir};

use crate::isolation;
use crate::ranker;

/// Path and body of what is asked.
const PATH: &str = "/v1/models/m:predict";
const BODY: &str = r#"{"instances":[1]}"#;

/// Runs a program to its end; gives what it printed.
fn output(mut command: Command) -> String {
    command.stdin(std::process::Stdio::null());
    let output = process::output(command);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

struct Run {
    dir: TempDir,
    proxy: Proxy,
    _legs: (Faulty, Faulty),
}

impl Run {
    fn started() -> Self {
        let dir = tempdir().unwrap();
        let legs =
            (Faulty::started(Fault::Slow(Duration::ZERO)), Faulty::started(Fault::Slow(Duration::ZERO)));
        let proxy = ranker::local_proxy(dir.path(), &["--primary", &legs.0.url, "--candidate", &legs.1.url]);
        std::fs::write(dir.path().join("body"), BODY).unwrap();
        Self { dir, proxy, _legs: legs }
    }

    /// Stops the proxy; gives the number of rows, all answered by the primary.
    fn rows(self) -> usize {
        self.proxy.settled();
        self.proxy.stop();
        let rows = isolation::read(&self.dir.path().join("set")).rows;
        assert!(rows.iter().all(|row| row["primary_status"] == 200));
        rows.len()
    }
}

/// The whole number before `word` in `text`.
fn number_before(text: &str, word: &str) -> usize {
    let before = text.split(word).next().unwrap_or_default();
    let digits = before.trim_end().rsplit(|other: char| !other.is_ascii_digit()).next();
    digits
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_else(|| panic!("no number before {word:?}: {text}"))
}

#[test]
fn h2load_has_every_request_answered_over_http_1_and_2() {
    if !have("h2load", &[Component::Tools]) {
        return;
    }
    let run = Run::started();
    for protocol in [&["--h1", "-m", "1"][..], &["-m", "8"]] {
        let mut command = Command::new("h2load");
        command.current_dir(run.dir.path()).args(["-n", "400", "-c", "4", "-d", "body"]).args(protocol);
        command.arg(format!("{}{PATH}", run.proxy.url));
        let said = output(command);
        assert!(said.contains("400 succeeded, 0 failed, 0 errored, 0 timeout"), "{said}");
        assert!(said.contains("status codes: 400 2xx"), "{said}");
    }
    assert_eq!(run.rows(), 800);
}

#[test]
fn wrk_sees_neither_errors_nor_other_statuses() {
    if !have("wrk", &[Component::Tools]) {
        return;
    }
    let run = Run::started();
    let script = format!(
        "wrk.method = \"POST\"\nwrk.body = '{BODY}'\nwrk.headers[\"Content-Type\"] = \"application/json\"\n"
    );
    std::fs::write(run.dir.path().join("post.lua"), script).unwrap();
    let mut command = Command::new("wrk");
    command.current_dir(run.dir.path()).args(["-t1", "-c8", "-d1s", "-s", "post.lua"]);
    command.arg(format!("{}{PATH}", run.proxy.url));
    let said = output(command);
    assert!(!said.contains("Socket errors") && !said.contains("Non-2xx"), "{said}");
    let asked = number_before(&said, " requests in");
    // wrk gives up what is under way at its end: those were mirrored as well.
    let rows = run.rows();
    assert!(rows >= asked && asked > 0, "{rows} rows, {said}");
}

/// Runs perf_analyzer against a proxy before two Tritons.
fn perf_analyzer(leg: impl Fn(&Triton) -> String, arguments: &[&str]) {
    let dir = tempdir().unwrap();
    let primary = Triton::started("node-a", "primary", dir.path());
    let candidate = Triton::started("node-b", "candidate", dir.path());
    let legs = ["--primary", &leg(&primary), "--candidate", &leg(&candidate)];
    let proxy = ranker::local_proxy(dir.path(), &legs);
    let mut command = Command::new(Component::Perf.dir().join("perf_analyzer"));
    command.args(["-m", "score", "-u", proxy.url.trim_start_matches("http://"), "--concurrency-range", "4"]);
    // Few and no matter how slow: its figures do not matter here.
    command.args(["--measurement-mode", "count_windows", "--measurement-request-count", "50"]);
    command.args(["--max-trials", "3", "--stability-percentage", "999"]);
    command.args(arguments);
    let said = output(command);
    assert!(said.contains("Throughput:") && !said.contains("Failed"), "{said}");
    proxy.settled();
    proxy.stop();
    let rows = set::rows(&dir.path().join("set"), "exchanges");
    assert!(!rows.is_empty());
    for row in &rows {
        // At its end it drops what is under way, streams too: that is nobody's failure but its own.
        let dropped = row["primary_outcome"] == "client_gone" || row["primary_outcome"] == "client_cancelled";
        assert!(dropped || (row["primary_outcome"] == "answered" && row["class"] == "BIT_EQUAL"), "{row:?}");
    }
}

const NEEDS: [Component; 2] = [Component::Triton, Component::Perf];

#[test]
fn perf_analyzer_measures_over_http() {
    if have("perf_analyzer over HTTP", &NEEDS) {
        perf_analyzer(|triton| triton.url.clone(), &["-i", "http"]);
    }
}

#[test]
fn perf_analyzer_measures_over_grpc() {
    if have("perf_analyzer over gRPC", &NEEDS) {
        perf_analyzer(|triton| triton.grpc_url.clone(), &["-i", "grpc"]);
    }
}

#[test]
fn perf_analyzer_measures_over_grpc_streams() {
    if have("perf_analyzer over gRPC streams", &NEEDS) {
        perf_analyzer(|triton| triton.grpc_url.clone(), &["-i", "grpc", "--streaming", "--async"]);
    }
}
