//! The time-outs of each target: what the client is told of the primary's, and what is recorded of all.

use std::net::SocketAddr;
use std::time::Duration;

use exchange::{Item, Outcome};
use http::Request;
use http_body_util::BodyExt;
use proxy::config::Config;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::calls::{connect, unary};
use crate::support::{Kept, PATIENCE, Proxy, config, echo, full, hang, raw, read_message, send, write};

const SHORT: Duration = Duration::from_millis(100);

/// A server that begins an answer and never ends it.
async fn stops() -> SocketAddr {
    raw(|mut stream, _| async move {
        read_message(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await.unwrap();
        let _ = stream.read(&mut [0; 1]).await;
    })
    .await
}

/// A listener whose queue is full, so that the next connections get no word, and what keeps it so.
async fn takes_no_connection() -> (SocketAddr, (socket2::Socket, TcpStream)) {
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let first = TcpStream::connect(address).await.unwrap();
    (address, (listener, first))
}

/// Sends one request; gives its status, the exchange, and after that asserts that the ledger balances.
async fn one(config: Config) -> (u16, exchange::Exchange) {
    let proxy = Proxy::with(config, Kept::default()).await;
    let status = proxy.post("/", "hi").await.status;
    let exchange = proxy.exchanges(1).await.remove(0);
    let (ledger, _) = proxy.stop().await;
    assert_eq!(ledger.total(|item| item == Item::Outcome(exchange.shadow.outcome)), 1);
    (status, exchange)
}

#[tokio::test]
async fn a_primary_that_passes_its_total_time_before_its_head_is_a_504() {
    let mut config = config(hang().await, echo("b").await);
    config.primary.first_byte_timeout = None;
    config.primary.total_timeout = Some(SHORT);
    let (status, exchange) = one(config).await;
    assert_eq!((status, exchange.primary.outcome, exchange.primary.status), (504, Outcome::TimedOut, None));
    assert!(exchange.primary.reason.contains("100 ms"), "{}", exchange.primary.reason);
    assert!(exchange.primary.latency_us.unwrap() >= 100_000);
    assert_eq!(exchange.shadow.outcome, Outcome::Answered);
}

#[tokio::test]
async fn a_primary_that_passes_its_total_time_in_its_answer_breaks_it_off() {
    let mut config = config(stops().await, echo("b").await);
    config.primary.total_timeout = Some(SHORT);
    let proxy = Proxy::with(config, Kept::default()).await;
    let mut client = write(proxy.address, b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 2\r\n\r\nhi").await;
    let mut seen = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, client.read_to_end(&mut seen)).await.expect("an end");
    assert!(seen.starts_with(b"HTTP/1.1 200") && seen.ends_with(b"\r\n\r\nhalf"), "{seen:?}");
    let request = Request::post(format!("http://{}/", proxy.address)).body(full("hi")).unwrap();
    let answer = connect(proxy.address).await.send_request(request).await.unwrap();
    assert!(answer.into_body().collect().await.is_err(), "over HTTP/2");
    for exchange in proxy.exchanges(2).await {
        let leg = &exchange.primary;
        assert_eq!(
            (leg.outcome, leg.status, &leg.body.bytes[..]),
            (Outcome::TimedOut, Some(200), &b"half"[..])
        );
        assert!(leg.body.truncated && leg.reason.contains("deadline"), "{}", leg.reason);
        assert_eq!(exchange.shadow.outcome, Outcome::Answered);
    }
    proxy.stop().await;
}

#[tokio::test]
async fn a_shadow_that_passes_its_time_before_or_in_its_answer_is_told() {
    for (candidate, status) in [(hang().await, None), (stops().await, Some(200))] {
        let mut config = config(echo("a").await, candidate);
        config.shadows[0].target.total_timeout = Some(SHORT);
        let (client, exchange) = one(config).await;
        let leg = &exchange.shadow;
        assert_eq!((client, leg.outcome, leg.status), (200, Outcome::TimedOut, status));
        assert!(leg.reason.contains("100 ms"), "{}", leg.reason);
        assert_eq!(exchange.primary.outcome, Outcome::Answered);
    }
}

#[tokio::test]
async fn a_shadow_that_passes_its_time_to_the_first_byte_is_told() {
    let mut config = config(echo("a").await, hang().await);
    config.shadows[0].target.first_byte_timeout = Some(SHORT);
    let (client, exchange) = one(config).await;
    assert_eq!((client, exchange.shadow.outcome), (200, Outcome::TimedOut));
}

#[tokio::test]
async fn a_primary_that_takes_no_connection_in_time_is_a_502_and_a_shadow_is_told() {
    let (node, _full) = takes_no_connection().await;
    let mut config = config(node, node);
    config.primary.connect_timeout = SHORT;
    config.shadows[0].target.connect_timeout = SHORT;
    let (status, exchange) = one(config.clone()).await;
    assert_eq!(status, 502);
    for leg in [&exchange.primary, &exchange.shadow] {
        assert_eq!((leg.outcome, leg.attempts, leg.status), (Outcome::Refused, 0, None));
        assert!(leg.reason.contains("100"), "{}", leg.reason);
    }
    let proxy = Proxy::with(config, Kept::default()).await;
    let answer = connect(proxy.address).await.send_request(unary(proxy.address, b"in")).await.unwrap();
    assert_eq!(crate::calls::outcome(answer).await.0, "14", "of a call");
    proxy.stop().await;
}

#[tokio::test]
async fn a_node_that_takes_no_connection_in_time_leaves_the_request_to_the_next() {
    let (node, _full) = takes_no_connection().await;
    let mut config = config(node, echo("b").await);
    config.primary.connect_timeout = SHORT;
    config.primary.nodes.push(echo("a").await.to_string().parse().unwrap());
    let (status, exchange) = one(config).await;
    assert_eq!((status, exchange.primary.outcome), (200, Outcome::Answered));
    assert_eq!(exchange.primary.header("x-server"), Some("a"));
}

#[tokio::test]
async fn an_interim_answer_is_not_taken_for_the_answer() {
    let node = raw(|mut stream, _| async move {
        read_message(&mut stream).await;
        stream.write_all(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n").await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nmine").await.unwrap();
    })
    .await;
    let proxy = Proxy::start(node, echo("b").await).await;
    let request = Request::post("/").header("host", "t").body(full("hi")).unwrap();
    let answer = send(proxy.address, request).await;
    assert_eq!((answer.status, &answer.body[..]), (200, &b"mine"[..]));
    assert!(!answer.headers.contains_key("link"), "{answer:?}");
    assert_eq!(proxy.exchanges(1).await[0].primary.status, Some(200));
    proxy.stop().await;
}

#[tokio::test]
async fn the_total_time_of_a_leg_ends_an_answer_that_stops() {
    let short = Some(Duration::from_millis(200));
    let mut of_candidate = config(echo("a").await, stops().await);
    of_candidate.shadows[0].target.total_timeout = short;
    let proxy = Proxy::with(of_candidate, Kept::default()).await;
    assert_eq!(proxy.post("/", "x").await.status, 200);
    let shadow = proxy.exchanges(1).await.remove(0).shadow;
    assert_eq!(
        (shadow.outcome, shadow.status, &shadow.body.bytes[..]),
        (Outcome::TimedOut, Some(200), &b"half"[..])
    );
    proxy.stop().await;

    let mut of_primary = config(stops().await, echo("b").await);
    of_primary.primary.total_timeout = short;
    let proxy = Proxy::with(of_primary, Kept::default()).await;
    let mut client = write(proxy.address, b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 1\r\n\r\nx").await;
    let mut got = Vec::new();
    let _ = client.read_to_end(&mut got).await;
    assert!(got.starts_with(b"HTTP/1.1 200 OK") && got.ends_with(b"half"));
    let primary = proxy.exchanges(1).await.remove(0).primary;
    assert_eq!((primary.outcome, primary.status), (Outcome::TimedOut, Some(200)));
    proxy.stop().await;

    let mut of_head = config(hang().await, echo("b").await);
    (of_head.primary.first_byte_timeout, of_head.primary.total_timeout) = (None, short);
    let proxy = Proxy::with(of_head, Kept::default()).await;
    assert_eq!(proxy.post("/", "x").await.status, 504);
    assert_eq!(proxy.exchanges(1).await.remove(0).primary.outcome, Outcome::TimedOut);
    proxy.stop().await;
}
