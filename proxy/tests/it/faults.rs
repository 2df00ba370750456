//! Every way a leg can end makes a record, and none of the shadow's hurts the client.

use std::time::Duration;

use exchange::{Item, Outcome};
use tokio::io::AsyncWriteExt;

use crate::support::{Kept, Proxy, config, echo, hang, nobody, raw, read_message, write};

#[tokio::test]
async fn a_primary_that_is_down_is_a_502_in_json_and_a_record() {
    let dead = nobody().await;
    let proxy = Proxy::start(dead, echo("b").await).await;
    let answer = proxy.post("/v2/models/m/infer", "hello").await;
    assert_eq!((answer.status, answer.headers["content-type"].as_str()), (502, "application/json"));
    let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body["outcome"], "refused");
    assert_eq!(body["node"], dead.to_string());
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!((exchange.primary.outcome, exchange.primary.status), (Outcome::Refused, None));
    assert_eq!((exchange.shadow.outcome, exchange.shadow.status), (Outcome::Answered, Some(200)));
    assert_eq!(&exchange.shadow.body.bytes[..], b"hello");
    proxy.stop().await;
}

#[tokio::test]
async fn a_primary_node_that_refuses_connections_is_passed_over() {
    let (dead, alive) = (nobody().await, echo("a").await);
    let mut config = config(dead, echo("b").await);
    config.primary.nodes.push(alive.to_string().parse().unwrap());
    let proxy = Proxy::with(config, Kept::default()).await;
    for _ in 0..4 {
        assert_eq!(&proxy.post("/", "hello").await.body[..], b"hello");
    }
    for exchange in proxy.exchanges(4).await {
        assert_eq!((exchange.primary.outcome, exchange.primary.attempts), (Outcome::Answered, 1));
        assert_eq!(exchange.primary.node, alive.to_string());
    }
    proxy.stop().await;
}

#[tokio::test]
async fn a_primary_past_its_deadline_is_a_504() {
    let mut config = config(hang().await, echo("b").await);
    config.primary.first_byte_timeout = Some(Duration::from_millis(50));
    let proxy = Proxy::with(config, Kept::default()).await;
    let answer = proxy.post("/", "x").await;
    assert_eq!(answer.status, 504);
    assert_eq!(proxy.exchanges(1).await[0].primary.outcome, Outcome::TimedOut);
    proxy.stop().await;
}

#[tokio::test]
async fn a_candidate_that_is_down_is_recorded_and_the_client_does_not_notice() {
    let proxy = Proxy::start(echo("a").await, nobody().await).await;
    assert_eq!(&proxy.post("/", "hello").await.body[..], b"hello");
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!((exchange.shadow.outcome, exchange.shadow.attempts), (Outcome::Refused, 0));
    assert!(exchange.shadow.reason.contains("refused"), "{}", exchange.shadow.reason);
    assert_eq!(exchange.primary.outcome, Outcome::Answered);
    proxy.stop().await;
}

#[tokio::test]
async fn a_candidate_that_hangs_delays_no_request_on_the_same_connection() {
    let mut config = config(echo("a").await, hang().await);
    config.shadows[0].target.total_timeout = Some(Duration::from_millis(2000));
    let proxy = Proxy::with(config, Kept::default()).await;
    let mut stream = write(proxy.address, b"").await;
    for _ in 0..3 {
        stream.write_all(b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 2\r\n\r\nhi").await.unwrap();
        assert!(read_message(&mut stream).await.ends_with(b"hi"));
        // The answers are there although no shadow has ended.
    }
    let exchanges = proxy.exchanges(3).await;
    assert!(exchanges.iter().all(|exchange| exchange.shadow.outcome == Outcome::TimedOut));
    // In flight at dispatch is read before the request itself is counted.
    let mut inflight: Vec<u32> = exchanges.iter().map(|exchange| exchange.shadow.inflight).collect();
    inflight.sort_unstable();
    assert_eq!(inflight, [0, 1, 2]);
    // All three were under way together before the first of them ended.
    assert!(exchanges.iter().all(|exchange| exchange.shadow.inflight_peak == Some(2)));
    assert!(exchanges.iter().all(|exchange| exchange.primary.inflight_peak == Some(0)));
    proxy.stop().await;
}

#[tokio::test]
async fn a_candidate_that_breaks_off_is_told_from_one_that_never_began() {
    let mid_body = raw(|mut stream, _| async move {
        read_message(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await.unwrap();
    })
    .await;
    let before = raw(|mut stream, _| async move {
        read_message(&mut stream).await;
    })
    .await;
    for (candidate, outcome, status, kept) in
        [(mid_body, Outcome::Incomplete, Some(200), 4), (before, Outcome::Reset, None, 0)]
    {
        let proxy = Proxy::start(echo("a").await, candidate).await;
        assert_eq!(proxy.post("/", "x").await.status, 200);
        let shadow = proxy.exchanges(1).await.remove(0).shadow;
        assert_eq!((shadow.outcome, shadow.status, shadow.body.bytes.len()), (outcome, status, kept));
        assert!(!shadow.reason.is_empty());
        proxy.stop().await;
    }
}

#[tokio::test]
async fn an_upload_that_breaks_off_is_recorded_as_the_client_gone() {
    let proxy = Proxy::start(echo("a").await, echo("b").await).await;
    let stream = write(proxy.address, b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 10\r\n\r\nhalf").await;
    drop(stream);
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!(exchange.shadow.outcome, Outcome::ClientGone);
    assert_eq!(exchange.shadow.attempts, 0);
    assert_ne!(exchange.primary.outcome, Outcome::Answered);
    proxy.stop().await;
}

#[tokio::test]
async fn a_request_on_a_connection_that_the_server_has_just_closed_is_sent_once_more() {
    let primary = raw(|mut stream, number| async move {
        // The first connection answers once and closes when the second request comes.
        for request in 0.. {
            if read_message(&mut stream).await.is_empty() || (number == 0 && request == 1) {
                return;
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
        }
    })
    .await;
    let proxy = Proxy::start(primary, echo("b").await).await;
    assert_eq!(proxy.post("/", "one").await.status, 200);
    assert_eq!(proxy.post("/", "two").await.status, 200);
    let mut attempts: Vec<u32> =
        proxy.exchanges(2).await.iter().map(|exchange| exchange.primary.attempts).collect();
    attempts.sort_unstable();
    assert_eq!(attempts, [1, 2]);
    proxy.stop().await;
}

#[tokio::test]
async fn a_stop_cuts_what_does_not_end_and_records_it() {
    let mut config = config(echo("a").await, hang().await);
    config.shadows[0].target.total_timeout = Some(Duration::from_secs(3600));
    config.drain = Duration::from_millis(50);
    let proxy = Proxy::with(config, Kept::default()).await;
    assert_eq!(proxy.post("/", "x").await.status, 200);
    let (ledger, kept) = proxy.stop().await;
    assert_eq!(kept.exchanges()[0].shadow.outcome, Outcome::Shutdown);
    assert_eq!(ledger.total(|item| item == Item::Outcome(Outcome::Shutdown)), 1);
}

#[tokio::test]
async fn a_refused_request_that_is_not_mirrored_goes_to_the_next_node_too() {
    let mut config = config(nobody().await, echo("b").await);
    config.primary.nodes.push(echo("a").await.to_string().parse().unwrap());
    config.sampling.fraction = "0%".parse().unwrap();
    let proxy = Proxy::with(config, Kept::default()).await;
    for _ in 0..4 {
        let answer = proxy.post("/", "hello").await;
        assert_eq!((answer.status, &answer.body[..]), (200, &b"hello"[..]));
    }
    proxy.stop().await;
}

#[tokio::test]
async fn an_answer_that_is_no_http_is_not_asked_for_twice() {
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = asked.clone();
    let primary = raw(move |mut stream, _| {
        let count = count.clone();
        async move {
            read_message(&mut stream).await;
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            stream.write_all(b"nonsense\r\n\r\n").await.unwrap();
        }
    })
    .await;
    let proxy = Proxy::start(primary, echo("b").await).await;
    assert_eq!(proxy.post("/", "x").await.status, 502);
    let exchange = proxy.exchanges(1).await.remove(0);
    assert_eq!((exchange.primary.outcome, exchange.primary.attempts), (Outcome::Reset, 1));
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 1);
    proxy.stop().await;
}

#[tokio::test]
async fn an_upload_that_is_no_http_is_the_clients_own_fault() {
    let proxy = Proxy::start(echo("a").await, echo("b").await).await;
    let broken = b"POST / HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n";
    let mut stream = write(proxy.address, broken).await;
    let answer = String::from_utf8(read_message(&mut stream).await).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("the body of the request"), "{answer}");
    let exchange = proxy.exchanges(1).await.remove(0);
    assert_eq!(
        (exchange.primary.outcome, exchange.shadow.outcome),
        (Outcome::ClientGone, Outcome::ClientGone)
    );
    proxy.stop().await;
}
