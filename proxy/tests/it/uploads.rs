//! The time that the body of a request may take: a client that sends a byte now and then does not keep its place.

use std::time::Duration;

use exchange::{Item, Outcome};
use http::Request;
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::calls::{INFER, call, connect, echo as grpc_echo, message, outcome, pieces};
use crate::support::{Kept, PATIENCE, Proxy, config, echo, write};

const SHORT: Duration = Duration::from_millis(100);

async fn started(fraction: &str) -> Proxy {
    let mut config = config(echo("a").await, echo("b").await);
    config.primary.upload_timeout = Some(SHORT);
    config.sampling.fraction = fraction.parse().unwrap();
    Proxy::with(config, Kept::default()).await
}

/// Sends byte after byte of a body that has no end, until it is answered; gives the whole answer.
async fn trickle(proxy: &Proxy) -> String {
    let head = b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 1000000000\r\n\r\n";
    let (mut read, mut write) = write(proxy.address, head).await.into_split();
    let sending = async {
        while write.write_all(b"x").await.is_ok() {
            tokio::task::yield_now().await;
        }
        std::future::pending::<()>().await;
    };
    let mut answer = Vec::new();
    tokio::select! {
        // Byte by byte: what has come stays when the connection is reset behind it.
        () = async { while let Ok(byte) = read.read_u8().await { answer.push(byte) } } => {}
        () = sending => {}
        () = tokio::time::sleep(PATIENCE) => panic!("it keeps its place"),
    }
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn an_upload_that_does_not_end_in_time_is_a_408_and_its_connection_is_closed() {
    for (fraction, mirrored) in [("100%", 1), ("0%", 0)] {
        let proxy = started(fraction).await;
        let answer = trickle(&proxy).await;
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("did not end in time"), "{answer}");
        for exchange in proxy.exchanges(mirrored).await {
            for leg in [&exchange.primary, &exchange.shadow] {
                assert_eq!(leg.outcome, Outcome::ClientGone, "{}", leg.reason);
                assert!(leg.reason.contains("deadline") || leg.reason.contains("in time"), "{}", leg.reason);
            }
        }
        let (ledger, kept) = proxy.stop().await;
        assert_eq!(kept.exchanges().len(), mirrored);
        assert_eq!(ledger.total(|item| item == Item::Outcome(Outcome::ClientGone)), mirrored as u64);
    }
}

#[tokio::test]
async fn over_http2_its_stream_is_answered_and_the_others_go_on() {
    let proxy = started("100%").await;
    let mut client = connect(proxy.address).await;
    let ask = |body| Request::post(format!("http://{}/", proxy.address)).body(body).unwrap();
    let (mut sending, endless) = pieces();
    sending.send_data("half".into()).await.unwrap();
    let late = client.send_request(ask(endless)).await.unwrap();
    assert_eq!(late.status(), 408);
    let answer = client.send_request(ask(crate::support::full("whole"))).await.unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "whole");
    proxy.exchanges(2).await;
    proxy.stop().await;
}

#[tokio::test]
async fn the_stream_of_a_call_may_take_as_long_as_its_caller_likes() {
    let node = grpc_echo().await;
    let mut config = config(node, node);
    config.primary.upload_timeout = Some(SHORT);
    config.primary.protocol = proxy::config::Protocol::Http2;
    let proxy = Proxy::with(config, Kept::default()).await;
    let mut client = connect(proxy.address).await;
    let (mut sending, body) = pieces();
    sending.send_data(message(b"first")).await.unwrap();
    let answer = client.send_request(call(proxy.address, INFER, body)).await.unwrap();
    // An upload that is begun after it and answered as it comes: when that has passed its time, so has the call.
    let cut = trickle(&proxy).await;
    assert!(cut.starts_with("HTTP/1.1 200 ") && !cut.ends_with("\r\n0\r\n\r\n"), "{cut}");
    sending.send_data(message(b"second")).await.unwrap();
    drop(sending);
    let whole = [message(b"first"), message(b"second")].concat();
    assert_eq!(outcome(answer).await, ("0".into(), whole.into()));
    let exchanges = proxy.exchanges(2).await;
    let upload = exchanges.iter().find(|exchange| exchange.request.path == "/").unwrap();
    // Cut by the proxy, and no failure of the node's.
    assert_eq!((upload.primary.outcome, upload.primary.status), (Outcome::ClientGone, Some(200)));
    proxy.stop().await;
}
