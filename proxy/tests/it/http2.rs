//! HTTP/2: changes under a connection that lives, what the authority says on each leg, and the dialect of gRPC for browsers.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use exchange::{Item, Outcome};
use http::{Request, Response};
use http_body_util::BodyExt;
use proxy::config::{HostPolicy, Protocol};
use tokio::sync::Semaphore;

use crate::calls::{connect, message, serve};
use crate::support::{Body, Kept, Proxy, config, echo, eventually, full, send};

fn post(address: SocketAddr, path: &str, body: impl Into<Bytes>) -> Request<Body> {
    Request::post(format!("http://{address}{path}")).body(full(body)).unwrap()
}

async fn set_sample(proxy: &Proxy, sample: &str) {
    let request =
        Request::put("/sampling").header("host", "127.0.0.1").header("content-type", "application/json");
    let change = format!("{{\"sample\": \"{sample}\"}}");
    assert_eq!(send(proxy.admin, request.body(full(change)).unwrap()).await.status, 200);
}

#[tokio::test]
async fn a_change_of_the_sampling_is_in_force_for_the_next_stream_and_touches_none_that_is_under_way() {
    let (begun, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (tell, wait) = (begun.clone(), go.clone());
    let primary = crate::support::serve(move |request| {
        let (tell, wait) = (tell.clone(), wait.clone());
        async move {
            if request.uri().path() == "/held" {
                tell.add_permits(1);
                wait.acquire().await.unwrap().forget();
            }
            let body = request.into_body().collect().await.unwrap().to_bytes();
            Response::new(full(body))
        }
    })
    .await;
    let mut config = config(primary, echo("b").await);
    config.sampling.fraction = "0%".parse().unwrap();
    let proxy = Proxy::with(config, Kept::default()).await;
    let mut client = connect(proxy.address).await;
    let held = tokio::spawn(client.send_request(post(proxy.address, "/held", "held")));
    begun.acquire().await.unwrap().forget();
    for (sample, body) in [("0%", "off"), ("100%", "on 0"), ("100%", "on 1"), ("0%", "off again")] {
        set_sample(&proxy, sample).await;
        let answer = client.send_request(post(proxy.address, "/", body)).await.expect("the connection lives");
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), body);
    }
    go.add_permits(1);
    let answer = held.await.unwrap().unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "held");
    assert!(!client.is_closed());
    let (ledger, kept) = proxy.stop().await;
    let exchanges = kept.exchanges();
    let bodies: BTreeSet<&[u8]> = exchanges.iter().map(|exchange| &exchange.request.body.bytes[..]).collect();
    assert_eq!(bodies, [&b"on 0"[..], b"on 1"].into());
    let connections: BTreeSet<u64> =
        exchanges.iter().map(|exchange| exchange.request.client_connection).collect();
    assert_eq!((connections, ledger.total(|item| item == Item::Mirrored)), ([1].into(), 2));
}

/// A server over HTTP/2 that answers with the authority and the host that it was asked for.
async fn tells_authority() -> SocketAddr {
    serve(|request: Request<hyper::body::Incoming>| async move {
        let authority = request.uri().authority().map(ToString::to_string);
        Response::new(full(format!("{authority:?} {:?}", request.headers().get("host"))))
    })
    .await
    .0
}

#[tokio::test]
async fn the_authority_of_each_leg_is_what_its_policy_says() {
    let policies =
        || [HostPolicy::Preserve, HostPolicy::Node, HostPolicy::Fixed("fixed.test:81".parse().unwrap())];
    for of_primary in policies() {
        for of_shadow in policies() {
            let (primary, candidate) = (tells_authority().await, tells_authority().await);
            let mut config = config(primary, candidate);
            for (target, policy) in
                [(&mut config.primary, &of_primary), (&mut config.shadows[0].target, &of_shadow)]
            {
                (target.protocol, target.host) = (Protocol::Http2, policy.clone());
            }
            let proxy = Proxy::with(config, Kept::default()).await;
            let wanted = |policy: &HostPolicy, node: SocketAddr| {
                let authority = match policy {
                    HostPolicy::Preserve => "asked.test".to_owned(),
                    HostPolicy::Node => node.to_string(),
                    HostPolicy::Fixed(name) => name.to_string(),
                };
                format!("{:?} None", Some(authority))
            };
            let over_http2 = Request::post("http://asked.test/").body(full("x")).unwrap();
            let answer = connect(proxy.address).await.send_request(over_http2).await.unwrap();
            let seen = answer.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(seen, wanted(&of_primary, primary));
            let over_http1 = Request::post("/").header("host", "asked.test").body(full("x")).unwrap();
            assert_eq!(send(proxy.address, over_http1).await.body, wanted(&of_primary, primary));
            for exchange in proxy.exchanges(2).await {
                assert_eq!(exchange.shadow.body.bytes, wanted(&of_shadow, candidate));
            }
            proxy.stop().await;
        }
    }
}

/// An answer of the dialect for browsers: a message, and the trailers as a frame of the body.
fn web_answer() -> Bytes {
    let trailers = b"grpc-status: 0\r\ngrpc-message: \r\n";
    let mut body = BytesMut::from(&message(b"out")[..]);
    body.put_u8(0x80);
    body.put_u32(trailers.len() as u32);
    body.extend_from_slice(trailers);
    body.freeze()
}

#[tokio::test]
async fn grpc_web_passes_unchanged_and_is_copied_like_any_request() {
    for kind in ["application/grpc-web", "application/grpc-web+proto", "application/grpc-web-text"] {
        let node = || {
            crate::support::serve(|request| async move {
                let (parts, body) = request.into_parts();
                let sent = body.collect().await.unwrap().to_bytes();
                Response::builder()
                    .header("content-type", parts.headers["content-type"].clone())
                    .header("x-sent", format!("{} {sent:?}", parts.headers["x-grpc-web"].to_str().unwrap()))
                    .body(full(web_answer()))
                    .unwrap()
            })
        };
        let (primary, candidate) = (node().await, node().await);
        let proxy = Proxy::start(primary, candidate).await;
        let ask = |request: http::request::Builder| {
            let request = request.header("content-type", kind).header("x-grpc-web", "1");
            request.body(full(message(b"in"))).unwrap()
        };
        let path = crate::calls::INFER;
        let direct = send(primary, ask(Request::post(path).header("host", "t"))).await;
        assert_eq!(direct.body, web_answer());
        let one = send(proxy.address, ask(Request::post(path).header("host", "t"))).await;
        assert_eq!((one.status, &one.body), (direct.status, &direct.body), "{kind}");
        assert_eq!(
            (&one.headers["x-sent"], &one.headers["content-type"]),
            (&direct.headers["x-sent"], &kind.to_owned())
        );
        // A browser speaks HTTP/2 to the proxy: still no call, so that its node is asked over HTTP/1.1.
        let over_http2 = ask(Request::post(format!("http://{}{path}", proxy.address)));
        let answer = connect(proxy.address).await.send_request(over_http2).await.unwrap();
        assert_eq!(answer.headers()["x-sent"], direct.headers["x-sent"].as_str());
        let body = answer.into_body().collect().await.unwrap();
        assert!(body.trailers().is_none(), "{kind}");
        assert_eq!(body.to_bytes(), web_answer());
        for exchange in proxy.exchanges(2).await {
            assert_eq!(exchange.request.body.bytes, message(b"in"));
            for leg in [&exchange.primary, &exchange.shadow] {
                assert_eq!((leg.outcome, leg.status), (Outcome::Answered, Some(200)), "{}", leg.reason);
                assert_eq!(leg.body.bytes, web_answer());
            }
        }
        let (ledger, _) = proxy.stop().await;
        assert_eq!(ledger.total(|item| item == Item::Mirrored), 2);
    }
}

#[tokio::test]
async fn a_grpc_web_answer_that_streams_reaches_the_client_before_its_end() {
    let go = Arc::new(Semaphore::new(0));
    let wait = go.clone();
    let primary = crate::support::serve(move |_| {
        let wait = wait.clone();
        async move {
            let (mut sending, body) = crate::calls::pieces();
            tokio::spawn(async move {
                sending.send_data(message(b"first")).await.unwrap();
                wait.acquire().await.unwrap().forget();
                sending.send_data(web_answer()).await.unwrap();
            });
            Response::builder().header("content-type", "application/grpc-web").body(body).unwrap()
        }
    })
    .await;
    let proxy = Proxy::start(primary, echo("b").await).await;
    let mut request = post(proxy.address, crate::calls::INFER, message(b"in"));
    request.headers_mut().insert("content-type", "application/grpc-web".parse().unwrap());
    let answer = connect(proxy.address).await.send_request(request).await.unwrap();
    let mut body = answer.into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), message(b"first"));
    go.add_permits(1);
    assert_eq!(body.collect().await.unwrap().to_bytes(), web_answer());
    let whole: Bytes = [message(b"first"), web_answer()].concat().into();
    let exchange = eventually(|| proxy.kept.exchanges().pop()).await;
    assert_eq!((exchange.primary.outcome, exchange.primary.body.bytes), (Outcome::Answered, whole));
    proxy.stop().await;
}
