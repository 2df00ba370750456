//! At a bound the copy is dropped, never the primary, and the drop is counted with its reason.

use std::time::Duration;

use exchange::{DropReason, Item, Outcome};

use crate::support::{Kept, Proxy, config, echo, hang};

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
