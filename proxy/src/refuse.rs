//! Requests that go to nobody, because they are none or ask for what the proxy cannot pass on.

use exchange::ledger::SkipReason;
use http::header::{HOST, TRANSFER_ENCODING};
use http::{HeaderValue, Method, Request, Response, StatusCode, Version};

use crate::reply::{self, Reply};
use crate::state::State;

/// The answer to a request that is refused; counts it.
pub(crate) fn refused<B>(state: &State, request: &Request<B>) -> Option<Response<Reply>> {
    let (status, error) = reason(request)?;
    if request.method() == Method::CONNECT {
        state.control.sampler.plan().run.account.skipped(SkipReason::Upgrade);
    }
    state.answers.count(status.as_u16());
    Some(reply::json(status, &serde_json::json!({"error": error})))
}

fn reason<B>(request: &Request<B>) -> Option<(StatusCode, &'static str)> {
    if request.method() == Method::CONNECT {
        return Some((StatusCode::NOT_IMPLEMENTED, "CONNECT is not supported: this is a reverse proxy"));
    }
    let headers = request.headers();
    let mut hosts = headers.get_all(HOST).iter();
    // RFC 9112 section 3.2: which of two hosts is meant is a guess, and another server may guess otherwise.
    match (hosts.next(), hosts.next()) {
        (_, Some(_)) => return Some((StatusCode::BAD_REQUEST, "the request has more than one Host")),
        (None, _) if request.version() == Version::HTTP_11 => {
            return Some((StatusCode::BAD_REQUEST, "the request has no Host"));
        }
        _ => {}
    }
    // RFC 9112 section 6.1. That chunked comes last, and once, has been seen to by the HTTP library.
    let chunked = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    let coded = !headers.get_all(TRANSFER_ENCODING).iter().all(chunked);
    coded.then_some((StatusCode::NOT_IMPLEMENTED, "no transfer coding but chunked is supported"))
}
