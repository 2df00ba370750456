//! What the client gets: the primary's answer as it streams, or the proxy's own word that there is none.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use exchange::Outcome;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use hyper::body::Incoming;

use crate::tee::Tee;
use crate::upstream::Failure;

/// A body for the client.
#[derive(Debug)]
pub(crate) enum Reply {
    Primary(Tee<Incoming>),
    Own(Full<Bytes>),
}

impl Body for Reply {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Self::Primary(body) => Pin::new(body).poll_frame(cx),
            Self::Own(body) => Pin::new(body).poll_frame(cx).map_err(|never| match never {}),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Primary(body) => body.is_end_stream(),
            Self::Own(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Primary(body) => body.size_hint(),
            Self::Own(body) => body.size_hint(),
        }
    }
}

/// The answer to a request that the primary did not answer: 504 after the deadline, else 502.
pub(crate) fn no_answer(failure: &Failure, node: &str) -> Response<Reply> {
    let status = match failure.outcome {
        Outcome::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::BAD_GATEWAY,
    };
    let body = serde_json::json!({
        "error": "the primary did not answer",
        "leg": "primary",
        "node": node,
        "outcome": failure.outcome.as_str(),
        "reason": failure.reason,
    });
    json(status, &body)
}

/// A JSON answer of the proxy's own.
pub(crate) fn json(status: StatusCode, body: &serde_json::Value) -> Response<Reply> {
    let mut response = Response::new(Reply::Own(Full::new(format!("{body}\n").into())));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A text answer of the proxy's own.
pub(crate) fn text(content_type: &'static str, body: String) -> Response<Reply> {
    let mut response = Response::new(Reply::Own(Full::new(body.into())));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
