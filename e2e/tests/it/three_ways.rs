//! The same inputs to two real Tritons as JSON, as binary tensors and over gRPC: the record holds the same outputs, and
//! the same judgement of them.

use std::collections::BTreeMap;

use e2e::cache::{Component, have};
use e2e::triton::Triton;
use e2e::{python, set};
use tempfile::tempdir;

use crate::ranker;

const INPUTS: usize = 20;

/// What a row says of the answers, whichever way they came; not ULPs, which are of no number printed in few digits.
const SAME: [&str; 8] = [
    "class",
    "class_detail",
    "worst_output",
    "worst_index",
    "worst_row",
    "tolerance_units",
    "cosine",
    "model",
];
const SAME_OF_LEGS: [&str; 7] =
    ["output_names", "output_dtypes", "output_shapes", "values", "score", "text", "signature"];

#[test]
fn an_answer_is_decoded_to_the_same_outputs_whichever_way_it_came() {
    if !have("tritonclient three ways", &[Component::Triton, Component::Python]) {
        return;
    }
    let dir = tempdir().unwrap();
    let primary = Triton::started("node-a", "primary", dir.path());
    let candidate = Triton::started("node-b", "candidate", dir.path());
    let proxies = [("http", &primary.url, &candidate.url), ("grpc", &primary.grpc_url, &candidate.grpc_url)]
        .map(|(way, primary, candidate)| {
            let dir = dir.path().join(way);
            std::fs::create_dir(&dir).unwrap();
            ranker::local_proxy(&dir, &["--primary", primary, "--candidate", candidate])
        });
    let addresses = proxies.each_ref().map(|proxy| proxy.url.trim_start_matches("http://").to_owned());
    let _ = python::run("drive_three_ways.py", &[&addresses[0], &addresses[1], &INPUTS.to_string()]);
    for proxy in proxies {
        proxy.settled();
        proxy.stop();
    }

    let mut inputs = BTreeMap::<String, BTreeMap<String, set::Row>>::new();
    for way in ["http", "grpc"] {
        for row in set::rows(&dir.path().join(way).join("set"), "exchanges") {
            let Some((way, number)) = row["request_id"].as_str().and_then(|id| id.split_once('-')) else {
                continue;
            };
            assert!(
                inputs.entry(number.to_owned()).or_default().insert(way.to_owned(), row.clone()).is_none()
            );
        }
    }
    assert_eq!(inputs.len(), INPUTS);
    let mut classes = BTreeMap::<String, usize>::new();
    for (number, ways) in &inputs {
        assert_eq!(
            ways.keys().map(String::as_str).collect::<Vec<_>>(),
            ["binary", "grpc", "json"],
            "input {number}"
        );
        let protocols: Vec<_> = ways.values().map(|row| row["protocol"].as_str().unwrap()).collect();
        assert_eq!(protocols, ["v2_binary", "v2_grpc", "v2_json"], "input {number}");
        let columns = SAME.iter().map(ToString::to_string).chain(
            SAME_OF_LEGS.iter().flat_map(|column| ["primary", "shadow"].map(|leg| format!("{leg}_{column}"))),
        );
        for column in columns {
            for way in ["binary", "grpc"] {
                assert_eq!(
                    ways[way][&column], ways["json"][&column],
                    "{column} of input {number}, {way} and json"
                );
            }
        }
        assert!(!ways["json"]["primary_signature"].is_null());
        *classes.entry(ways["json"]["class"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    // A tenth each of the planted faults; else the comparison of wrong answers would not have been tried.
    let planted = [("BIT_EQUAL", 14), ("DEGENERATE", 2), ("GROSS", 2), ("WITHIN_TOL", 2)];
    assert_eq!(classes, planted.map(|(class, count)| (class.to_owned(), count)).into());
}
