//! Traces reach a collector, and a collector that is away hurts nobody.

use std::sync::{Arc, Mutex};

use http_body_util::BodyExt;
use proxy::config::{Target, Traces};
use serde_json::Value;

use crate::support::{Kept, Proxy, config, echo, eventually, full, nobody, send, serve};

fn to(collector: std::net::SocketAddr) -> Option<Traces> {
    let collector = Target::new("traces", vec![collector.to_string().parse().unwrap()]);
    Some(Traces { collector, path: "/v1/traces".into(), sample: proxy::config::Fraction::NONE })
}

#[tokio::test]
async fn the_spans_of_a_sampled_request_reach_the_collector() {
    let told: Arc<Mutex<Vec<Value>>> = Arc::default();
    let keep = told.clone();
    let collector = serve(move |request| {
        let keep = keep.clone();
        async move {
            assert_eq!(
                (request.uri().path(), &request.headers()["content-type"]),
                ("/v1/traces", &"application/json".parse().unwrap())
            );
            let body = request.into_body().collect().await.unwrap().to_bytes();
            keep.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
            http::Response::new(full("{}"))
        }
    })
    .await;
    let mut config = config(echo("a").await, nobody().await);
    config.traces = to(collector);
    let proxy = Proxy::with(config, Kept::default()).await;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let request = http::Request::post("/x").header("host", "h").header("traceparent", parent);
    send(proxy.address, request.body(full("traced")).unwrap()).await;
    proxy.post("/x", "untraced").await;
    let (admin, _) = (proxy.admin, proxy.exchanges(2).await);
    eventually(|| (!told.lock().unwrap().is_empty()).then_some(())).await;
    let spans = told.lock().unwrap()[0]["resourceSpans"][0]["scopeSpans"][0]["spans"].clone();
    let names: Vec<&str> =
        spans.as_array().unwrap().iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["POST default", "primary", "candidate"]);
    assert!(
        spans.as_array().unwrap().iter().all(|span| span["traceId"] == "0af7651916cd43dd8448eb211c80319c")
    );
    assert_eq!(spans[2]["status"]["code"], 2, "the candidate is down");
    let status = http::Request::get("/status").header("host", "h").body(full("")).unwrap();
    let status: Value = serde_json::from_slice(&send(admin, status).await.body).unwrap();
    assert_eq!((&status["traces"]["spans_sent"], &status["traces"]["spans_dropped"]), (&3.into(), &0.into()));
}

#[tokio::test]
async fn a_collector_that_is_away_costs_its_spans_and_nothing_else() {
    let mut config = config(echo("a").await, echo("b").await);
    config.traces = to(nobody().await);
    config.traces.as_mut().unwrap().sample = proxy::config::Fraction::ALL;
    let proxy = Proxy::with(config, Kept::default()).await;
    assert_eq!(&proxy.post("/x", "hello").await.body[..], b"hello");
    proxy.exchanges(1).await;
    let (ledger, kept) = proxy.stop().await;
    assert_eq!(kept.exchanges().len(), 1);
    assert_eq!(ledger.total(|item| item == exchange::Item::Mirrored), 1);
}
