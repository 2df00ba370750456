//! Which node a record names, what it knows of it, and what the server reports of itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use exchange::leg::HttpVersion;
use exchange::{Leg, Outcome};
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use proxy::Config;
use proxy::config::identity::{HeaderName, Identity, PathAndQuery, Probe};

use crate::calls;
use crate::support::{Kept, Proxy, config, echo, eventually, full, hang, serve};

/// A configuration whose targets both have that identity.
fn with(config: Config, identity: &Identity) -> Config {
    let mut config = config;
    config.primary.identity = identity.clone();
    config.shadows[0].target.identity = identity.clone();
    config
}

fn label<'a>(leg: &'a Leg, name: &str) -> Option<&'a str> {
    exchange::leg::header(&leg.labels, name)
}

/// The labels of a target's first node, as `/status` tells them.
async fn labels(proxy: &Proxy, target: &str) -> serde_json::Value {
    let request = Request::get("/status").header("host", "admin").body(full("")).unwrap();
    let answer = crate::support::send(proxy.admin, request).await;
    let status: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    let target = if target == "primary" { &status["primary"] } else { &status["shadows"][0] };
    target["nodes"][0]["labels"].clone()
}

/// Waits until a node's labels are so.
async fn labelled(proxy: &Proxy, target: &str, wanted: serde_json::Value) {
    let seen = async {
        while labels(proxy, target).await != wanted {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::support::PATIENCE, seen).await.expect("the labels did not come");
}

#[tokio::test]
async fn an_answer_names_its_node_and_the_address_stays_a_label() {
    let balanced = serve(|_| async {
        Response::builder()
            .header("x-served-by", "pod-7")
            .header("x-gpu", "L4")
            .header("endpoint-load-metrics", "TEXT cpu_utilization=0.5, application_utilization=0.75")
            .header("x-queue-time", "12")
            .body(full("{}"))
            .unwrap()
    })
    .await;
    let plain = echo("plain").await;
    let identity = Identity {
        header: Some(HeaderName::from_static("x-served-by")),
        label_headers: vec![("gpu".into(), HeaderName::from_static("x-gpu"))],
        ..Identity::default()
    };
    let proxy = Proxy::with(with(config(plain, balanced), &identity), Kept::default()).await;
    proxy.post("/v2/models/m/infer", "{}").await;
    let exchange = &proxy.exchanges(1).await[0];
    let (primary, shadow) = (&exchange.primary, &exchange.shadow);
    assert_eq!((primary.node.clone(), label(primary, "address")), (plain.to_string(), None));
    assert_eq!(shadow.node, "pod-7");
    assert_eq!(label(shadow, "address"), Some(balanced.to_string().as_str()));
    assert_eq!(label(shadow, "gpu"), Some("L4"));
    assert_eq!((shadow.reported_utilization, shadow.reported_queue_us), (Some(0.75), Some(12_000)));
    assert_eq!(
        shadow.reported_load.as_deref(),
        Some("TEXT cpu_utilization=0.5, application_utilization=0.75")
    );
    assert_eq!((primary.reported_load.as_ref(), primary.reported_queue_us), (None, None));
    assert_eq!(shadow.http_version, Some(HttpVersion::Http11));
}

#[tokio::test]
async fn a_json_answer_names_its_node() {
    let named = serve(|_| async {
        Response::new(full(r#"{"outputs": [{"data": [NaN]}], "parameters": {"node": "pod-3"}}"#))
    })
    .await;
    let identity = Identity { json: Some("/parameters/node".into()), ..Identity::default() };
    let proxy = Proxy::with(with(config(named, named), &identity), Kept::default()).await;
    proxy.post("/v2/models/m/infer", "{}").await;
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!((exchange.primary.node.as_str(), exchange.shadow.node.as_str()), ("pod-3", "pod-3"));
}

#[tokio::test]
async fn a_call_names_its_node_and_reports_its_load_in_its_trailers() {
    let (server, _) = calls::serve(|request: Request<Incoming>| async move {
        let mut trailers = calls::ok();
        trailers.insert("x-served-by", "pod-9".parse().unwrap());
        // An `OrcaLoadReport` with an application utilization of 0.5.
        trailers.insert("endpoint-load-metrics-bin", "SQAAAAAAAOA/".parse().unwrap());
        calls::streamed(request.into_body(), trailers)
    })
    .await;
    let identity = Identity { header: Some(HeaderName::from_static("x-served-by")), ..Identity::default() };
    let proxy = Proxy::with(with(config(server, server), &identity), Kept::default()).await;
    let mut sender = calls::connect(proxy.address).await;
    let response = sender.send_request(calls::unary(proxy.address, b"x")).await.unwrap();
    calls::outcome(response).await;
    let exchange = &proxy.exchanges(1).await[0];
    for leg in [&exchange.primary, &exchange.shadow] {
        assert_eq!((leg.node.as_str(), leg.grpc_status), ("pod-9", Some(0)));
        assert_eq!((leg.reported_utilization, leg.http_version), (Some(0.5), Some(HttpVersion::Http2)));
        assert_eq!(leg.reported_load.as_deref(), Some("SQAAAAAAAOA/"));
        assert_eq!(leg.trailers.len(), 3);
    }
}

#[tokio::test]
async fn nodes_are_asked_what_they_are() {
    let triton = serve(|request: Request<Incoming>| async move {
        let body = match request.uri().path() {
            "/v2" => r#"{"name": "node-a", "version": "2.51.0", "extensions": []}"#,
            "/info" => r#"{"gpu": {"name": "T4", "driver_version": "550.54"}}"#,
            _ => "{}",
        };
        Response::new(full(body))
    })
    .await;
    let mut config = config(triton, triton);
    config.shadows[0].target.identity.probes = vec![
        Probe::Metadata,
        Probe::Json {
            path: PathAndQuery::from_static("/info"),
            labels: vec![("gpu".into(), "/gpu/name".into()), ("driver".into(), "/gpu/driver_version".into())],
        },
    ];
    let nodes = &mut config.shadows[0].target.nodes;
    nodes[0] = nodes[0].clone().with_labels(vec![("gpu".into(), "as configured".into())]);
    let proxy = Proxy::with(config, Kept::default()).await;
    let wanted = serde_json::json!(
        {"driver": "550.54", "gpu": "as configured", "server": "node-a", "server_version": "2.51.0"}
    );
    labelled(&proxy, "candidate", wanted).await;
    assert_eq!(labels(&proxy, "primary").await, serde_json::json!({}), "nobody asked the primary");
    proxy.post("/v2/models/m/infer", "{}").await;
    let shadow = &proxy.exchanges(1).await[0].shadow;
    assert_eq!(label(shadow, "server_version"), Some("2.51.0"));
    assert_eq!((label(shadow, "gpu"), shadow.inflight), (Some("as configured"), 0), "a question is no load");
}

#[tokio::test]
async fn a_node_that_speaks_grpc_alone_is_asked_in_grpc() {
    let (server, _) = calls::serve(|request: Request<Incoming>| async move {
        assert_eq!(request.uri().path(), "/inference.GRPCInferenceService/ServerMetadata");
        let metadata = b"\x0a\x06triton\x12\x062.51.0\x1a\x0eclassification";
        let answer = full(calls::message(metadata)).with_trailers(async { Some(Ok(calls::ok())) });
        Response::new(BodyExt::boxed(answer))
    })
    .await;
    let identity = Identity { probes: vec![Probe::Metadata], ..Identity::default() };
    let proxy = Proxy::with(with(config(server, server), &identity), Kept::default()).await;
    let wanted = serde_json::json!({"server": "triton", "server_version": "2.51.0"});
    labelled(&proxy, "primary", wanted.clone()).await;
    labelled(&proxy, "candidate", wanted).await;
}

#[tokio::test]
async fn a_node_that_does_not_say_what_it_is_serves_all_the_same() {
    let asked = Arc::new(AtomicUsize::new(0));
    let seen = asked.clone();
    let silent = serve(move |request: Request<Incoming>| {
        let seen = seen.clone();
        async move {
            if request.uri().path() == "/v2" {
                // The first time it says so, then never again.
                if seen.fetch_add(1, Ordering::SeqCst) > 0 {
                    return Response::builder().status(503).body(full("")).unwrap();
                }
                return Response::new(full(r#"{"name": "once"}"#));
            }
            Response::new(full("served"))
        }
    })
    .await;
    let identity = Identity {
        probes: vec![Probe::Metadata],
        probe_every: Duration::from_millis(1),
        ..Identity::default()
    };
    let mut config = with(config(silent, hang().await), &identity);
    config.shadows[0].target.total_timeout = Some(Duration::from_millis(50));
    let proxy = Proxy::with(config, Kept::default()).await;
    eventually(|| (asked.load(Ordering::SeqCst) > 3).then_some(())).await;
    assert_eq!(proxy.post("/v2/models/m/infer", "{}").await.body, "served");
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!(label(&exchange.primary, "server"), Some("once"), "what is known stays");
    assert_eq!((exchange.shadow.outcome, label(&exchange.shadow, "server")), (Outcome::TimedOut, None));
    proxy.stop().await;
}
