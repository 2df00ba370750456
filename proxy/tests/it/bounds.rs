//! At a bound the copy is dropped, never the primary, and the drop is counted with its reason.

use std::sync::Arc;
use std::time::Duration;

use exchange::{DropReason, Item, Outcome};
use http_body_util::BodyExt;
use proxy::config::redaction::{Action, JsonRule, Side};

use tokio::io::AsyncReadExt;

use crate::support::{Kept, Proxy, config, echo, eventually, full, hang, send, serve, write};

#[tokio::test]
async fn a_body_over_the_cap_is_forwarded_whole_and_not_mirrored() {
    let mut config = config(echo("a").await, echo("b").await);
    config.limits.body = 1000;
    let proxy = Proxy::with(config, Kept::default()).await;
    let big = vec![1; 50_000];
    assert_eq!(proxy.post("/", big.clone()).await.body, big);
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!((exchange.shadow.outcome, exchange.shadow.status), (Outcome::BodyTooLarge, None));
    assert!(exchange.shadow.reason.contains("50000 bytes"), "{}", exchange.shadow.reason);
    assert_eq!((exchange.request.body.length, exchange.request.body.truncated), (50_000, true));
    assert_eq!((exchange.primary.body.length, exchange.primary.body.truncated), (50_000, true));
    // What is too large to keep can still be told equal.
    let digest = exchange::Body::whole(big.into()).digest;
    assert_eq!((exchange.request.body.digest, exchange.primary.body.digest), (digest, digest));
}

#[tokio::test]
async fn answers_over_the_cap_are_told_apart_by_their_digests() {
    let large = |byte: u8| async move {
        serve(move |_| async move { http::Response::new(full(vec![byte; 50_000])) }).await
    };
    for (byte, same) in [(7, true), (8, false)] {
        let mut config = config(large(7).await, large(byte).await);
        config.limits.body = 1000;
        let proxy = Proxy::with(config, Kept::default()).await;
        assert_eq!(proxy.post("/", "x").await.body.len(), 50_000);
        let exchange = proxy.exchanges(1).await.remove(0);
        let (primary, shadow) = (exchange.primary.body, exchange.shadow.body);
        assert!(primary.truncated && primary.bytes.is_empty() && shadow.truncated && shadow.bytes.is_empty());
        assert!(primary.digest.is_some() && shadow.digest.is_some());
        assert_eq!(primary.digest == shadow.digest, same);
        proxy.stop().await;
    }
}

#[tokio::test]
async fn the_digest_of_a_body_that_redaction_covers_does_not_leave() {
    let tagged = serve(|request| async move {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        http::Response::builder().header("etag", "\"fingerprint\"").body(full(body)).unwrap()
    })
    .await;
    let mut config = config(tagged, echo("b").await);
    config.limits.body = 1000;
    let (action, side) = (Action::Mask, Side::Both);
    let rule = JsonRule { path: "..secret".parse().unwrap(), action, side, route: None };
    config.redaction.json.push(rule);
    let proxy = Proxy::with(config, Kept::default()).await;
    proxy.post("/", format!(r#"{{"secret":"{}"}}"#, "1".repeat(5000))).await;
    let exchange = proxy.exchanges(1).await.remove(0);
    assert_eq!((exchange.request.body.digest, exchange.primary.body.digest), (None, None));
    assert_ne!(exchange.primary.header("etag"), Some("\"fingerprint\""));
    proxy.stop().await;
}

#[tokio::test]
async fn more_mirrored_requests_than_the_bound_are_shed_and_recorded() {
    let mut config = config(echo("a").await, hang().await);
    config.limits.mirror_inflight = 2;
    config.shadows[0].target.total_timeout = Some(Duration::from_millis(2000));
    let proxy = Proxy::with(config, Kept::default()).await;
    for _ in 0..5 {
        assert_eq!(&proxy.post("/", "hello").await.body[..], b"hello");
    }
    proxy.exchanges(5).await;
    let (ledger, _) = proxy.stop().await;
    let count = |outcome| ledger.total(|item| item == Item::Outcome(outcome));
    assert_eq!((count(Outcome::TimedOut), count(Outcome::Shed)), (2, 3));
    assert_eq!(ledger.total(|item| item == Item::Mirrored), 5);
}

#[tokio::test]
async fn more_captured_bytes_than_the_bound_are_shed_and_given_back() {
    let mut config = config(echo("a").await, echo("b").await);
    config.limits.mirror_bytes = 1000;
    let proxy = Proxy::with(config, Kept::default()).await;
    let big = vec![1; 5000];
    assert_eq!(proxy.post("/", big.clone()).await.body, big);
    assert_eq!(proxy.exchanges(1).await[0].shadow.outcome, Outcome::Shed);
    // The bytes came back: a small one is mirrored again.
    proxy.post("/", "small").await;
    assert_eq!(proxy.exchanges(2).await[1].shadow.outcome, Outcome::Answered);
}

#[tokio::test]
async fn the_ledger_balances_after_a_run_in_which_the_publisher_was_full() {
    let kept = Kept { limit: Some(3), ..Kept::default() };
    let proxy = Proxy::with(config(echo("a").await, echo("b").await), kept).await;
    for _ in 0..10 {
        assert_eq!(proxy.post("/", "x").await.status, 200);
    }
    let (ledger, _) = proxy.stop().await;
    let total = |keep: fn(Item) -> bool| ledger.total(keep);
    assert_eq!(total(|item| item == Item::Mirrored), 10);
    assert_eq!(total(|item| matches!(item, Item::Outcome(_))), 10);
    assert_eq!(total(|item| item == Item::Delivered), 3);
    assert_eq!(total(|item| item == Item::Dropped(DropReason::QueueFull)), 7);
}

#[tokio::test]
async fn sequences_have_no_gaps_whatever_the_order() {
    let proxy = Proxy::start(echo("a").await, echo("b").await).await;
    let mut sending = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let request = http::Request::post("/").header("host", "t").body(crate::support::full("x")).unwrap();
        sending.spawn(crate::support::send(proxy.address, request));
    }
    sending.join_all().await;
    let (_, kept) = proxy.stop().await;
    let mut sequences: Vec<u64> = kept.exchanges().iter().map(|exchange| exchange.sequence).collect();
    sequences.sort_unstable();
    assert_eq!(sequences, (0..50).collect::<Vec<_>>());
}

#[tokio::test]
async fn several_workers_serve_and_keep_one_account() {
    let config = config(echo("a").await, echo("b").await);
    let bind = || std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listeners = vec![bind(), bind(), bind()];
    let addresses: Vec<_> = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
    let kept = Arc::new(Kept::default());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(proxy::run(config, listeners, None, kept.clone(), async {
        let _ = stopped.await;
    }));
    for address in addresses {
        for _ in 0..4 {
            let request = http::Request::post("/x").header("host", "h").body(full("hello")).unwrap();
            assert_eq!(&send(address, request).await.body[..], b"hello");
        }
    }
    stop.send(()).unwrap();
    let ledger = running.await.unwrap().unwrap();
    assert_eq!(ledger.total(|item| item == Item::Outcome(Outcome::Answered)), 12);
    let mut sequences: Vec<u64> = kept.exchanges().iter().map(|exchange| exchange.sequence).collect();
    sequences.sort_unstable();
    assert_eq!(sequences, (0..12).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_head_is_let_go() {
    let mut config = config(echo("a").await, echo("b").await);
    config.listener.head_timeout = Duration::from_millis(100);
    let proxy = Proxy::with(config, Kept::default()).await;
    for begun in [&b""[..], b"PR", b"POST /x HTTP/1.1\r\nHost: h\r\nX-Slow: "] {
        let mut client = write(proxy.address, begun).await;
        let mut rest = Vec::new();
        // Closed or told 408, and in any case let go.
        let _ = client.read_to_end(&mut rest).await;
        assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"), "{rest:?}");
    }
}

#[tokio::test]
async fn an_http2_connection_without_a_request_is_let_go_and_one_with_a_stream_is_not() {
    let node = crate::calls::echo().await;
    let mut config = config(node, node);
    config.listener.head_timeout = Duration::from_millis(20);
    let proxy = Proxy::with(config, Kept::default()).await;
    let (mut body, rest) = crate::calls::pieces();
    let mut streaming = crate::calls::connect(proxy.address).await;
    let call = crate::calls::call(proxy.address, crate::calls::INFER, rest);
    let stream = tokio::spawn(streaming.send_request(call));
    let unused = crate::calls::connect(proxy.address).await;
    eventually(|| unused.is_closed().then_some(())).await;
    assert!(!streaming.is_closed());
    body.send_data(crate::calls::message(b"late")).await.unwrap();
    drop(body);
    let answer = crate::calls::outcome(stream.await.unwrap().unwrap()).await;
    assert_eq!(answer, ("0".into(), crate::calls::message(b"late")));
    eventually(|| streaming.is_closed().then_some(())).await;
    proxy.stop().await;
}

#[tokio::test]
async fn a_head_over_the_bound_is_refused() {
    let mut config = config(echo("a").await, echo("b").await);
    config.listener.head_bytes = 8192;
    let proxy = Proxy::with(config, Kept::default()).await;
    let request = format!("POST /x HTTP/1.1\r\nHost: h\r\nX-Large: {}\r\n\r\n", "x".repeat(10_000));
    let mut client = write(proxy.address, request.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer).await;
    assert!(answer.starts_with(b"HTTP/1.1 431"), "{}", String::from_utf8_lossy(&answer));
}

#[tokio::test]
async fn a_primary_at_its_bound_says_so_and_goes_on_when_there_is_a_place() {
    let go = Arc::new(tokio::sync::Notify::new());
    let (wait, begun) = (go.clone(), Arc::new(tokio::sync::Notify::new()));
    let tell = begun.clone();
    let slow = serve(move |_| {
        let (wait, tell) = (wait.clone(), tell.clone());
        async move {
            tell.notify_one();
            wait.notified().await;
            http::Response::new(full("done"))
        }
    })
    .await;
    let mut config = config(slow, echo("b").await);
    config.primary.inflight = Some(1);
    let proxy = Arc::new(Proxy::with(config, Kept::default()).await);
    let one = proxy.clone();
    let first = tokio::spawn(async move { one.post("/x", "1").await });
    begun.notified().await;
    assert_eq!(proxy.post("/x", "2").await.status, 503);
    go.notify_one();
    assert_eq!(first.await.unwrap().status, 200);
}
