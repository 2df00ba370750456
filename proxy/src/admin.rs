//! The admin port: `/metrics`, `/livez`, `/readyz`, `/status`. It listens on loopback unless told otherwise.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use exchange::Item;
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::metrics;
use crate::reply::{Reply, json, text};
use crate::state::State;
use crate::worker::ACCEPT_PAUSE;

/// Connections at once; more wait in the backlog.
const CONNECTIONS: usize = 64;

/// Serves the admin port until it is aborted.
pub(crate) async fn serve(listener: TcpListener, state: Arc<State>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let state = state.clone();
        let service = service_fn(move |request| {
            let response = respond(&state, &request);
            async move { Ok::<_, Infallible>(response) }
        });
        let connection =
            http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            // A client that goes away is none of our business.
            let _ = connection.await;
            drop(place);
        });
    }
}

fn respond(state: &State, request: &Request<Incoming>) -> Response<Reply> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return json(StatusCode::METHOD_NOT_ALLOWED, &json!({"error": "only GET"}));
    }
    match request.uri().path() {
        "/livez" => json(StatusCode::OK, &json!({"live": true})),
        "/readyz" => ready(state),
        "/status" => json(StatusCode::OK, &status(state)),
        "/metrics" => {
            text("application/openmetrics-text; version=1.0.0; charset=utf-8", metrics::render(state))
        }
        _ => json(StatusCode::NOT_FOUND, &json!({"error": "try /metrics, /livez, /readyz or /status"})),
    }
}

/// Ready while clients are served. Kafka's state is told and does not count: clients are served without it.
fn ready(state: &State) -> Response<Reply> {
    let draining = state.draining.load(Ordering::Relaxed);
    let status = if draining { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    let connected = state.publisher.published().connected;
    json(status, &json!({"ready": !draining, "draining": draining, "publisher_connected": connected}))
}

fn status(state: &State) -> serde_json::Value {
    let published = state.publisher.published();
    let snapshot = state.account.snapshot();
    let total = |keep: &dyn Fn(Item) -> bool| -> u64 {
        snapshot.items.iter().filter(|entry| keep(entry.item)).map(|entry| entry.count).sum()
    };
    let target = |upstream: &crate::upstream::Upstream| {
        let nodes: Vec<_> = upstream
            .nodes
            .current()
            .iter()
            .map(|state| {
                let (node, inflight) = (&state.node, state.load.inflight());
                json!({
                    "node": node.name,
                    "inflight": inflight,
                    "labels": labels(&node.labels),
                    "passed_over": state.ejected(std::time::Instant::now()),
                })
            })
            .collect();
        json!({"name": upstream.target().name, "nodes": nodes})
    };
    json!({
        "proxy": state.config.name,
        "run": state.config.run,
        "version": env!("CARGO_PKG_VERSION"),
        "started_at_us": state.started_us,
        "draining": state.draining.load(Ordering::Relaxed),
        "sample": state.config.sampling.fraction.get(),
        "primary": target(&state.primary),
        "shadows": state.shadows.iter().map(target).collect::<Vec<_>>(),
        "mirrored": total(&|item| item == Item::Mirrored),
        "ended": total(&|item| matches!(item, Item::Outcome(_))),
        "delivered": total(&|item| item == Item::Delivered),
        "dropped": total(&|item| matches!(item, Item::Dropped(_))),
        "traces": state.traces.as_ref().map(|traces| {
            let (sent, dropped) = traces.counts();
            json!({"spans_sent": sent, "spans_dropped": dropped})
        }),
        "upgrades": state.account.upgrades(),
        "spooled": total(&|item| item == Item::Spooled),
        "waiting": published.waiting,
        "under_way": {"exchanges": state.mirrors.used(), "bytes": state.bytes.used()},
        "publisher": {"to": state.publisher.describe(), "connected": published.connected,
            "spool": {"messages": published.spool_messages, "bytes": published.spool_bytes}},
    })
}

fn labels(pairs: &exchange::Pairs) -> serde_json::Value {
    pairs.iter().map(|(name, value)| (name.clone(), serde_json::Value::from(value.as_str()))).collect()
}
