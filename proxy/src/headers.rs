//! Which headers go on, and the ids among those that are recorded.

use exchange::Pairs;
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, EXPECT, HOST,
    HeaderName, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue};

use crate::redact::REDACTED;

/// Those that belong to one connection whatever `Connection` says. `Expect` is among them: the proxy answers it itself.
const LOCAL: [HeaderName; 7] = [
    CONNECTION,
    TRANSFER_ENCODING,
    UPGRADE,
    EXPECT,
    TE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Those that are for the receiver of the request whatever `Connection` says (RFC 9110 section 7.6.1): without them it would be
/// another request.
const WHOLE_WAY: [HeaderName; 6] =
    [HOST, AUTHORIZATION, COOKIE, CONTENT_LENGTH, CONTENT_TYPE, CONTENT_ENCODING];

/// Whether the list in a header has that token.
pub(crate) fn lists(headers: &HeaderMap, name: HeaderName, token: &str) -> bool {
    tokens(headers, name).any(|listed| listed.eq_ignore_ascii_case(token))
}

fn tokens(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

/// Removes the headers that belong to one connection (RFC 9110, section 7.6.1) and those that `Connection` names; the others
/// stay in their order. `TE: trailers` stays: it speaks of the whole way.
pub(crate) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    if !LOCAL.iter().any(|name| headers.contains_key(name)) {
        return;
    }
    // Of a chunked body it says nothing (RFC 9112 section 6.3), and the HTTP library would frame the body by it.
    let chunked = headers.contains_key(TRANSFER_ENCODING);
    let named: Vec<HeaderName> = tokens(headers, CONNECTION)
        .filter_map(|name| name.parse().ok())
        .filter(|name| !WHOLE_WAY.contains(name))
        .collect();
    let trailers = lists(headers, TE, "trailers");
    let all = std::mem::take(headers);
    // Removing them one by one would move others into their places.
    headers.reserve(all.len());
    let mut name = None;
    for (next, value) in all {
        name = next.or(name);
        let Some(name) = &name else { continue };
        if LOCAL.contains(name) || named.contains(name) || (chunked && *name == CONTENT_LENGTH) {
            if *name == TE && trailers && !headers.contains_key(TE) {
                headers.append(name, HeaderValue::from_static("trailers"));
            }
        } else {
            headers.append(name, value);
        }
    }
}

/// The client's own id of a request, from headers as they are recorded.
pub(crate) fn request_id(recorded: &Pairs) -> Option<String> {
    ["x-request-id", "x-correlation-id", "ce-id"]
        .into_iter()
        .find_map(|name| value(recorded, name))
        .map(str::to_owned)
}

/// The trace id of a `traceparent` header (W3C Trace Context, section 3.2.2.3), from headers as they are recorded.
pub(crate) fn trace_id(recorded: &Pairs) -> Option<String> {
    let id = value(recorded, "traceparent")?.split('-').nth(1)?;
    (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| id.to_owned())
}

/// The value of a header that is no secret.
fn value<'a>(recorded: &'a Pairs, name: &str) -> Option<&'a str> {
    exchange::leg::header(recorded, name).filter(|value| *value != REDACTED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Redaction;

    fn redaction(secrets: &[String]) -> Redaction {
        Redaction::new(crate::config::Redaction::default(), secrets, 0)
    }

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn headers_of_one_connection_go_no_further() {
        let mut headers = map(&[
            ("connection", "keep-alive, X-Local"),
            ("x-local", "1"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("expect", "100-continue"),
            ("te", "trailers"),
            ("x-trace", "abc"),
            ("content-length", "3"),
        ]);
        strip_hop_by_hop(&mut headers);
        let left: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["te", "x-trace"], "and no length beside chunks");
        assert_eq!(headers, map(&[("te", "trailers"), ("x-trace", "abc")]));
    }

    #[test]
    fn repeated_headers_stay_repeated_and_in_order() {
        let mut headers = HeaderMap::new();
        for (name, value) in [("connection", "close"), ("x-a", "1"), ("x-b", "2"), ("x-a", "3")] {
            headers.append(name, HeaderValue::from_static(value));
        }
        strip_hop_by_hop(&mut headers);
        let left: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        assert_eq!(left, [("x-a", &b"1"[..]), ("x-a", b"3"), ("x-b", b"2")]);
    }

    #[test]
    fn an_id_that_is_named_secret_is_recorded_nowhere() {
        let redaction = redaction(&["X-Request-Id".into(), "traceparent".into()]);
        let headers = map(&[
            ("x-request-id", "patient-7"),
            ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ]);
        let recorded = redaction.headers(&headers);
        assert_eq!((request_id(&recorded), trace_id(&recorded)), (None, None));
    }

    #[test]
    fn ids_are_those_of_the_client() {
        let recorded = |pairs| redaction(&[]).headers(&map(pairs));
        let headers = recorded(&[
            ("x-request-id", "r-1"),
            ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ]);
        assert_eq!(request_id(&headers).as_deref(), Some("r-1"));
        assert_eq!(trace_id(&headers).as_deref(), Some("0af7651916cd43dd8448eb211c80319c"));
        assert_eq!(trace_id(&recorded(&[("traceparent", "00-xyz-1-01")])), None);
    }
}
