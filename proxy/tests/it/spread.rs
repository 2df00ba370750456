//! How requests are spread over the nodes of a target: which are passed over and come back, and which of two has less to do.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use exchange::Outcome;
use http::Response;
use proxy::config::{Balance, Config, Ejection};
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;

use crate::support::{Kept, PATIENCE, Proxy, config, echo, eventually, full, raw, read_message, serve};

/// A node whose connections break under every request while it is ill; with a count of the requests.
struct Ill {
    address: SocketAddr,
    ill: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
}

async fn ill() -> Ill {
    let (ill, asked) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (is, count) = (ill.clone(), asked.clone());
    let address = raw(move |mut stream, _| {
        let (is, count) = (is.clone(), count.clone());
        async move {
            while !read_message(&mut stream).await.is_empty() {
                count.fetch_add(1, Ordering::SeqCst);
                if is.load(Ordering::SeqCst) {
                    return;
                }
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhealed").await.unwrap();
            }
        }
    })
    .await;
    Ill { address, ill, asked }
}

fn two(one: SocketAddr, other: SocketAddr, candidate: SocketAddr) -> Config {
    let mut config = config(one, candidate);
    config.primary.nodes.push(other.to_string().parse().unwrap());
    config
}

#[tokio::test]
async fn a_node_that_keeps_failing_is_passed_over_whether_its_requests_are_mirrored_or_not() {
    for fraction in ["100%", "0%"] {
        let node = ill().await;
        let mut config = two(node.address, echo("a").await, echo("b").await);
        config.sampling.fraction = fraction.parse().unwrap();
        config.primary.eject = Some(Ejection { failures: 2, time: Duration::from_secs(3600) });
        let proxy = Proxy::with(config, Kept::default()).await;
        let mut statuses = Vec::new();
        for _ in 0..12 {
            statuses.push(proxy.post("/", "hi").await.status);
        }
        // Turn by turn, until it is passed over.
        let wanted = [vec![502, 200, 502], vec![200; 9]].concat();
        assert_eq!((statuses, node.asked.load(Ordering::SeqCst)), (wanted, 2), "{fraction}");
        let (_, kept) = proxy.stop().await;
        let failed = |exchange: &&exchange::Exchange| exchange.primary.outcome == Outcome::Reset;
        let exchanges = kept.exchanges();
        assert_eq!(exchanges.len(), if fraction == "0%" { 0 } else { 12 });
        assert_eq!(exchanges.iter().filter(failed).count(), exchanges.len() / 6);
        for exchange in &exchanges {
            let broke = exchange.primary.node == node.address.to_string();
            assert_eq!(broke, exchange.primary.outcome == Outcome::Reset);
        }
    }
}

#[tokio::test]
async fn a_node_is_asked_again_after_its_time_and_serves_when_it_is_well() {
    let node = ill().await;
    let mut config = two(node.address, echo("a").await, echo("b").await);
    config.primary.eject = Some(Ejection { failures: 1, time: Duration::from_millis(50) });
    let proxy = Proxy::with(config, Kept::default()).await;
    let asked = async |times| {
        while node.asked.load(Ordering::SeqCst) < times {
            let answer = proxy.post("/", "hi").await;
            assert_eq!(answer.status, if answer.body == "hi" { 200 } else { 502 });
        }
    };
    tokio::time::timeout(PATIENCE, asked(3)).await.expect("it is asked again");
    node.ill.store(false, Ordering::SeqCst);
    let served = async { while proxy.post("/", "hi").await.body != "healed" {} };
    tokio::time::timeout(PATIENCE, served).await.expect("it serves again");
    // From here on it has its turn like the other.
    let mut answers = Vec::new();
    for _ in 0..6 {
        answers.push(proxy.post("/", "hi").await.body);
    }
    assert_eq!(answers.iter().filter(|body| *body == "healed").count(), 3, "{answers:?}");
    proxy.stop().await;
}

#[tokio::test]
async fn where_all_nodes_keep_failing_none_is_passed_over() {
    let (one, other) = (ill().await, ill().await);
    let mut config = two(one.address, other.address, echo("b").await);
    config.primary.eject = Some(Ejection { failures: 1, time: Duration::from_secs(3600) });
    let proxy = Proxy::with(config, Kept::default()).await;
    for _ in 0..6 {
        assert_eq!(proxy.post("/", "hi").await.status, 502);
    }
    let asked = [&one, &other].map(|node| node.asked.load(Ordering::SeqCst));
    assert!(asked.iter().sum::<usize>() == 6 && asked.iter().all(|asked| *asked >= 2), "{asked:?}");
    proxy.stop().await;
}

#[tokio::test]
async fn a_shadow_passes_over_a_node_that_keeps_failing_only_when_it_is_asked_to() {
    for (eject, wanted) in [(None, 4), (Some(Ejection { failures: 1, time: Duration::from_secs(3600) }), 1)] {
        let node = ill().await;
        let mut config = config(echo("a").await, node.address);
        config.shadows[0].target.nodes.push(echo("b").await.to_string().parse().unwrap());
        config.shadows[0].target.eject = eject;
        let proxy = Proxy::with(config, Kept::default()).await;
        for sent in 1..=8 {
            assert_eq!(proxy.post("/", "hi").await.status, 200);
            // One after the other, so that each ending is noted before the next choice.
            proxy.exchanges(sent).await;
        }
        assert_eq!(node.asked.load(Ordering::SeqCst), wanted, "{eject:?}");
        proxy.stop().await;
    }
}

/// A node that holds what is asked for at `/held` until it is let go.
async fn holds(held: &Arc<AtomicUsize>, go: &Arc<Semaphore>, name: &'static str) -> SocketAddr {
    let (held, go) = (held.clone(), go.clone());
    serve(move |request| {
        let (held, go) = (held.clone(), go.clone());
        async move {
            if request.uri().path() == "/held" {
                held.fetch_add(1, Ordering::SeqCst);
                go.acquire().await.unwrap().forget();
            }
            Response::builder().header("x-server", name).body(full("")).unwrap()
        }
    })
    .await
}

#[tokio::test]
async fn of_two_nodes_the_one_with_fewer_requests_under_way_has_the_next() {
    const ROUNDS: usize = 20;
    let (held, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (one, other) = (holds(&held, &go, "one").await, holds(&held, &go, "other").await);
    let mut config = two(one, other, echo("b").await);
    config.primary.balance = Balance::LeastOfTwo;
    let proxy = Arc::new(Proxy::with(config, Kept::default()).await);
    let holding = {
        let proxy = proxy.clone();
        tokio::spawn(async move { proxy.post("/held", "").await.headers["x-server"].clone() })
    };
    eventually(|| (held.load(Ordering::SeqCst) == 1).then_some(())).await;
    let mut servers = Vec::new();
    for _ in 0..ROUNDS {
        servers.push(proxy.post("/", "").await.headers["x-server"].clone());
    }
    go.add_permits(1);
    let busy = holding.await.unwrap();
    assert!(servers.iter().all(|server| *server != busy), "{busy} was busy: {servers:?}");
    // When both have nothing to do, both are asked.
    let mut both = std::collections::BTreeSet::new();
    let asking = async {
        while both.len() < 2 {
            both.insert(proxy.post("/", "").await.headers["x-server"].clone());
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("both are asked");
}

#[tokio::test]
async fn requests_at_once_are_spread_evenly_by_least_of_two() {
    const AT_ONCE: usize = 10;
    let go = Arc::new(Semaphore::new(0));
    let counts = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
    let (one, other) = (holds(&counts[0], &go, "one").await, holds(&counts[1], &go, "other").await);
    let mut config = two(one, other, echo("b").await);
    config.primary.balance = Balance::LeastOfTwo;
    let proxy = Arc::new(Proxy::with(config, Kept::default()).await);
    let held = || counts.each_ref().map(|count| count.load(Ordering::SeqCst));
    let mut asked = Vec::new();
    for number in 1..=AT_ONCE {
        let proxy = proxy.clone();
        asked.push(tokio::spawn(async move { proxy.post("/held", "").await.status }));
        eventually(|| (held().iter().sum::<usize>() == number).then_some(())).await;
        assert!(held()[0].abs_diff(held()[1]) <= 1, "{:?}", held());
    }
    go.add_permits(AT_ONCE);
    for answer in asked {
        assert_eq!(answer.await.unwrap(), 200);
    }
}
