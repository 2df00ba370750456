//! HTTP/2 by prior knowledge: conformance, and load generators.

use e2e::cache::{Component, have};
use e2e::python;
use e2e::scripted::{Scripted, full};
use http_body_util::BodyExt as _;
use hyper::Response;
use serde_json::Value;
use tempfile::tempdir;

use crate::ranker;

/// Cases that the HTTP/2 library does not pass, and why that does no harm.
const KNOWN: [(&str, &str); 2] = [
    ("a_client_that_begins_without_settings", "its settings are the defaults until it sends some"),
    ("a_pseudo_field_in_trailers", "it is dropped, and reaches neither leg"),
];

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
    let said = python::run("h2_conformance.py", &[&proxy.url]);
    let said: Value = serde_json::from_str(&said).unwrap();
    let failed: Vec<&str> = said["failed"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let known = |what: &&&str| KNOWN.iter().any(|(name, _)| what.contains(name));
    let others: Vec<_> = failed.iter().filter(|what| !known(what)).collect();
    assert!(others.is_empty(), "{others:#?}, {} passed", said["passed"]);
    let right = said["passed"].as_u64().unwrap() + said["general"].as_array().unwrap().len() as u64;
    assert_eq!((right + failed.len() as u64, failed.len()), (106, KNOWN.len()), "{said:#}");
    proxy.settled();
    proxy.stop();
}
