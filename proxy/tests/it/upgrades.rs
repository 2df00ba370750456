//! Upgrades are requests of the primary like any others: counted, bounded, and judged by how they end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use exchange::{Item, SkipReason};
use proxy::config::Ejection;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Kept, Proxy, breaks, config, nobody, raw, read_message, send, write};

const ASK: &[u8] = b"GET /live HTTP/1.1\r\nhost: h\r\nconnection: upgrade\r\nupgrade: chat\r\n\r\n";
const AGREED: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: chat\r\n\r\n";

/// A server that agrees, and then gives back what it gets.
async fn agrees() -> std::net::SocketAddr {
    raw(|mut stream, _| async move {
        if read_message(&mut stream).await.is_empty() {
            return;
        }
        stream.write_all(AGREED).await.unwrap();
        let (mut from, mut to) = stream.split();
        let _ = tokio::io::copy(&mut from, &mut to).await;
    })
    .await
}

/// Asks for an upgrade; the head of the answer.
async fn ask(proxy: &Proxy) -> (TcpStream, String) {
    let mut stream = write(proxy.address, ASK).await;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    (stream, String::from_utf8(head).unwrap())
}

async fn metric(proxy: &Proxy, line: &str) -> bool {
    let request = http::Request::get("/metrics").header("host", "t").body(crate::support::full("")).unwrap();
    String::from_utf8(send(proxy.admin, request).await.body.to_vec())
        .unwrap()
        .lines()
        .any(|found| found == line)
}

#[tokio::test]
async fn an_upgrade_is_counted_as_answered_and_as_not_mirrored() {
    let proxy = Proxy::start(agrees().await, nobody().await).await;
    let (mut stream, head) = ask(&proxy).await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    stream.write_all(b"ping").await.unwrap();
    let mut said = [0; 4];
    stream.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"ping");
    assert!(metric(&proxy, "shadowdiff_skipped_total{reason=\"upgrade\"} 1").await);
    drop(stream);
    let (ledger, kept) = proxy.stop().await;
    assert_eq!(ledger.total(|item| item == Item::Skipped(SkipReason::Upgrade)), 1);
    assert!(kept.exchanges().is_empty());
}

#[tokio::test]
async fn an_upgrade_takes_a_place_of_the_primary_for_as_long_as_it_lasts() {
    let mut config = config(agrees().await, nobody().await);
    config.primary.inflight = Some(1);
    let proxy = Proxy::with(config, Kept::default()).await;
    let (first, head) = ask(&proxy).await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    let (_, refused) = ask(&proxy).await;
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(metric(&proxy, "shadowdiff_responses_total{status=\"5xx\"} 1").await);
    drop(first);
    // The place is free once both ends have seen that it is over.
    let mut tries = 0;
    loop {
        let (_, head) = ask(&proxy).await;
        if head.starts_with("HTTP/1.1 101 ") {
            break;
        }
        tries += 1;
        assert!(tries < 1000, "{head}");
        tokio::task::yield_now().await;
    }
    proxy.stop().await;
}

#[tokio::test]
async fn a_node_that_fails_upgrades_is_passed_over() {
    let (breaks, asked) = breaks().await;
    let mut config = config(breaks, nobody().await);
    config.primary.nodes.push(agrees().await.to_string().parse().unwrap());
    config.primary.eject = Some(Ejection { failures: 2, time: Duration::from_secs(600) });
    let proxy = Proxy::with(config, Kept::default()).await;
    let mut failed = 0;
    for _ in 0..12 {
        let (_, head) = ask(&proxy).await;
        failed += usize::from(head.starts_with("HTTP/1.1 502 "));
    }
    assert_eq!((failed, asked.load(Ordering::SeqCst)), (2, 2));
    proxy.stop().await;
}

#[tokio::test]
async fn an_upgrade_that_a_node_does_not_take_goes_to_the_next() {
    let mut config = config(nobody().await, nobody().await);
    config.primary.nodes.push(agrees().await.to_string().parse().unwrap());
    let proxy = Proxy::with(config, Kept::default()).await;
    for _ in 0..4 {
        let (_, head) = ask(&proxy).await;
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    }
    proxy.stop().await;
}

#[tokio::test]
async fn an_upgrade_that_finds_no_node_is_answered_and_counted() {
    let mut config = config(nobody().await, nobody().await);
    config.primary.nodes = vec!["dns+http://models.invalid:1".parse().unwrap()];
    let proxy = Proxy::with(config, Kept::default()).await;
    let (_, head) = ask(&proxy).await;
    assert!(head.starts_with("HTTP/1.1 502 "), "{head}");
    assert!(metric(&proxy, "shadowdiff_responses_total{status=\"5xx\"} 1").await);
    proxy.stop().await;
}
