//! Which path and method gets which answer.

use std::fmt::Display;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::inference::{Ending, Engine};
use super::protocol::{self, INPUT, Inference, LABEL, SCORE};
use super::{MAX_BODY_BYTES, ServerOptions};
use crate::model::{FEATURES, Ranker};

/// Triton's binary tensors come behind a JSON head of so many bytes.
const BINARY_HEADER: &str = "inference-header-content-length";

type Answer = Response<Full<Bytes>>;

/// Everything one server needs to answer.
#[derive(Debug)]
pub(super) struct Service {
    options: ServerOptions,
    ranker: &'static Ranker,
    engine: Engine,
    closed: watch::Receiver<bool>,
}

/// What a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route<'a> {
    Server,
    Health,
    Model(&'a str, Option<&'a str>, Verb),
    Unknown,
}

/// What a path asks of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Metadata,
    Ready,
    Infer,
}

impl<'a> Route<'a> {
    fn of(path: &'a str) -> Self {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (name, version, rest) = match parts.as_slice() {
            ["v2"] => return Self::Server,
            ["v2", "health", "live" | "ready"] => return Self::Health,
            ["v2", "models", name, "versions", version, rest @ ..] => (name, Some(*version), rest),
            ["v2", "models", name, rest @ ..] => (name, None, rest),
            _ => return Self::Unknown,
        };
        match rest {
            [] => Self::Model(name, version, Verb::Metadata),
            ["ready"] => Self::Model(name, version, Verb::Ready),
            ["infer"] => Self::Model(name, version, Verb::Infer),
            _ => Self::Unknown,
        }
    }
}

impl Service {
    pub(super) fn new(options: ServerOptions, closed: watch::Receiver<bool>) -> Self {
        let ranker = Ranker::shipped();
        let engine = Engine::new(ranker, options.service_time, &options.faults);
        Self { options, ranker, engine, closed }
    }

    /// Answers one request, always.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Answer {
        let route = Route::of(request.uri().path());
        if let Route::Model(name, version, _) = route
            && (name != self.ranker.name() || version.is_some_and(|version| version != self.ranker.version()))
        {
            let version = version.map(|version| format!(" version {version:?}")).unwrap_or_default();
            return error(
                StatusCode::NOT_FOUND,
                format!(
                    "unknown model {name:?}{version}: this server has {:?} version {:?}",
                    self.ranker.name(),
                    self.ranker.version()
                ),
            );
        }
        match route {
            Route::Unknown => {
                error(StatusCode::NOT_FOUND, format!("there is nothing at {:?}", request.uri().path()))
            }
            Route::Model(_, _, Verb::Infer) if request.method() == Method::POST => self.infer(request).await,
            Route::Model(_, _, Verb::Infer) => wrong_method(request.method(), "POST"),
            _ if request.method() != Method::GET => wrong_method(request.method(), "GET"),
            Route::Health | Route::Model(_, _, Verb::Ready) => Response::new(Full::default()),
            Route::Server => respond(StatusCode::OK, self.server_metadata().to_string().into()),
            Route::Model(_, _, Verb::Metadata) => {
                respond(StatusCode::OK, self.model_metadata().to_string().into())
            }
        }
    }

    async fn infer(&self, request: Request<Incoming>) -> Answer {
        if request.headers().contains_key(BINARY_HEADER) {
            let message = "binary tensors are not supported: send data as JSON numbers";
            return error(StatusCode::BAD_REQUEST, message);
        }
        let body = match Limited::new(request.into_body(), MAX_BODY_BYTES).collect().await {
            Ok(body) => body.to_bytes(),
            Err(failure) if failure.is::<LengthLimitError>() => {
                return error(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    format!("the body is larger than {MAX_BODY_BYTES} bytes"),
                );
            }
            Err(failure) => {
                return error(StatusCode::BAD_REQUEST, format!("the body could not be read: {failure}"));
            }
        };
        let request = match Inference::from_json(&body) {
            Ok(request) => request,
            Err(failure) => return error(StatusCode::BAD_REQUEST, failure),
        };
        match self.engine.run(&request.rows).await {
            Ending::Scores(scores) => match protocol::answer(self.ranker, &request, &scores) {
                Ok(body) => respond(StatusCode::OK, body),
                Err(failure) => error(StatusCode::INTERNAL_SERVER_ERROR, failure),
            },
            Ending::Failed => error(StatusCode::INTERNAL_SERVER_ERROR, "inference failed"),
            Ending::Hanging => {
                // Ends when the server stops; a sender that is gone says the same.
                let _ = self.closed.clone().wait_for(|closed| *closed).await;
                error(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping")
            }
        }
    }

    fn server_metadata(&self) -> Value {
        json!({
            "name": self.options.name,
            "version": env!("CARGO_PKG_VERSION"),
            "extensions": [],
            "parameters": self.options.labels,
        })
    }

    fn model_metadata(&self) -> Value {
        let features: Vec<&str> =
            self.ranker.features().iter().map(|feature| feature.name.as_str()).collect();
        json!({
            "name": self.ranker.name(),
            "versions": [self.ranker.version()],
            "platform": "gradient_boosted_trees",
            "inputs": [{"name": INPUT, "datatype": "FP32", "shape": [-1, FEATURES], "parameters": {"features": features}}],
            "outputs": [
                {"name": SCORE, "datatype": "FP32", "shape": [-1, 1]},
                {"name": LABEL, "datatype": "INT64", "shape": [-1, 1]},
            ],
        })
    }
}

fn respond(status: StatusCode, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn error(status: StatusCode, message: impl Display) -> Answer {
    respond(status, json!({ "error": message.to_string() }).to_string().into())
}

fn wrong_method(method: &Method, allowed: &'static str) -> Answer {
    let mut answer =
        error(StatusCode::METHOD_NOT_ALLOWED, format!("{method} is not for this path: use {allowed}"));
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    answer
}
