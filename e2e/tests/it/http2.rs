//! HTTP/2 by prior knowledge: conformance, and load generators.

use e2e::cache::{Component, have};
use e2e::python;
use e2e::scripted::{Scripted, full};
use http_body_util::BodyExt as _;
use hyper::Response;
use serde_json::Value;
use tempfile::tempdir;

use crate::ranker;

fn server() -> Scripted {
    Scripted::started(|request| async move {
        // Read whole, so that the end of an upload is seen.
        let _ = request.into_body().collect().await;
        Response::builder()
            .header("content-type", "application/json")
            .body(full(r#"{"predictions":[0.125,0.25]}"#))
            .unwrap()
    })
}

#[test]
fn the_cases_of_rfc_9113_and_rfc_7541_pass() {
    if !have("the conformance cases of HTTP/2", &[Component::Python]) {
        return;
    }
    let dir = tempdir().unwrap();
    let (primary, candidate) = (server(), server());
    let proxy = ranker::local_proxy(dir.path(), &["--primary", &primary.url, "--candidate", &candidate.url]);
    let url = std::env::var("DIRECT").map_or(proxy.url.clone(), |_| primary.url.clone());
    let said = python::run("h2_conformance.py", &[&url]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["failed"], serde_json::json!([]), "{} passed", said["passed"]);
    assert!(said["passed"].as_u64().is_some_and(|passed| passed >= 100), "{said}");
    proxy.settled();
    proxy.stop();
}
