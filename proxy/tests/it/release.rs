//! What is held is given back, and what is promised of a stop holds, whatever happened before.

use std::time::Duration;

use exchange::{Item, Outcome};
use http::Request;
use tokio::io::AsyncWriteExt;

use crate::support::{
    Kept, PATIENCE, Proxy, config, echo, full, hang, nobody, raw, read_message, send, write,
};

/// What `/status` says.
async fn status(proxy: &Proxy) -> serde_json::Value {
    let request = Request::get("/status").header("host", "t").body(full("")).unwrap();
    serde_json::from_slice(&send(proxy.admin, request).await.body).unwrap()
}

/// Waits until `/status` satisfies `condition`.
async fn status_when(proxy: &Proxy, condition: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
    let waiting = async {
        loop {
            let status = status(proxy).await;
            if condition(&status) {
                return status;
            }
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the status did not come true in time")
}

/// A server that sends the head and a part of its answer, and then nothing more.
async fn stalls() -> std::net::SocketAddr {
    raw(|mut stream, _| async move {
        read_message(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await.unwrap();
        std::future::pending::<()>().await;
    })
    .await
}

#[tokio::test]
async fn a_stop_records_what_the_client_is_still_reading() {
    let mut config = config(stalls().await, echo("b").await);
    config.drain = Duration::from_millis(50);
    let proxy = Proxy::with(config, Kept::default()).await;
    let mut stream = write(proxy.address, b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 2\r\n\r\nhi").await;
    let mut half = [0; 16];
    assert!(tokio::io::AsyncReadExt::read(&mut stream, &mut half).await.unwrap() > 0);
    let (ledger, kept) = proxy.stop().await;
    let exchanges = kept.exchanges();
    assert_eq!(exchanges.len(), 1);
    assert_eq!((exchanges[0].primary.outcome, exchanges[0].primary.status), (Outcome::Shutdown, Some(200)));
    let total = |keep: fn(Item) -> bool| ledger.total(keep);
    assert_eq!(total(|item| item == Item::Mirrored), total(|item| matches!(item, Item::Outcome(_))));
}

#[tokio::test]
async fn a_stop_records_what_is_still_uploaded_and_what_the_primary_has_not_answered() {
    let mut config = config(hang().await, echo("b").await);
    config.drain = Duration::from_millis(50);
    let proxy = Proxy::with(config, Kept::default()).await;
    let _uploading = write(proxy.address, b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 9\r\n\r\nhi").await;
    let _waiting = write(proxy.address, b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 2\r\n\r\nhi").await;
    status_when(&proxy, |status| status["mirrored"] == 2).await;
    let (ledger, kept) = proxy.stop().await;
    let mut outcomes: Vec<_> =
        kept.exchanges().iter().map(|exchange| (exchange.primary.outcome, exchange.shadow.outcome)).collect();
    outcomes.sort_unstable();
    assert_eq!(outcomes, [(Outcome::Shutdown, Outcome::Answered), (Outcome::Shutdown, Outcome::Shutdown)]);
    assert_eq!(ledger.total(|item| matches!(item, Item::Outcome(_))), 2);
}

#[tokio::test]
async fn captured_answers_count_until_the_exchange_is_published() {
    let proxy = Proxy::start(echo("a").await, hang().await).await;
    assert_eq!(proxy.post("/", vec![1; 5000]).await.status, 200);
    // The request and the primary's answer, both held while the shadow hangs.
    let status = status_when(&proxy, |status| status["primary"]["nodes"][0]["inflight"] == 0).await;
    assert_eq!(status["under_way"]["bytes"], 10_000);
}

#[tokio::test]
async fn after_a_chaotic_run_nothing_is_held() {
    let breaks = raw(|mut stream, number| async move {
        read_message(&mut stream).await;
        let answer: &[u8] = match number % 4 {
            0 => b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
            1 => b"nonsense\r\n\r\n",
            2 => b"",
            _ => b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok",
        };
        let _ = stream.write_all(answer).await;
    })
    .await;
    for (primary, candidate) in [
        (echo("a").await, echo("b").await),
        (echo("a").await, hang().await),
        (breaks, breaks),
        (nobody().await, breaks),
        (hang().await, nobody().await),
    ] {
        let mut config = config(primary, candidate);
        config.primary.first_byte_timeout = Some(Duration::from_millis(300));
        config.shadows[0].target.total_timeout = Some(Duration::from_millis(300));
        config.limits.body = 40_000;
        config.limits.mirror_bytes = 100_000;
        config.limits.mirror_inflight = 6;
        let mut control = config.shadows[0].clone();
        control.target.name = "control".into();
        config.shadows.push(control);
        let proxy = Proxy::with(config, Kept::default()).await;
        for round in 0..12_usize {
            let length = [0, 10, 30_000, 50_000][round % 4];
            let head = format!("POST /{round} HTTP/1.1\r\nhost: t\r\ncontent-length: {length}\r\n\r\n");
            let mut stream = write(proxy.address, head.as_bytes()).await;
            let sent = if round % 3 == 1 { length / 2 } else { length };
            let _ = stream.write_all(&vec![b'x'; sent]).await;
            match round % 3 {
                0 => drop(stream),
                1 => stream.set_zero_linger().unwrap(),
                _ => {
                    let read = tokio::time::timeout(PATIENCE, read_message(&mut stream));
                    read.await.unwrap();
                }
            }
        }
        let status = status_when(&proxy, |status| {
            status["under_way"]["exchanges"] == 0
                && status["mirrored"].as_u64() >= Some(2)
                && status["mirrored"] == status["ended"]
        })
        .await;
        assert_eq!(status["under_way"]["bytes"], 0, "{status}");
        status_when(&proxy, |status| {
            let idle = |target: &serde_json::Value| target["nodes"][0]["inflight"] == 0;
            idle(&status["primary"]) && status["shadows"].as_array().unwrap().iter().all(idle)
        })
        .await;
        let (ledger, kept) = proxy.stop().await;
        let ended = ledger.total(|item| matches!(item, Item::Outcome(_)));
        assert_eq!(ended, kept.exchanges().len() as u64);
        assert_eq!(ended, ledger.total(|item| item == Item::Mirrored));
    }
}
