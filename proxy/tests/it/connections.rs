//! The bound on connections to a node: what finds none free waits for one, whichever worker has it and whatever HTTP it speaks.

use std::net::{SocketAddr, TcpListener as Std};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::BodyExt;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::calls;
use crate::support::{Kept, PATIENCE, Proxy, config, echo, eventually, full, hang, send};

/// A server of both HTTPs whose answers each need one of `go`, with counts of its connections and of the requests begun.
struct Node {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    begun: Arc<AtomicUsize>,
}

async fn node(go: &Arc<Semaphore>) -> Node {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (connections, begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (made, seen, go) = (connections.clone(), begun.clone(), go.clone());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            made.fetch_add(1, Ordering::SeqCst);
            let (seen, go) = (seen.clone(), go.clone());
            let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
                seen.fetch_add(1, Ordering::SeqCst);
                let go = go.clone();
                async move {
                    go.acquire().await.unwrap().forget();
                    let call = request.headers().contains_key("te");
                    if call {
                        return Ok::<_, std::convert::Infallible>(calls::streamed(
                            request.into_body(),
                            calls::ok(),
                        ));
                    }
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    Ok(http::Response::new(full(body)))
                }
            });
            tokio::spawn(async move {
                let _ = auto::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Node { address, connections, begun }
}

fn bounded(node: &Node, connections: usize) -> proxy::config::Config {
    let mut config = config(node.address, node.address);
    config.shadows[0].target.nodes = vec!["127.0.0.1:1".parse().unwrap()];
    config.primary.connections = Some(connections);
    config
}

fn count(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::SeqCst)
}

#[tokio::test]
async fn workers_share_the_connections_that_a_node_may_have() {
    let go = Arc::new(Semaphore::new(0));
    let node = node(&go).await;
    let listeners: Vec<Std> = (0..3).map(|_| Std::bind("127.0.0.1:0").unwrap()).collect();
    let addresses: Vec<SocketAddr> =
        listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let kept = Arc::new(Kept::default());
    let admin = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let told = admin.local_addr().unwrap();
    let running = tokio::spawn(proxy::run(bounded(&node, 2), listeners, Some(admin), kept.clone(), async {
        let _ = stopped.await;
    }));
    let clients: Vec<_> = (0..9)
        .map(|number| {
            let request =
                http::Request::post("/x").header("host", "h").body(full(number.to_string())).unwrap();
            tokio::spawn(send(addresses[number % 3], request))
        })
        .collect();
    eventually(|| (count(&node.begun) == 2).then_some(())).await;
    let under_way = async || {
        let ask = http::Request::get("/metrics").header("host", "h").body(full("")).unwrap();
        let metrics = String::from_utf8(send(told, ask).await.body.to_vec()).unwrap();
        metrics
            .lines()
            .any(|line| line.starts_with("shadowdiff_inflight{target=\"primary\"") && line.ends_with(" 9"))
    };
    let all = async { while !under_way().await {} };
    tokio::time::timeout(PATIENCE, all).await.expect("nine requests under way");
    go.add_permits(9);
    for (number, client) in clients.into_iter().enumerate() {
        let answer = client.await.unwrap();
        assert_eq!((answer.status, &answer.body[..]), (200, number.to_string().as_bytes()));
    }
    assert_eq!((count(&node.connections), count(&node.begun)), (2, 9));
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    let mut totals: Vec<u32> = kept.exchanges().iter().filter_map(|it| it.primary.inflight_total).collect();
    totals.sort_unstable();
    assert_eq!(totals, (0..9).collect::<Vec<_>>(), "those that wait are under way");
}

#[tokio::test]
async fn a_connection_that_waits_makes_room_for_one_of_the_other_http() {
    let go = Arc::new(Semaphore::new(100));
    let node = node(&go).await;
    let proxy = Proxy::with(bounded(&node, 1), Kept::default()).await;
    let mut caller = calls::connect(proxy.address).await;
    for round in 1..=3 {
        assert_eq!(proxy.post("/x", "hello").await.status, 200);
        let answer = caller.send_request(calls::unary(proxy.address, b"m")).await.unwrap();
        assert_eq!(calls::outcome(answer).await, ("0".into(), calls::message(b"m")));
        assert_eq!(count(&node.connections), 2 * round);
    }
}

#[tokio::test]
async fn calls_share_the_one_connection_there_may_be() {
    let go = Arc::new(Semaphore::new(0));
    let node = node(&go).await;
    let proxy = Proxy::with(bounded(&node, 1), Kept::default()).await;
    let mut caller = calls::connect(proxy.address).await;
    let calls: Vec<_> =
        (0..80).map(|_| tokio::spawn(caller.send_request(calls::unary(proxy.address, b"m")))).collect();
    // More than the streams after which another connection is made where there may be one.
    eventually(|| (count(&node.begun) == 80).then_some(())).await;
    go.add_permits(80);
    for call in calls {
        assert_eq!(calls::outcome(call.await.unwrap().unwrap()).await.0, "0");
    }
    assert_eq!(count(&node.connections), 1);
}

#[tokio::test]
async fn who_waits_for_a_connection_has_its_time_out() {
    let mut config = config(hang().await, echo("b").await);
    config.primary.connections = Some(1);
    config.primary.first_byte_timeout = Some(std::time::Duration::from_millis(300));
    let proxy = Proxy::with(config, Kept::default()).await;
    let (first, second) = tokio::join!(proxy.post("/x", "1"), proxy.post("/x", "2"));
    assert_eq!((first.status, second.status), (504, 504));
    // The place is given back with the connection.
    assert_eq!(proxy.post("/x", "3").await.status, 504);
}
