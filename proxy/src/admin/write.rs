//! Changes asked for on the admin port: who may ask, and how.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use serde_json::json;

use crate::config::Update;
use crate::control::{ChangeError, Control};
use crate::reply::{Reply, json};

/// Bytes of a change.
const MAX_BYTES: usize = 64 << 10;

/// How long it may take to come.
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers `PUT /sampling`.
pub(super) async fn sampling(control: &Control, request: Request<Incoming>) -> Response<Reply> {
    if let Err((status, error)) = allowed(request.headers()) {
        return refuse(status, error);
    }
    let reading = Limited::new(request.into_body(), MAX_BYTES).collect();
    let body = match tokio::time::timeout(PATIENCE, reading).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => {
            return refuse(
                StatusCode::PAYLOAD_TOO_LARGE,
                &format!("send a whole body of at most {MAX_BYTES} bytes"),
            );
        }
        Err(_) => return refuse(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"),
    };
    match change(control, &body) {
        Ok(()) => json(StatusCode::OK, &control.describe()),
        Err((status, error)) => refuse(status, &error),
    }
}

fn change(control: &Control, body: &Bytes) -> Result<(), (StatusCode, String)> {
    let bad = |error: serde_json::Error| (StatusCode::BAD_REQUEST, error.to_string());
    // An object: a list would be read by position.
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(body).map_err(bad)?;
    let update: Update = serde_json::from_value(fields.into()).map_err(bad)?;
    control.update(&update).map_err(|error: ChangeError| {
        let status = if error.is_conflict() { StatusCode::CONFLICT } else { StatusCode::BAD_REQUEST };
        (status, error.to_string())
    })
}

fn refuse(status: StatusCode, error: &str) -> Response<Reply> {
    json(status, &json!({"error": error}))
}

/// Refuses what a page of another site can make a browser send. A browser names the page's origin with each write, and asks before it sends
/// JSON to another origin, to which this port never says yes; and a name that another site has pointed at this machine (DNS rebinding) is no
/// address and not `localhost`.
fn allowed(headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
    let json = |value: &str| {
        value.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    };
    if !text(headers, CONTENT_TYPE).is_some_and(json) {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "send content-type: application/json"));
    }
    let elsewhere = (StatusCode::FORBIDDEN, "a page of another origin may not change anything here");
    if headers.contains_key(ORIGIN) {
        let host = text(headers, HOST).filter(|host| own_name(host));
        let from = text(headers, ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
        if host.is_none() || host != from {
            return Err(elsewhere);
        }
    }
    match text(headers, "sec-fetch-site") {
        None if headers.contains_key("sec-fetch-site") => Err(elsewhere),
        Some(site) if site != "same-origin" && site != "none" => Err(elsewhere),
        _ => Ok(()),
    }
}

fn own_name(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

fn text(headers: &HeaderMap, name: impl http::header::AsHeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    fn status(pairs: &[(&'static str, &'static str)]) -> Option<u16> {
        let headers = pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        allowed(&headers).err().map(|(status, _)| status.as_u16())
    }

    #[test]
    fn a_tool_may_write_and_a_page_of_another_site_may_not() {
        let json = ("content-type", "application/json");
        let here = ("host", "127.0.0.1:9901");
        assert_eq!(status(&[json, ("host", "proxy-1.internal:9901")]), None, "curl by name");
        assert_eq!(status(&[("content-type", "application/json; charset=utf-8"), here]), None);
        assert_eq!(
            status(&[json, here, ("origin", "http://127.0.0.1:9901"), ("sec-fetch-site", "same-origin")]),
            None
        );
        assert_eq!(status(&[json, ("host", "[::1]:9901"), ("origin", "http://[::1]:9901")]), None);
        assert_eq!(status(&[json, ("host", "localhost:9901"), ("origin", "http://localhost:9901")]), None);
        for headers in [
            &[json, here, ("origin", "https://evil.example")][..],
            &[json, here, ("origin", "null")],
            &[json, here, ("origin", "http://127.0.0.1:3000")],
            &[json, ("origin", "http://127.0.0.1:9901")],
            &[json, here, ("sec-fetch-site", "cross-site")],
            &[json, here, ("sec-fetch-site", "same-site")],
            // The name of a site that has been pointed at this machine.
            &[json, ("host", "evil.example:9901"), ("origin", "http://evil.example:9901")],
        ] {
            assert_eq!(status(headers), Some(403), "{headers:?}");
        }
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""] {
            assert_eq!(status(&[("content-type", kind), here]), Some(415), "{kind}");
        }
        assert_eq!(status(&[here]), Some(415));
    }
}
