//! Connections to nodes: what may be sent once more, what is put back for the next request, how many there are.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use exchange::Outcome;
use futures_util::future::join_all;
use http::Request;
use http_body_util::BodyExt;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::calls::{
    INFER, call, connect, echo as grpc_echo, message, ok, outcome, pieces, serve, streamed, unary,
};
use crate::support::{Kept, Proxy, breaks, config, echo, eventually, full, hang, raw, read_message, send};

#[tokio::test]
async fn what_a_server_sends_after_an_answer_without_a_body_is_nobodys_answer() {
    for (method, status) in
        [("HEAD", "405 Method Not Allowed"), ("GET", "204 No Content"), ("GET", "304 Not Modified")]
    {
        let node = raw(move |mut stream, _| async move {
            let asked = read_message(&mut stream).await;
            let answer = if asked.windows(6).any(|window| window == b"/other") {
                "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nmine".to_owned()
            } else {
                format!("HTTP/1.1 {status}\r\n\r\n")
            };
            stream.write_all(answer.as_bytes()).await.unwrap();
            // The body, late, of the answer that has none.
            if !read_message(&mut stream).await.is_empty() {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\npoisoned").await;
            }
        })
        .await;
        let proxy = Proxy::start(node, echo("b").await).await;
        let first =
            Request::builder().method(method).uri("/health").header("host", "test").body(full("")).unwrap();
        let answer = send(proxy.address, first).await;
        assert_eq!(answer.status.to_string(), status[..3]);
        let next = Request::get("/other").header("host", "test").body(full("")).unwrap();
        assert_eq!(send(proxy.address, next).await.body, "mine", "after {method} with {status}");
        proxy.stop().await;
    }
}

/// A gRPC server that resets each call with that code; the second value counts the calls.
async fn resets(code: h2::Reason) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let counted = counted.clone();
            let service = service_fn(move |_| {
                counted.fetch_add(1, Ordering::SeqCst);
                async move { Err::<http::Response<crate::support::Body>, _>(h2::Error::from(code)) }
            });
            let http2 = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(http2.serve_connection(TokioIo::new(stream), service));
        }
    });
    (address, calls)
}

#[tokio::test]
async fn a_call_that_its_node_resets_is_sent_again_only_when_the_node_refused_to_look_at_it() {
    use h2::Reason;
    // Code, times that a node sees the call, and what the caller is told.
    let cases = [
        (Reason::CANCEL, 1, "1"),
        (Reason::INTERNAL_ERROR, 1, "13"),
        (Reason::ENHANCE_YOUR_CALM, 1, "8"),
        (Reason::REFUSED_STREAM, 2, "14"),
    ];
    for (code, times, status) in cases {
        let (node, calls) = resets(code).await;
        let proxy = Proxy::with(config(node, grpc_echo().await), Kept::default()).await;
        let response = connect(proxy.address).await.send_request(unary(proxy.address, b"in")).await.unwrap();
        assert_eq!(outcome(response).await.0, status, "{code:?}");
        assert_eq!(calls.load(Ordering::SeqCst), times, "{code:?}");
        let leg = proxy.exchanges(1).await[0].primary.clone();
        assert_eq!((leg.outcome, leg.attempts as usize), (Outcome::Reset, times), "{code:?}: {}", leg.reason);
        proxy.stop().await;
    }
}

#[tokio::test]
async fn a_request_that_breaks_a_new_connection_is_not_sent_again() {
    let (node, seen) = breaks().await;
    let proxy = Proxy::start(node, echo("b").await).await;
    assert_eq!(proxy.post("/", "deadly").await.status, 502);
    assert_eq!(seen.load(Ordering::SeqCst), 1);
    let leg = proxy.exchanges(1).await[0].primary.clone();
    assert_eq!((leg.outcome, leg.attempts), (Outcome::Reset, 1));
    proxy.stop().await;
}

#[tokio::test]
async fn a_chunked_answer_with_a_length_beside_it_arrives_whole() {
    for length in [2, 5, 900] {
        let node = raw(move |mut stream, _| async move {
            let _ = read_message(&mut stream).await;
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\ntransfer-encoding: chunked\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(b"5\r\nwhole\r\n0\r\n\r\n").await.unwrap();
            let _ = stream.read(&mut [0; 64]).await;
        })
        .await;
        let proxy = Proxy::start(node, echo("b").await).await;
        assert_eq!(proxy.post("/", "x").await.body, "whole", "beside a length of {length}");
        let mut http2 = connect(proxy.address).await;
        let request = Request::post(format!("http://{}/", proxy.address)).body(full("x")).unwrap();
        let answer = http2.send_request(request).await.unwrap().into_body().collect().await.unwrap();
        assert_eq!(answer.to_bytes(), "whole", "over HTTP/2, beside a length of {length}");
        proxy.stop().await;
    }
}

#[tokio::test]
async fn calls_to_a_node_that_takes_no_connection_fail_together() {
    const CALLS: usize = 12;
    // A listener whose queue is full: the next connections get no word.
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    listener.listen(0).unwrap();
    let node = listener.local_addr().unwrap().as_socket().unwrap();
    let _first = tokio::net::TcpStream::connect(node).await.unwrap();
    let mut config = config(node, grpc_echo().await);
    let within = Duration::from_secs(1);
    config.primary.connect_timeout = within;
    config.primary.eject = None;
    let proxy = Proxy::with(config, Kept::default()).await;
    let mut sender = connect(proxy.address).await;
    let calls: Vec<_> =
        (0..CALLS).map(|_| tokio::spawn(sender.send_request(unary(proxy.address, b"in")))).collect();
    // One after the other they would take that long each, which the last would not wait for.
    let all =
        tokio::time::timeout(within * (CALLS as u32 - 2), join_all(calls)).await.expect("all fail in time");
    for response in all {
        assert_eq!(outcome(response.unwrap().unwrap()).await.0, "14");
    }
    proxy.stop().await;
}

const SHORT: Duration = Duration::from_millis(100);

#[tokio::test]
async fn the_time_to_the_first_byte_begins_when_the_upload_has_ended() {
    let mut config = config(echo("a").await, echo("b").await);
    config.primary.first_byte_timeout = Some(SHORT);
    config.shadows[0].target.first_byte_timeout = Some(SHORT);
    let proxy = Proxy::with(config, Kept::default()).await;
    let (mut body, rest) = pieces();
    let upload =
        tokio::spawn(send(proxy.address, Request::post("/").header("host", "test").body(rest).unwrap()));
    body.send_data(Bytes::from_static(b"one")).await.unwrap();
    tokio::time::sleep(SHORT * 3).await;
    body.send_data(Bytes::from_static(b"two")).await.unwrap();
    drop(body);
    let answer = upload.await.unwrap();
    assert_eq!((answer.status, &answer.body[..]), (200, &b"onetwo"[..]));
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!((exchange.primary.outcome, exchange.shadow.outcome), (Outcome::Answered, Outcome::Answered));
    proxy.stop().await;
}

#[tokio::test]
async fn a_stream_whose_caller_is_silent_for_longer_than_the_time_to_the_first_byte_goes_on() {
    // A server that answers only once it has been told something.
    let waits = || async {
        serve(|mut request: Request<hyper::body::Incoming>| async move {
            let _ = request.body_mut().frame().await;
            streamed(request.into_body(), ok())
        })
        .await
        .0
    };
    let mut config = config(waits().await, waits().await);
    config.primary.first_byte_timeout = Some(SHORT);
    config.shadows[0].target.first_byte_timeout = Some(SHORT);
    let proxy = Proxy::with(config, Kept::default()).await;
    let (mut body, rest) = pieces();
    let mut sender = connect(proxy.address).await;
    let answer = tokio::spawn(sender.send_request(call(proxy.address, INFER, rest)));
    tokio::time::sleep(SHORT * 3).await;
    body.send_data(message(b"first")).await.unwrap();
    body.send_data(message(b"second")).await.unwrap();
    drop(body);
    assert_eq!(outcome(answer.await.unwrap().unwrap()).await, ("0".into(), message(b"second")));
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!((exchange.primary.outcome, exchange.shadow.outcome), (Outcome::Answered, Outcome::Answered));
    proxy.stop().await;
}

#[tokio::test]
async fn requests_that_are_given_up_do_not_pile_up_at_the_primary_beyond_the_bound_on_mirrored_ones() {
    let under_way = Arc::new(AtomicUsize::new(0));
    let counted = under_way.clone();
    // The node sees a connection go when its request is given up.
    let node = raw(move |mut stream, _| {
        let counted = counted.clone();
        async move {
            let _ = read_message(&mut stream).await;
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 64]).await;
            counted.fetch_sub(1, Ordering::SeqCst);
        }
    })
    .await;
    let mut config = config(node, hang().await);
    config.limits.mirror_inflight = 1;
    config.primary.first_byte_timeout = None;
    config.shadows[0].target.total_timeout = None;
    config.drain = Duration::from_millis(50);
    let proxy = Proxy::with(config, Kept::default()).await;
    let mut client = connect(proxy.address).await;
    let mut asked = Vec::new();
    for number in 1..=8 {
        let request = Request::post(format!("http://{}/", proxy.address)).body(full("hi")).unwrap();
        asked.push(tokio::spawn(client.send_request(request)));
        eventually(|| (under_way.load(Ordering::SeqCst) == number).then_some(())).await;
    }
    asked.iter().for_each(tokio::task::JoinHandle::abort);
    // The one that is mirrored goes on, for its pair.
    eventually(|| (under_way.load(Ordering::SeqCst) == 1).then_some(())).await;
    proxy.stop().await;
}

#[tokio::test]
async fn many_calls_at_once_are_spread_over_several_connections() {
    const CALLS: usize = 150;
    let (begun, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (node, connections) = {
        let (begun, gate) = (begun.clone(), gate.clone());
        serve(move |request| {
            let (begun, gate) = (begun.clone(), gate.clone());
            async move {
                begun.fetch_add(1, Ordering::SeqCst);
                gate.acquire().await.unwrap().forget();
                streamed(request.into_body(), ok())
            }
        })
        .await
    };
    let proxy = Proxy::with(config(node, grpc_echo().await), Kept::default()).await;
    let mut senders = [connect(proxy.address).await, connect(proxy.address).await];
    let answers: Vec<_> = (0..CALLS)
        .map(|number| tokio::spawn(senders[number % 2].send_request(unary(proxy.address, b"in"))))
        .collect();
    eventually(|| (begun.load(Ordering::SeqCst) == CALLS).then_some(())).await;
    assert_eq!(connections.load(Ordering::SeqCst), 3, "64 on each of two, and the rest");
    gate.add_permits(CALLS);
    for answer in join_all(answers).await {
        assert_eq!(outcome(answer.unwrap().unwrap()).await.0, "0");
    }
    proxy.stop().await;
}

#[tokio::test]
async fn answers_that_nobody_reads_hold_up_no_other_call_to_their_node() {
    const LARGE: usize = 16 << 20;
    let (node, _) = serve(|request: Request<hyper::body::Incoming>| async move {
        let length = if request.uri().path() == "/large" { LARGE } else { 2 };
        http::Response::new(full(vec![b'x'; length]))
    })
    .await;
    let proxy = Proxy::with(config(node, grpc_echo().await), Kept::default()).await;
    let mut unread = Vec::new();
    for _ in 0..8 {
        // Each on a connection of its own, whose window is never opened again.
        let mut sender = connect(proxy.address).await;
        unread.push((sender.send_request(call(proxy.address, "/large", full(""))).await.unwrap(), sender));
    }
    let mut sender = connect(proxy.address).await;
    let answer = sender.send_request(call(proxy.address, "/small", full(""))).await.unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "xx");
    drop(unread);
    proxy.stop().await;
}
