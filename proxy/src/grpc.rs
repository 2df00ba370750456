//! What the proxy must know of gRPC over HTTP/2: which requests are such calls, their deadline, and how a call ends
//! (gRPC over HTTP/2, "Requests", "Responses" and "Timeout").

use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Version};

/// The deadline a caller gives.
pub(crate) const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// How a call ended.
pub(crate) const STATUS: HeaderName = HeaderName::from_static("grpc-status");

const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// `DEADLINE_EXCEEDED`
pub(crate) const DEADLINE_EXCEEDED: u32 = 4;

/// `UNAVAILABLE`
pub(crate) const UNAVAILABLE: u32 = 14;

/// Whether it is a gRPC call: over HTTP/2, and not the dialect for browsers, which is ordinary HTTP.
pub(crate) fn is_call(version: Version, headers: &HeaderMap) -> bool {
    version == Version::HTTP_2 && is_message(headers)
}

/// Whether the body holds gRPC messages.
pub(crate) fn is_message(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    kind.strip_prefix(b"application/grpc")
        .is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

/// Whether a content type is that of gRPC messages.
pub(crate) fn names_messages(kind: &str) -> bool {
    kind.strip_prefix("application/grpc")
        .is_some_and(|rest| matches!(rest.chars().next(), None | Some('+' | ';')))
}

/// The deadline of a call: at most eight digits and a unit. What is none is no deadline, as if it were not there.
pub(crate) fn timeout(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(TIMEOUT)?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let value: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(value * 3600),
        "M" => Duration::from_secs(value * 60),
        "S" => Duration::from_secs(value),
        "m" => Duration::from_millis(value),
        "u" => Duration::from_micros(value),
        "n" => Duration::from_nanos(value),
        _ => return None,
    })
}

/// The deadline that a node is told: later than the caller's, which the proxy keeps itself. A node that ends a call at its
/// deadline in a way that the HTTP/2 library takes for an error would take all calls of the connection with it.
pub(crate) fn told_later(timeout: Duration) -> HeaderValue {
    let later = timeout + Duration::from_secs(1).max(timeout / 10);
    let millis = later.as_millis();
    let text = if millis < 100_000_000 {
        format!("{millis}m")
    } else {
        format!("{}S", later.as_secs().min(99_999_999))
    };
    // Digits and a letter are a header value.
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("99999999S"))
}

/// The status of a call that its server reset with that code (gRPC over HTTP/2, "HTTP2 Transport Mapping", "Errors").
pub(crate) fn status_of(code: h2::Reason) -> u32 {
    match code {
        h2::Reason::CANCEL => 1,
        h2::Reason::REFUSED_STREAM => UNAVAILABLE,
        h2::Reason::ENHANCE_YOUR_CALM => 8,
        h2::Reason::INADEQUATE_SECURITY => 7,
        _ => 13,
    }
}

/// The last word of a call that the proxy ends itself.
pub(crate) fn word(status: u32, message: &'static str) -> HeaderMap {
    let mut word = HeaderMap::with_capacity(2);
    word.insert(STATUS, status.into());
    word.insert(MESSAGE, HeaderValue::from_static(message));
    word
}

/// How a call ended, from its trailers or, where the answer has nothing else, from its head.
pub(crate) fn status(fields: &HeaderMap) -> Option<u32> {
    fields.get(STATUS)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn deadlines_are_read_in_every_unit() {
        let read = |value| timeout(&with(TIMEOUT, value));
        assert_eq!(read("50m"), Some(Duration::from_millis(50)));
        assert_eq!(read("1n"), Some(Duration::from_nanos(1)));
        assert_eq!(read("2H"), Some(Duration::from_secs(7200)));
        assert_eq!(read("99999999S"), Some(Duration::from_secs(99_999_999)));
        for none in ["", "m", "123456789m", "-1m", "1.5S", "1x", "5"] {
            assert_eq!(read(none), None, "{none}");
        }
    }

    #[test]
    fn the_node_is_told_a_later_deadline_in_eight_digits() {
        assert_eq!(told_later(Duration::from_millis(50)), "1050m");
        assert_eq!(told_later(Duration::from_secs(100)), "110000m");
        assert_eq!(told_later(Duration::from_secs(99_999_999)), "99999999S");
    }

    #[test]
    fn grpc_web_is_ordinary_http() {
        for (kind, is) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("application/grpc;x=y", true),
            ("application/grpc-web", false),
            ("application/json", false),
        ] {
            assert_eq!(is_call(Version::HTTP_2, &with(CONTENT_TYPE, kind)), is, "{kind}");
        }
        assert!(!is_call(Version::HTTP_11, &with(CONTENT_TYPE, "application/grpc")));
    }
}
