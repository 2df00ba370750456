//! tritonclient over gRPC, on real Tritons.

use e2e::cache::{Component, have};
use e2e::triton::Triton;
use e2e::{python, set};
use tempfile::tempdir;

use crate::ranker;

const UNARY: usize = 60;

#[test]
fn unary_calls_streams_deadlines_and_errors_are_as_without_the_proxy_and_recorded() {
    if !have("tritonclient over gRPC", &[Component::Triton, Component::Python]) {
        return;
    }
    let dir = tempdir().unwrap();
    let primary = Triton::started("node-a", "primary", dir.path());
    let candidate = Triton::started("node-b", "candidate", dir.path());
    let legs = ["--primary", &primary.grpc_url, "--candidate", &candidate.grpc_url];
    let proxy = ranker::local_proxy(dir.path(), &legs);
    let address = |url: &str| url.trim_start_matches("http://").to_owned();
    let gates = dir.path().join("gates");
    std::fs::create_dir(&gates).unwrap();
    let (through, direct) = (address(&proxy.url), address(&primary.grpc_url));
    let unary = UNARY.to_string();
    let _ = python::run("drive_grpc.py", &[&through, &direct, &unary, gates.to_str().unwrap()]);
    proxy.settled();
    proxy.stop();

    let rows = set::rows(&dir.path().join("set"), "exchanges");
    let of =
        |path: &'static str| rows.iter().filter(move |row| row["path"].as_str().unwrap().ends_with(path));
    let unary: Vec<_> = of("/ModelInfer")
        .filter(|row| row["request_id"].as_str().is_some_and(|id| id.starts_with("call-")))
        .collect();
    assert_eq!(unary.len(), UNARY);
    for row in &unary {
        assert_eq!(row["protocol"], "v2_grpc", "{row:?}");
        assert_eq!((&row["primary_grpc_status"], &row["shadow_grpc_status"]), (&0.into(), &0.into()));
        assert_eq!((&row["class"], &row["model"]), (&"BIT_EQUAL".into(), &"score".into()), "{row:?}");
        assert_eq!(row["primary_output_names"], serde_json::json!(["LABEL", "NAME", "SCORE"]));
    }
    let mut ends: Vec<_> = of("/ModelInfer")
        .filter(|row| row["primary_grpc_status"] != 0)
        .map(|row| (row["primary_grpc_status"].as_i64(), row["primary_outcome"].as_str().unwrap()))
        .collect();
    ends.sort_unstable();
    // A deadline is the proxy's to keep: it ends the call before the server would.
    let late = (None, "timed_out");
    assert_eq!(ends, [late, late, late, (Some(3), "answered"), (Some(5), "answered")]);
    let streams: Vec<_> = of("/ModelStreamInfer").collect();
    assert_eq!(streams.len(), 2);
    for row in streams {
        assert_eq!(
            (&row["primary_outcome"], &row["shadow_outcome"]),
            (&"answered".into(), &"answered".into())
        );
        assert_eq!(
            (&row["primary_grpc_status"], &row["shadow_grpc_status"]),
            (&0.into(), &0.into()),
            "{row:?}"
        );
        assert_eq!(row["primary_body_digest"], row["shadow_body_digest"], "{}", row["class"]);
    }
}
