//! Which node a request goes to, and as which host.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use proxy::config::{Balance, Ejection, HostPolicy};
use tokio::sync::Semaphore;

use crate::calls::{self, connect};
use crate::support::{Kept, Proxy, breaks, config, echo, eventually, full, nobody, send, serve};

#[tokio::test]
async fn a_node_that_keeps_failing_is_passed_over_for_its_time() {
    let (breaks, asked) = breaks().await;
    for of_shadow in [false, true] {
        asked.store(0, Ordering::SeqCst);
        let (good, other) = (echo("good").await, echo("other").await);
        let mut config = if of_shadow { config(other, breaks) } else { config(breaks, other) };
        let target = if of_shadow { &mut config.shadows[0].target } else { &mut config.primary };
        target.nodes.push(good.to_string().parse().unwrap());
        target.eject = Some(Ejection { failures: 3, time: Duration::from_secs(600) });
        let proxy = Proxy::with(config, Kept::default()).await;
        let mut failed = 0;
        for number in 1..=20 {
            failed += usize::from(proxy.post("/", "x").await.status == 502);
            proxy.exchanges(number).await;
        }
        assert_eq!((failed, asked.load(Ordering::SeqCst)), (if of_shadow { 0 } else { 3 }, 3));
        proxy.stop().await;
    }
}

/// A server whose answers each need one of `go`; how many requests it has begun.
async fn held(go: &Arc<Semaphore>) -> (SocketAddr, Arc<AtomicUsize>) {
    let (go, begun) = (go.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = begun.clone();
    let address = serve(move |_| {
        let (go, counted) = (go.clone(), counted.clone());
        async move {
            counted.fetch_add(1, Ordering::SeqCst);
            go.acquire().await.unwrap().forget();
            Response::new(full("ok"))
        }
    })
    .await;
    (address, begun)
}

#[tokio::test]
async fn of_two_nodes_the_one_with_less_to_do_gets_the_request() {
    let (stuck, free) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(1000)));
    let ((slow, slow_begun), (quick, quick_begun)) = (held(&stuck).await, held(&free).await);
    let mut config = config(slow, nobody().await);
    config.primary.nodes.push(quick.to_string().parse().unwrap());
    config.primary.balance = Balance::LeastOfTwo;
    let proxy = Proxy::with(config, Kept::default()).await;
    // One after the other until the stuck node has one under way: from then on it has more to do than the other.
    let mut waiting = Vec::new();
    while slow_begun.load(Ordering::SeqCst) == 0 {
        let before = quick_begun.load(Ordering::SeqCst);
        let request = Request::post("/").header("host", "t").body(full("x")).unwrap();
        waiting.push(tokio::spawn(send(proxy.address, request)));
        eventually(|| {
            let begun = slow_begun.load(Ordering::SeqCst) + quick_begun.load(Ordering::SeqCst) - before;
            (begun > 0).then_some(())
        })
        .await;
    }
    for _ in 0..50 {
        assert_eq!(proxy.post("/", "x").await.status, 200);
    }
    assert_eq!(slow_begun.load(Ordering::SeqCst), 1);
    stuck.add_permits(1);
    for request in waiting {
        assert_eq!(request.await.unwrap().status, 200);
    }
    proxy.stop().await;
}

/// A server of HTTP/2 that answers with the authority it was asked as.
async fn authority() -> SocketAddr {
    calls::serve(|request| async move {
        let authority = request.uri().authority().map(ToString::to_string);
        let host = request.headers().get("host").map(|host| host.to_str().unwrap().to_owned());
        Response::new(full(format!("{} {}", authority.unwrap_or_default(), host.unwrap_or_default())))
    })
    .await
    .0
}

#[tokio::test]
async fn each_leg_is_asked_as_the_host_that_its_policy_says_over_http2() {
    let (primary, candidate) = (authority().await, authority().await);
    let fixed = HostPolicy::Fixed("model.internal".parse().unwrap());
    for (policy, wanted) in [
        (HostPolicy::Preserve, "asked.example".to_owned()),
        (HostPolicy::Node, candidate.to_string()),
        (fixed, "model.internal".to_owned()),
    ] {
        let mut config = config(primary, candidate);
        config.primary.protocol = proxy::config::Protocol::Http2;
        config.shadows[0].target.protocol = proxy::config::Protocol::Http2;
        config.shadows[0].target.host = policy;
        let proxy = Proxy::with(config, Kept::default()).await;
        let mut caller = connect(proxy.address).await;
        let request = Request::post("http://asked.example/v2/models/m/infer").body(full("x")).unwrap();
        let answer = caller.send_request(request).await.unwrap().into_body().collect().await.unwrap();
        assert_eq!(answer.to_bytes(), "asked.example ");
        // HTTP/1.1 clients name it in a header.
        let request = Request::post("/v2/models/m/infer").header("host", "asked.example").body(full("x"));
        assert_eq!(send(proxy.address, request.unwrap()).await.body, "asked.example ");
        for exchange in proxy.exchanges(2).await {
            assert_eq!(String::from_utf8_lossy(&exchange.shadow.body.bytes), format!("{wanted} "));
        }
        proxy.stop().await;
    }
}

#[tokio::test]
async fn grpc_web_goes_through_as_it_is() {
    let seen = || async {
        serve(|request| async move {
            let media_type = request.headers()["content-type"].clone();
            let body = request.into_body().collect().await.unwrap().to_bytes();
            Response::builder().header("content-type", media_type).body(full(body)).unwrap()
        })
        .await
    };
    let proxy = Proxy::start(seen().await, seen().await).await;
    // A message, and trailers as one: HTTP/1.1, as browsers send it.
    let body = [&b"\0\0\0\0\x02hi"[..], b"\x80\0\0\0\x0fgrpc-status: 0\r\n"].concat();
    for media_type in ["application/grpc-web+proto", "application/grpc-web-text"] {
        let request = Request::post("/inference.GRPCInferenceService/ModelInfer")
            .header("host", "t")
            .header("content-type", media_type)
            .header("x-grpc-web", "1")
            .body(full(body.clone()))
            .unwrap();
        let answer = send(proxy.address, request).await;
        assert_eq!((answer.status, &answer.body[..]), (200, &body[..]), "{media_type}");
        assert_eq!(answer.headers["content-type"], media_type);
    }
    for exchange in proxy.exchanges(2).await {
        for leg in [&exchange.primary, &exchange.shadow] {
            assert_eq!((leg.outcome, &leg.body.bytes[..]), (exchange::Outcome::Answered, &body[..]));
        }
    }
    proxy.stop().await;
}
