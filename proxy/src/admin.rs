//! The admin port: `/` for people, `/metrics`, `/livez`, `/readyz`, `/status`, and `/sampling`, which can be changed. It listens on loopback
//! unless told otherwise.

pub(crate) mod alarms;
mod page;
mod status;
mod write;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
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

/// The page loads nothing and sends nothing.
const POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");

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
            let state = state.clone();
            async move { Ok::<_, Infallible>(respond(&state, request).await) }
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

async fn respond(state: &State, request: Request<Incoming>) -> Response<Reply> {
    let path = request.uri().path();
    let reading = request.method() == Method::GET || request.method() == Method::HEAD;
    match path {
        "/sampling" if request.method() == Method::PUT => write::sampling(&state.control, request).await,
        "/sampling" if !reading => not_allowed("GET, HEAD, PUT"),
        _ if !reading => not_allowed("GET, HEAD"),
        "/" => {
            let mut page = text("text/html; charset=utf-8", page::of(&status::of(state)));
            page.headers_mut().insert(header::CONTENT_SECURITY_POLICY, POLICY);
            page
        }
        "/livez" => json(StatusCode::OK, &json!({"live": true})),
        "/readyz" => ready(state),
        "/status" => json(StatusCode::OK, &status::of(state)),
        "/sampling" => json(StatusCode::OK, &state.control.describe()),
        "/metrics" => {
            let scrape = metrics::text(metrics::Scrape::of(state));
            text("application/openmetrics-text; version=1.0.0; charset=utf-8", scrape)
        }
        _ => {
            let error = "try /, /metrics, /livez, /readyz, /status or /sampling";
            json(StatusCode::NOT_FOUND, &json!({"error": error}))
        }
    }
}

fn not_allowed(methods: &'static str) -> Response<Reply> {
    let mut response = json(StatusCode::METHOD_NOT_ALLOWED, &json!({"error": format!("only {methods}")}));
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
    response
}

/// Ready while clients are served. What Kafka and the shadows do is told and does not count: clients are served without them.
fn ready(state: &State) -> Response<Reply> {
    let draining = state.draining.load(Ordering::Relaxed);
    let status = if draining { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    let counts = state.control.runs.totals();
    let names = state.control.runs.shadows().iter().enumerate();
    let received: serde_json::Map<_, _> =
        names.map(|(shadow, name)| (name.clone(), alarms::received(&counts, shadow).into())).collect();
    let body = json!({
        "ready": !draining,
        "draining": draining,
        "publisher_connected": state.publisher.published().connected,
        "received": received,
        "alarms": status::alarms(state, &counts),
    });
    json(status, &body)
}
