//! Traces of mirrored requests: a span for the request and one for each leg, sent to an OpenTelemetry collector in batches, as
//! JSON (OTLP specification 1.x, "OTLP/HTTP", JSON Protobuf encoding). Bounded; what does not fit is dropped and counted.

mod span;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use exchange::Exchange;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_util::sync::CancellationToken;

use crate::config::Traces as Settings;
use crate::notice::Notice;
use crate::own::Question;
use crate::upstream::Upstream;

/// Spans that may wait.
const WAITING: usize = 8192;

/// Spans sent at once.
const BATCH: usize = 512;

/// How long a span waits for others at most.
const EVERY: Duration = Duration::from_secs(2);

/// How long the collector may take.
const WITHIN: Duration = Duration::from_secs(10);

/// Bytes read of its answer.
const ANSWER: usize = 64 << 10;

/// The proxy's end of the way to the collector.
#[derive(Debug)]
pub(crate) struct Traces {
    settings: Settings,
    spans: Sender<Value>,
    counts: std::sync::Arc<Counts>,
}

/// What became of the spans.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    sent: AtomicU64,
    dropped: AtomicU64,
}

/// The far end, which is to be run.
#[derive(Debug)]
pub(crate) struct Exporter {
    spans: Receiver<Value>,
    upstream: Upstream,
    path: String,
    resource: Value,
    counts: std::sync::Arc<Counts>,
    refused: Notice,
}

impl Traces {
    pub(crate) fn new(settings: Settings, upstream: Upstream, proxy: &str) -> (Self, Exporter) {
        let (sender, spans) = channel(WAITING);
        let counts = std::sync::Arc::<Counts>::default();
        let resource = json!({"attributes": [
            span::text("service.name", "shadowdiff"),
            span::text("service.instance.id", proxy),
            span::text("service.version", env!("CARGO_PKG_VERSION")),
        ]});
        let path = settings.path.clone();
        let exporter =
            Exporter { spans, upstream, path, resource, counts: counts.clone(), refused: Notice::new() };
        (Self { settings, spans: sender, counts }, exporter)
    }

    /// Takes the spans of an exchange, if its request has a trace; those of the request itself with its `first` exchange.
    pub(crate) fn note(&self, exchange: &Exchange, first: bool) {
        let Some(trace) = span::Trace::of(exchange, self.settings.sample) else { return };
        for span in trace.spans(exchange, first) {
            if self.spans.try_send(span).is_err() {
                self.counts.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Spans taken by the collector, and spans dropped.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.counts.sent.load(Ordering::Relaxed), self.counts.dropped.load(Ordering::Relaxed))
    }
}

impl Exporter {
    /// Sends batches until the proxy is `over` and nothing waits.
    pub(crate) async fn run(mut self, over: CancellationToken) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let first = tokio::select! {
                biased;
                first = self.spans.recv() => first,
                () = over.cancelled() => None,
            };
            let Some(first) = first else { return };
            batch.push(first);
            let more = async {
                while batch.len() < BATCH {
                    match self.spans.recv().await {
                        Some(span) => batch.push(span),
                        None => break,
                    }
                }
            };
            // Late is as good as full: what has come is sent.
            tokio::select! {
                _ = tokio::time::timeout(EVERY, more) => {}
                () = over.cancelled() => {}
            }
            self.send(std::mem::take(&mut batch)).await;
        }
    }

    async fn send(&self, spans: Vec<Value>) {
        let count = spans.len() as u64;
        let scope = json!({"scope": {"name": "shadowdiff"}, "spans": spans});
        let body = json!({"resourceSpans": [{"resource": self.resource, "scopeSpans": [scope]}]});
        let json = HeaderValue::from_static("application/json");
        let question = Question {
            method: Method::POST,
            path: self.path.clone(),
            headers: HeaderMap::from_iter([(CONTENT_TYPE, json)]),
            body: Bytes::from(body.to_string()),
            grpc: false,
        };
        let said = match self.upstream.nodes.choose(&question.headers) {
            Some(node) => tokio::time::timeout(WITHIN, self.upstream.ask(&node, question, ANSWER)).await,
            None => return self.lost(count, "the collector's name is not resolved"),
        };
        match said {
            Ok(Ok(said)) if said.status().is_success() => {
                self.counts.sent.fetch_add(count, Ordering::Relaxed);
            }
            Ok(Ok(said)) => self.lost(count, &format!("the collector answers {}", said.status())),
            Ok(Err(failure)) => self.lost(count, &failure.reason),
            Err(_) => self.lost(count, "the collector does not answer in time"),
        }
    }

    fn lost(&self, count: u64, reason: &str) {
        self.counts.dropped.fetch_add(count, Ordering::Relaxed);
        if let Some(times) = self.refused.due_now() {
            tracing::warn!(reason, times, "traces are dropped");
        }
    }
}
