//! What the client gets: the primary's answer as it streams, or the proxy's own word that there is none.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use exchange::Outcome;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use hyper::body::Incoming;

use crate::grpc;
use crate::tee::{Broken, Tee};
use crate::upstream::Failure;

/// A body for the client: the primary's, or one of the proxy's own.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "the large one is that of every answer")]
pub(crate) enum Reply {
    /// The primary's.
    Streamed(Tee<Incoming>),
    /// The proxy's own.
    Own(Full<Bytes>),
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.get_mut() {
            Self::Streamed(body) => Pin::new(body).poll_frame(cx),
            Self::Own(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Streamed(body) => body.is_end_stream(),
            Self::Own(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Streamed(body) => body.size_hint(),
            Self::Own(body) => body.size_hint(),
        }
    }
}

/// The answer to a request that the primary did not answer: 504 after the deadline, 503 at a bound, 400 when the request itself broke
/// off, else 502; to a gRPC call its own words for them.
pub(crate) fn no_answer(failure: &Failure, node: &str, is_grpc: bool) -> Response<Reply> {
    if is_grpc {
        return call_failed(failure);
    }
    let primary = "the primary did not answer";
    let (status, error) = match failure.outcome {
        Outcome::TimedOut => (StatusCode::GATEWAY_TIMEOUT, primary),
        Outcome::Shed => (StatusCode::SERVICE_UNAVAILABLE, "the primary is at its bound"),
        Outcome::ClientGone => (StatusCode::BAD_REQUEST, "the body of the request broke off or is malformed"),
        _ => (StatusCode::BAD_GATEWAY, primary),
    };
    let body = serde_json::json!({
        "error": error,
        "leg": "primary",
        "node": node,
        "outcome": failure.outcome.as_str(),
        "reason": failure.reason,
    });
    json(status, &body)
}

/// The answer to a request whose body has not ended in its time.
pub(crate) fn late_upload() -> Response<Reply> {
    let error = "the body of the request did not end in time";
    json(StatusCode::REQUEST_TIMEOUT, &serde_json::json!({"error": error}))
}

/// A call's answer that has nothing but its status.
fn call_failed(failure: &Failure) -> Response<Reply> {
    let word = match (failure.outcome, failure.reset) {
        (Outcome::TimedOut, _) => grpc::word(grpc::DEADLINE_EXCEEDED, "Deadline Exceeded"),
        (_, Some(code)) => grpc::word(grpc::status_of(code), "the primary reset the call"),
        _ => grpc::word(grpc::UNAVAILABLE, "the primary did not answer"),
    };
    let mut response = Response::new(Reply::Own(Full::default()));
    *response.headers_mut() = word;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

/// A JSON answer of the proxy's own.
pub(crate) fn json(status: StatusCode, body: &serde_json::Value) -> Response<Reply> {
    let mut response = text("application/json", format!("{body}\n"));
    *response.status_mut() = status;
    response
}

/// A text answer of the proxy's own.
pub(crate) fn text(content_type: &'static str, body: String) -> Response<Reply> {
    let mut response = Response::new(Reply::Own(Full::new(body.into())));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
