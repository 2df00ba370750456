//! What the client gets: the primary's answer as it streams, or the proxy's own word that there is none.

use bytes::Bytes;
use exchange::Outcome;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{Either, Full};
use hyper::body::Incoming;

use crate::tee::Tee;
use crate::upstream::Failure;

/// A body for the client: the primary's, or one of the proxy's own.
pub(crate) type Reply = Either<Tee<Incoming>, Full<Bytes>>;

/// The answer to a request that the primary did not answer: 504 after the deadline, 400 when the request itself broke off, else 502.
pub(crate) fn no_answer(failure: &Failure, node: &str) -> Response<Reply> {
    let primary = "the primary did not answer";
    let (status, error) = match failure.outcome {
        Outcome::TimedOut => (StatusCode::GATEWAY_TIMEOUT, primary),
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

/// A JSON answer of the proxy's own.
pub(crate) fn json(status: StatusCode, body: &serde_json::Value) -> Response<Reply> {
    let mut response = Response::new(Either::Right(Full::new(format!("{body}\n").into())));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A text answer of the proxy's own.
pub(crate) fn text(content_type: &'static str, body: String) -> Response<Reply> {
    let mut response = Response::new(Either::Right(Full::new(body.into())));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
