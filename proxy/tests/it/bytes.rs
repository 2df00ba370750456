//! What goes over the wire, byte for byte: the same for the client and for the primary, mirrored or not.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::calls;
use crate::support::{Kept, Proxy, config, echo, eventually, nobody, raw, write};

/// Reads a request, or an answer to `method`, to its end: by its length, its last chunk and trailers, or without a body.
async fn read_whole(stream: &mut (impl AsyncReadExt + Unpin), method: Option<&str>) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        if let Some(head) = all.windows(4).position(|window| window == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&all[..head]).to_ascii_lowercase();
            let body = &all[head + 4..];
            let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            let bodiless = method == Some("HEAD") || text.contains(" 204 ") || text.contains(" 304 ");
            let done = match (field("transfer-encoding:"), field("content-length:")) {
                _ if bodiless => true,
                (Some(_), _) => body.starts_with(b"0\r\n\r\n") || ends_chunks(body),
                (None, Some(length)) => body.len() >= length.parse().unwrap(),
                (None, None) => true,
            };
            if done {
                return all;
            }
        }
        match stream.read_u8().await {
            Ok(byte) => all.push(byte),
            Err(_) => return all,
        }
    }
}

fn ends_chunks(body: &[u8]) -> bool {
    let last = body.windows(5).position(|window| window == b"\r\n0\r\n");
    last.is_some() && body.ends_with(b"\r\n\r\n")
}

/// A primary that answers each request with `answer`, and keeps what it got.
async fn keeper(answer: &'static [u8]) -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = seen.clone();
    let address = raw(move |mut stream, _| {
        let kept = kept.clone();
        async move {
            loop {
                let request = read_whole(&mut stream, None).await;
                if request.is_empty() {
                    return;
                }
                kept.lock().unwrap().extend_from_slice(&request);
                stream.write_all(answer).await.unwrap();
            }
        }
    })
    .await;
    (address, seen)
}

async fn started(primary: SocketAddr, mirrored: bool) -> Proxy {
    let candidate = if mirrored { echo("b").await } else { nobody().await };
    let mut config = config(primary, candidate);
    if !mirrored {
        config.sampling.fraction = "0%".parse().unwrap();
    }
    Proxy::with(config, Kept::default()).await
}

/// What the client gets and what the primary gets; asserts that it was mirrored where it could be.
async fn seen(request: &str, answer: &'static [u8], mirrored: bool) -> (String, String) {
    let (primary, got) = keeper(answer).await;
    let proxy = started(primary, mirrored).await;
    let method = request.split(' ').next();
    let mut client = write(proxy.address, request.as_bytes()).await;
    let answer = read_whole(&mut client, method).await;
    drop(client);
    let expected = usize::from(mirrored && request.starts_with("POST"));
    assert_eq!(proxy.exchanges(expected).await.len(), expected);
    proxy.stop().await;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let got = text(&got.lock().unwrap());
    (text(&answer), got)
}

const PLAIN: &[u8] = b"HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nSet-Cookie: a=1\r\nX-Mixed-Case: 1\r\nset-cookie: b=2\r\nSet-Cookie: c=3\r\nContent-Length: 5\r\n\r\nhello";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\ntransfer-encoding: chunked\r\ntrailer: x-sum, x-end\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nx-sum: 1\r\nx-end: 2\r\n\r\n";
const MISSING: &[u8] = b"HTTP/1.1 404 Nowhere To Be Found\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\ncontent-length: 2\r\nwww-authenticate: Basic\r\nwww-authenticate: Bearer\r\n\r\nno";
const EMPTY: &[u8] = b"HTTP/1.1 204 No Content\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n";
const SERVER_ERROR: &[u8] = b"HTTP/1.1 503 Busy\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n";

#[tokio::test]
async fn every_byte_is_the_same_with_mirroring_on_and_off() {
    let requests = [
        "GET /a?b=%2F&c HTTP/1.1\r\nHost: h\r\nAccept: */*\r\naccept: x\r\nX-A: 1\r\n\r\n",
        "HEAD /a HTTP/1.1\r\nhost: h\r\n\r\n",
        "POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nX-Dup: 1\r\nCookie: a=1\r\nX-Dup: 2\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"in\": [1]}",
        "POST /empty HTTP/1.1\r\nhost: h\r\ncontent-length: 0\r\n\r\n",
        "POST /chunks HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\ntrailer: x-last\r\nte: trailers\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\nx-last: 1\r\n\r\n",
        "POST /traced HTTP/1.1\r\nhost: h\r\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\ntracestate: a=b\r\ncontent-length: 1\r\n\r\nx",
        "PUT /a HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\nhi",
    ];
    for request in requests {
        for answer in [PLAIN, CHUNKED, MISSING, EMPTY, SERVER_ERROR] {
            let (on, off) = tokio::join!(seen(request, answer, true), seen(request, answer, false));
            assert_eq!(on.0, off.0, "to the client of {request}");
            assert_eq!(on.1, off.1, "to the primary of {request}");
            assert!(!on.1.is_empty() && on.0.starts_with("HTTP/1.1 "), "{on:?}");
            assert!(!on.1.to_ascii_lowercase().contains("shadow"), "{}", on.1);
        }
    }
}

#[tokio::test]
async fn heads_keep_their_order_and_their_case_both_ways() {
    let request = "POST /a HTTP/1.1\r\nHost: h\r\nX-B: 2\r\nx-a: 1\r\nContent-Length: 1\r\n\r\nx";
    let (answer, got) = seen(request, PLAIN, true).await;
    assert_eq!(got, request);
    assert!(answer.contains("X-Mixed-Case: 1\r\n") && answer.ends_with("\r\n\r\nhello"), "{answer}");
    let cookies: Vec<&str> =
        answer.lines().filter(|line| line.to_lowercase().starts_with("set-cookie")).collect();
    assert_eq!(cookies.iter().map(|line| &line[12..]).collect::<Vec<_>>(), ["a=1", "b=2", "c=3"]);
    // Trailers go to those that ask for them (RFC 9110, section 6.5.1).
    let asks = request.replace("X-B: 2", "te: trailers");
    let (answer, _) = seen(&asks, CHUNKED, true).await;
    assert!(answer.ends_with("0\r\nx-sum: 1\r\nx-end: 2\r\n\r\n"), "{answer}");
}

/// Head, body and trailers of one message, as text.
type Said = (Vec<String>, bytes::Bytes, Vec<String>);

fn fields(headers: &HeaderMap) -> Vec<String> {
    let line = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        format!("{name}: {}", value.to_str().unwrap())
    };
    headers.iter().filter(|(name, _)| *name != "date").map(line).collect()
}

/// What the client and the primary get of one HTTP/2 request with trailers.
async fn seen_over_http2(mirrored: bool) -> (Said, Said) {
    let kept = Arc::new(Mutex::new(None));
    let keep = kept.clone();
    let (primary, _) = calls::serve(move |request: Request<hyper::body::Incoming>| {
        let keep = keep.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap();
            let mut head = vec![format!("{} {}", parts.method, parts.uri)];
            head.extend(fields(&parts.headers));
            let trailers = body.trailers().map(fields).unwrap_or_default();
            *keep.lock().unwrap() = Some((head, body.to_bytes(), trailers));
            let trailers = HeaderMap::from_iter([
                (http::HeaderName::from_static("x-sum"), "1".parse().unwrap()),
                (http::HeaderName::from_static("x-sum"), "2".parse().unwrap()),
            ]);
            let body = Full::new(bytes::Bytes::from_static(b"hello"))
                .with_trailers(async move { Some(Ok(trailers)) })
                .map_err(|never| match never {})
                .boxed();
            Response::builder()
                .status(299)
                .header("set-cookie", "a=1")
                .header("x-other", "1")
                .header("set-cookie", "b=2")
                .body(body)
                .unwrap()
        }
    })
    .await;
    let candidate = if mirrored { calls::echo().await } else { nobody().await };
    let mut config = config(primary, candidate);
    for target in [&mut config.primary, &mut config.shadows[0].target] {
        target.protocol = proxy::config::Protocol::Http2;
    }
    if !mirrored {
        config.sampling.fraction = "0%".parse().unwrap();
    }
    let proxy = Proxy::with(config, Kept::default()).await;
    let trailers = HeaderMap::from_iter([(http::HeaderName::from_static("x-last"), "1".parse().unwrap())]);
    let body = Full::new(bytes::Bytes::from_static(b"ask"))
        .with_trailers(async move { Some(Ok(trailers)) })
        .map_err(|never: std::convert::Infallible| match never {})
        .boxed();
    let request = Request::post("http://model.example/v2/models/m/infer?x=%2F")
        .header("x-dup", "1")
        .header("x-a", "a")
        .header("x-dup", "2")
        .body(body)
        .unwrap();
    let response = calls::connect(proxy.address).await.send_request(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap();
    let mut head = vec![parts.status.to_string()];
    head.extend(fields(&parts.headers));
    let trailers = body.trailers().map(fields).unwrap_or_default();
    let said = (head, body.to_bytes(), trailers);
    let wanted = usize::from(mirrored);
    assert_eq!(proxy.exchanges(wanted).await.len(), wanted);
    proxy.stop().await;
    let got = eventually(|| kept.lock().unwrap().take()).await;
    (said, got)
}

#[tokio::test]
async fn over_http2_too_all_is_the_same_with_mirroring_on_and_off() {
    let (on, off) = (seen_over_http2(true).await, seen_over_http2(false).await);
    assert_eq!(on, off);
    let ((head, body, trailers), (asked, sent, last)) = on;
    assert_eq!(
        (head[0].as_str(), &body[..], trailers),
        ("299 <unknown status code>", &b"hello"[..], vec!["x-sum: 1".into(), "x-sum: 2".into()])
    );
    assert!(head.contains(&"set-cookie: a=1".to_owned()) && head.contains(&"set-cookie: b=2".to_owned()));
    assert_eq!(
        (asked[0].as_str(), &sent[..], last),
        ("POST http://model.example/v2/models/m/infer?x=%2F", &b"ask"[..], vec!["x-last: 1".into()])
    );
    assert!(asked.contains(&"x-dup: 1".to_owned()) && asked.contains(&"x-dup: 2".to_owned()), "{asked:?}");
}
