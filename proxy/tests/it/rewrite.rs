//! What a shadow is sent in place of the client's own words, while the primary and the record have those.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use proxy::config::Rewrite;
use proxy::config::rewrite::Model;
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Kept, Proxy, config, full, send};

/// A request as a server got it.
#[derive(Debug, Clone)]
struct Got {
    path: String,
    version: Version,
    headers: HeaderMap,
    body: Bytes,
}

type Seen = Arc<Mutex<Vec<Got>>>;

/// Starts a server of HTTP/1.1 and HTTP/2 that keeps what it gets.
async fn keeper() -> (std::net::SocketAddr, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Seen::default();
    let kept = seen.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let kept = kept.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let kept = kept.clone();
                async move {
                    let (parts, body) = request.into_parts();
                    let body = body.collect().await.unwrap().to_bytes();
                    let path = parts.uri.path_and_query().unwrap().to_string();
                    let got = Got { path, version: parts.version, headers: parts.headers, body };
                    kept.lock().unwrap().push(got);
                    Ok::<_, std::convert::Infallible>(Response::new(Full::new(Bytes::from_static(b"{}"))))
                }
            });
            tokio::spawn(async move {
                let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    (address, seen)
}

fn only(seen: &Seen) -> Got {
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 1);
    seen[0].clone()
}

/// A proxy whose candidate has the model `a` as `longer`, and what its servers got.
async fn start() -> (Proxy, Seen, Seen) {
    let ((primary, at_primary), (candidate, at_candidate)) = (keeper().await, keeper().await);
    let mut config = config(primary, candidate);
    let mut authorization = HeaderValue::from_static("Bearer candidate");
    authorization.set_sensitive(true);
    config.shadows[0].target.rewrite = Rewrite {
        authorization: Some(authorization),
        remove_headers: vec![HeaderName::from_static("x-debug")],
        add_prefix: "/canary".into(),
        models: [("a".into(), Model { name: "longer".into(), version: None })].into(),
        ..Rewrite::of_copies()
    };
    (Proxy::with(config, Kept::default()).await, at_primary, at_candidate)
}

#[tokio::test]
async fn the_copy_is_changed_and_nothing_else_is() {
    let (proxy, at_primary, at_candidate) = start().await;
    let body = r#"{"model":"a","messages":[]}"#;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let request = Request::post("/v2/models/a/infer?x=1")
        .header("host", "test")
        .header("authorization", "Bearer client")
        .header("idempotency-key", "k")
        .header("x-debug", "1")
        .header("traceparent", trace)
        .body(full(body))
        .unwrap();
    send(proxy.address, request).await;
    let exchange = proxy.exchanges(1).await.pop().unwrap();
    assert_eq!(exchange.shadow.status, Some(200));

    let primary = only(&at_primary);
    assert_eq!((primary.path.as_str(), &primary.body[..]), ("/v2/models/a/infer?x=1", body.as_bytes()));
    let value = |got: &Got, name: &str| got.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    for (name, sent) in [("authorization", "Bearer client"), ("idempotency-key", "k"), ("traceparent", trace)]
    {
        assert_eq!(value(&primary, name).as_deref(), Some(sent));
    }
    assert_eq!(value(&primary, "x-shadowdiff-shadow"), None);

    let copy = only(&at_candidate);
    assert_eq!(copy.path, "/canary/v2/models/longer/infer?x=1");
    assert_eq!(copy.body, r#"{"model":"longer","messages":[]}"#);
    for (name, sent) in [
        ("authorization", Some("Bearer candidate")),
        ("idempotency-key", Some("k-shadow")),
        ("traceparent", Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")),
        ("x-debug", None),
        ("x-shadowdiff-shadow", Some("1")),
        ("content-length", Some("32")),
    ] {
        assert_eq!(value(&copy, name).as_deref(), sent, "{name}");
    }

    assert_eq!(
        (exchange.request.path.as_str(), &exchange.request.body.bytes[..]),
        ("/v2/models/a/infer", body.as_bytes())
    );
    let published = String::from_utf8_lossy(&proxy.kept.bytes()).into_owned();
    assert!(!published.contains("Bearer"), "{published}");
}

#[tokio::test]
async fn the_messages_of_a_grpc_call_name_the_other_model() {
    let (proxy, at_primary, at_candidate) = start().await;
    let message = |name: &str| {
        let mut message = vec![0x0a, u8::try_from(name.len()).unwrap()];
        message.extend_from_slice(name.as_bytes());
        message.extend_from_slice(&[0x3a, 3, 1, 2, 3]);
        [&[0, 0, 0, 0, u8::try_from(message.len()).unwrap()], &message[..]].concat()
    };
    let stream = TcpStream::connect(proxy.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::post("http://test/inference.GRPCInferenceService/ModelInfer")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(full([message("a"), message("b")].concat()))
        .unwrap();
    sender.send_request(request).await.unwrap();
    proxy.exchanges(1).await;
    assert_eq!(only(&at_primary).body, [message("a"), message("b")].concat());
    let copy = only(&at_candidate);
    assert_eq!(
        (copy.version, &copy.body[..]),
        (Version::HTTP_2, &[message("longer"), message("b")].concat()[..])
    );
}
