//! Which headers go on, and which are recorded.

use exchange::Pairs;
use http::header::{CONNECTION, EXPECT, HeaderName, PROXY_AUTHENTICATE, TE, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderValue};

/// What replaces a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// Removes the headers that belong to one connection (RFC 9110, section 7.6.1) and those that `Connection` names.
/// `TE: trailers` stays, and `Expect` goes: the proxy answers it itself.
pub(crate) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let trailers = headers.get(TE).is_some_and(|te| te.as_bytes().eq_ignore_ascii_case(b"trailers"));
    for name in named {
        headers.remove(name);
    }
    let fixed = [CONNECTION, TRANSFER_ENCODING, UPGRADE, EXPECT, TE, PROXY_AUTHENTICATE];
    for name in fixed {
        headers.remove(name);
    }
    headers.remove("keep-alive");
    headers.remove("proxy-connection");
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

/// Says which values are secret and must reach no record.
#[derive(Debug, Clone)]
pub(crate) struct Redaction {
    more: Vec<String>,
}

/// Parts of names that mark a secret, in lower case.
const MARKS: [&str; 12] = [
    "authorization",
    "cookie",
    "token",
    "secret",
    "password",
    "passwd",
    "api-key",
    "api_key",
    "apikey",
    "credential",
    "signature",
    "session",
];

impl Redaction {
    pub(crate) fn new(more: &[String]) -> Self {
        Self { more: more.iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    fn secret(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        MARKS.iter().any(|mark| name.contains(mark))
            || self.more.contains(&name)
            || name == "key"
            || name == "sig"
    }

    /// Headers as they are recorded.
    pub(crate) fn headers(&self, headers: &HeaderMap) -> Pairs {
        let one = |(name, value): (&HeaderName, &HeaderValue)| {
            let value = if value.is_sensitive() || self.secret(name.as_str()) {
                REDACTED.to_owned()
            } else {
                String::from_utf8_lossy(value.as_bytes()).into_owned()
            };
            (name.as_str().to_owned(), value)
        };
        headers.iter().map(one).collect()
    }

    /// A query string as it is recorded.
    pub(crate) fn query(&self, query: &str) -> String {
        let one = |pair: &str| match pair.split_once('=') {
            Some((name, _)) if self.secret(name) => format!("{name}={REDACTED}"),
            _ => pair.to_owned(),
        };
        query.split('&').map(one).collect::<Vec<_>>().join("&")
    }
}

/// The client's own id of a request.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    ["x-request-id", "x-correlation-id", "ce-id"]
        .into_iter()
        .find_map(|name| headers.get(name))
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
}

/// The trace id of a `traceparent` header (W3C Trace Context, section 3.2.2.3).
pub(crate) fn trace_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("traceparent")?.to_str().ok()?.split('-').nth(1)?;
    (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(headers, map(&[("x-trace", "abc"), ("content-length", "3"), ("te", "trailers")]));
    }

    #[test]
    fn secrets_are_recorded_by_name_only() {
        let redaction = Redaction::new(&["X-Patient".into()]);
        let headers = map(&[
            ("authorization", "Bearer sk-test"),
            ("set-cookie", "a=b"),
            ("x-api-key", "k"),
            ("x-auth-token", "t"),
            ("x-patient", "Jane"),
            ("content-type", "application/json"),
        ]);
        let text = format!("{:?}", redaction.headers(&headers));
        for secret in ["sk-test", "a=b", "\"k\"", "\"t\"", "Jane"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        assert!(text.contains("application/json"));
        assert_eq!(
            redaction.query("a=1&api_key=k&X-Amz-Signature=s&b"),
            "a=1&api_key=[redacted]&X-Amz-Signature=[redacted]&b"
        );
    }

    #[test]
    fn ids_are_those_of_the_client() {
        let headers = map(&[
            ("x-request-id", "r-1"),
            ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ]);
        assert_eq!(request_id(&headers).as_deref(), Some("r-1"));
        assert_eq!(trace_id(&headers).as_deref(), Some("0af7651916cd43dd8448eb211c80319c"));
        assert_eq!(trace_id(&map(&[("traceparent", "00-xyz-1-01")])), None);
    }
}
