//! Answers that end in the middle.

use std::net::SocketAddr;

use exchange::Outcome;
use http::Request;
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::calls::{self, connect, message, unary};
use crate::support::{Kept, Proxy, config, echo, full, raw, read_message, write};

/// A server that sends a head, which promises `length` bytes or chunks, and half of a body, and then breaks off.
async fn half(length: Option<usize>) -> SocketAddr {
    raw(move |mut stream, _| async move {
        if read_message(&mut stream).await.is_empty() {
            return;
        }
        let head = match length {
            Some(length) => format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\nhalf"),
            None => "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n".to_owned(),
        };
        stream.write_all(head.as_bytes()).await.unwrap();
    })
    .await
}

#[tokio::test]
async fn a_primary_that_breaks_off_is_broken_off_for_the_client_too() {
    for length in [Some(100), None] {
        let proxy = Proxy::start(half(length).await, echo("b").await).await;
        let mut client =
            write(proxy.address, b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 1\r\n\r\nx").await;
        let mut got = Vec::new();
        // An error or the end: either way less than was promised.
        let _ = client.read_to_end(&mut got).await;
        let text = String::from_utf8_lossy(&got);
        assert!(text.starts_with("HTTP/1.1 200 OK") && !text.ends_with("0\r\n\r\n"), "{text}");
        let mut http2 = connect(proxy.address).await;
        let request = Request::post(format!("http://{}/", proxy.address)).body(full("x")).unwrap();
        let answer = http2.send_request(request).await.unwrap();
        assert!(answer.into_body().collect().await.is_err(), "over HTTP/2 the stream is reset");
        for exchange in proxy.exchanges(2).await {
            let leg = &exchange.primary;
            assert_eq!(
                (leg.outcome, leg.status, &leg.body.bytes[..]),
                (Outcome::Incomplete, Some(200), &b"half"[..])
            );
            assert!(!leg.reason.is_empty());
            assert_eq!(exchange.shadow.outcome, Outcome::Answered);
        }
        proxy.stop().await;
    }
}

/// An HTTP/2 server that resets each stream after the head and a piece of the body.
async fn resets_midway() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    tokio::spawn(async move {
                        // Until it has all of the request.
                        let mut body = request.into_body();
                        while let Some(Ok(piece)) = body.data().await {
                            let _ = body.flow_control().release_capacity(piece.len());
                        }
                        let head = http::Response::builder().header("content-type", "application/grpc");
                        let mut stream = respond.send_response(head.body(()).unwrap(), false).unwrap();
                        stream.send_data(message(b"half"), false).unwrap();
                        // After the piece is out: a reset overtakes what waits.
                        tokio::task::yield_now().await;
                        stream.send_reset(h2::Reason::INTERNAL_ERROR);
                    });
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn a_candidate_that_resets_its_answer_midway_is_recorded_and_the_caller_does_not_notice() {
    let mut config = config(calls::echo().await, resets_midway().await);
    config.shadows[0].target.protocol = proxy::config::Protocol::Http2;
    let proxy = Proxy::with(config, Kept::default()).await;
    let mut caller = connect(proxy.address).await;
    for number in 0..3 {
        let response = caller.send_request(unary(proxy.address, b"in")).await.unwrap();
        assert_eq!(calls::outcome(response).await, ("0".into(), message(b"in")), "{number}");
    }
    for exchange in proxy.exchanges(3).await {
        assert_eq!(exchange.primary.outcome, Outcome::Answered);
        let shadow = &exchange.shadow;
        assert!(matches!(shadow.outcome, Outcome::Incomplete | Outcome::Reset), "{:?}", shadow.outcome);
        assert!(shadow.reason.to_lowercase().contains("internal"), "{}", shadow.reason);
    }
    proxy.stop().await;
}
