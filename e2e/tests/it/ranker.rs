//! Requests to the model of the demo servers.

use std::path::Path;

use e2e::http::{Answer, Client};
use e2e::shadowdiff::{DemoServer, Proxy};

/// Path of the model's inference.
pub(crate) const INFER: &str = "/v2/models/ranker/infer";

/// The body of request `number`: one row of eight features, no two numbers below 1000 alike.
pub(crate) fn body(number: usize) -> Vec<u8> {
    let features: Vec<String> = (0..8).map(|at| format!("{}.{at}", (number * 7 + at * 13) % 1000)).collect();
    format!(
        r#"{{"id":"{number}","inputs":[{{"name":"INPUT","datatype":"FP32","shape":[1,8],"data":[{}]}}]}}"#,
        features.join(",")
    )
    .into_bytes()
}

/// Sends request `number`, with an id of its own.
pub(crate) fn send(client: &Client, base: &str, number: usize) -> Answer {
    let id = format!("request-{number}");
    let headers = [("content-type", "application/json"), ("x-request-id", id.as_str())];
    client.post(&format!("{base}{INFER}"), &headers, &body(number))
}

/// Sends requests one after the other; each must be answered with 200.
pub(crate) fn send_all(base: &str, numbers: std::ops::Range<usize>) {
    let client = Client::default();
    for number in numbers {
        let answer = send(&client, base, number);
        assert_eq!(answer.status, 200, "request {number}: {}", answer.text());
    }
}

/// A healthy, quick demo server.
pub(crate) fn server(name: &str, dir: &Path) -> DemoServer {
    DemoServer::started(name, dir, &["--service-time-ms", "1"])
}

/// A proxy without Kafka, with these further arguments, that writes the set into `dir/set`.
pub(crate) fn local_proxy(dir: &Path, arguments: &[&str]) -> Proxy {
    let set = dir.join("set");
    Proxy::started(dir, &[&["--out", set.to_str().unwrap()], arguments].concat())
}
