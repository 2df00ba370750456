//! Calls over HTTP/2: unary and streamed, their trailers and deadlines.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use exchange::Outcome;
use exchange::leg::HttpVersion;
use http::Response;
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;

use crate::calls::{INFER, call, connect, echo, message, ok, outcome, pieces, serve, streamed, unary};
use crate::support::{Kept, Proxy, config, eventually, full, raw};

async fn started(primary: SocketAddr, candidate: SocketAddr) -> Proxy {
    Proxy::with(config(primary, candidate), Kept::default()).await
}

#[tokio::test]
async fn a_unary_call_is_answered_with_its_trailers_and_mirrored() {
    let proxy = started(echo().await, echo().await).await;
    let response = connect(proxy.address).await.send_request(unary(proxy.address, b"in")).await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/grpc");
    assert_eq!(outcome(response).await, ("0".into(), message(b"in")));
    let exchange = &proxy.exchanges(1).await[0];
    for leg in [&exchange.primary, &exchange.shadow] {
        assert_eq!((leg.outcome, leg.grpc_status), (Outcome::Answered, Some(0)));
        assert_eq!((leg.http_version, leg.stream), (Some(HttpVersion::Http2), Some(0)));
        assert_eq!(leg.trailers, [("grpc-status".to_owned(), "0".to_owned())]);
        assert_eq!(leg.body.bytes, message(b"in"));
    }
    assert_eq!(exchange.request.body.bytes, message(b"in"));
}

#[tokio::test]
async fn an_answer_of_trailers_only_stays_one() {
    let refuse = || async {
        let handler = |_| async {
            let mut response = Response::new(full(""));
            response.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
            response.headers_mut().insert("grpc-status", "5".parse().unwrap());
            response.headers_mut().insert("grpc-message", "no such model".parse().unwrap());
            response
        };
        serve(handler).await.0
    };
    let proxy = started(refuse().await, refuse().await).await;
    let response = connect(proxy.address).await.send_request(unary(proxy.address, b"in")).await.unwrap();
    assert_eq!(response.headers()["grpc-status"], "5");
    assert!(hyper::body::Body::is_end_stream(response.body()), "the head ends the stream");
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!((exchange.shadow.outcome, exchange.shadow.grpc_status), (Outcome::Answered, Some(5)));
}

#[tokio::test]
async fn a_stream_goes_both_ways_at_once_and_its_copy_goes_along() {
    let proxy = started(echo().await, echo().await).await;
    let (mut sending, body) = pieces();
    let mut sender = connect(proxy.address).await;
    let path = "/inference.GRPCInferenceService/ModelStreamInfer";
    let response = sender.send_request(call(proxy.address, path, body));
    sending.send_data(message(b"one")).await.unwrap();
    let mut answers = response.await.unwrap().into_body();
    // Each answer comes before the next question is asked, on both legs.
    for (sent, next) in [(&b"one"[..], Some(&b"two"[..])), (b"two", Some(b"three")), (b"three", None)] {
        let answer = answers.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(answer, message(sent));
        if let Some(next) = next {
            sending.send_data(message(next)).await.unwrap();
        }
    }
    drop(sending);
    let trailers = answers.frame().await.unwrap().unwrap().into_trailers().unwrap();
    assert_eq!(trailers["grpc-status"], "0");
    let all: Bytes = [message(b"one"), message(b"two"), message(b"three")].concat().into();
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!(exchange.request.body.bytes, all);
    assert_eq!((exchange.primary.body.bytes.clone(), exchange.shadow.body.bytes.clone()), (all.clone(), all));
    assert_eq!(exchange.shadow.outcome, Outcome::Answered);
}

#[tokio::test]
async fn a_stream_that_passes_the_cap_goes_on_and_its_copy_is_cut_and_told() {
    let mut config = config(echo().await, echo().await);
    config.limits.body = 1000;
    let proxy = Proxy::with(config, Kept::default()).await;
    let (mut sending, body) = pieces();
    let mut sender = connect(proxy.address).await;
    let response = sender.send_request(call(proxy.address, INFER, body));
    sending.send_data(message(&[7; 600])).await.unwrap();
    let response = response.await.unwrap();
    sending.send_data(message(&[8; 600])).await.unwrap();
    drop(sending);
    assert_eq!(
        outcome(response).await,
        ("0".into(), [message(&[7; 600]), message(&[8; 600])].concat().into())
    );
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!(exchange.shadow.outcome, Outcome::BodyTooLarge, "{}", exchange.shadow.reason);
    assert_eq!(exchange.primary.outcome, Outcome::Answered);
}

#[tokio::test]
async fn the_deadline_of_a_call_is_kept_by_the_proxy_and_takes_no_other_call_with_it() {
    let release = Arc::new(Notify::new());
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (go, timeouts) = (release.clone(), seen.clone());
    let (primary, connections) = serve(move |request| {
        let (go, timeouts) = (go.clone(), timeouts.clone());
        async move {
            timeouts.lock().unwrap().push(request.headers().get("grpc-timeout").cloned());
            go.notified().await;
            streamed(request.into_body(), ok())
        }
    })
    .await;
    let proxy = started(primary, echo().await).await;
    let mut sender = connect(proxy.address).await;
    let other = tokio::spawn(sender.send_request(unary(proxy.address, b"patient")));
    eventually(|| (seen.lock().unwrap().len() == 1).then_some(())).await;
    let mut hasty = unary(proxy.address, b"hasty");
    hasty.headers_mut().insert("grpc-timeout", "50m".parse().unwrap());
    let response = sender.send_request(hasty).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(outcome(response).await.0, "4");
    assert_eq!(seen.lock().unwrap()[1].as_ref().unwrap(), "1050m", "the node is told a later one");
    release.notify_waiters();
    assert_eq!(outcome(other.await.unwrap().unwrap()).await, ("0".into(), message(b"patient")));
    assert_eq!(connections.load(Ordering::Relaxed), 1);
    let exchanges = proxy.exchanges(2).await;
    let hasty = exchanges.iter().find(|e| e.request.body.bytes == message(b"hasty")).unwrap();
    assert_eq!((hasty.primary.outcome, hasty.shadow.outcome), (Outcome::TimedOut, Outcome::Answered));
}

#[tokio::test]
async fn a_deadline_in_the_middle_of_a_stream_ends_it_with_its_status() {
    let (primary, _) = serve(|_| async {
        let (mut sending, body) = pieces();
        sending.send_data(message(b"first")).await.unwrap();
        tokio::spawn(async move {
            std::future::pending::<()>().await;
            drop(sending);
        });
        let mut response = Response::new(body);
        response.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
        response
    })
    .await;
    let proxy = started(primary, echo().await).await;
    let mut request = unary(proxy.address, b"x");
    request.headers_mut().insert("grpc-timeout", "300m".parse().unwrap());
    let response = connect(proxy.address).await.send_request(request).await.unwrap();
    assert_eq!(outcome(response).await, ("4".into(), message(b"first")));
    assert_eq!(proxy.exchanges(1).await[0].primary.outcome, Outcome::TimedOut);
}

/// An HTTP/2 server by hand. On its first connection it leaves the first call unanswered and answers the second with a
/// deadline four times over, as servers on an old gRPC core do; on later connections it answers at once.
async fn repeats_trailers() -> SocketAddr {
    const DEADLINE: &[u8] =
        b"\x00\x07:status\x03200\x00\x0ccontent-type\x10application/grpc\x00\x0bgrpc-status\x014";
    const FINE: &[u8] =
        b"\x00\x07:status\x03200\x00\x0ccontent-type\x10application/grpc\x00\x0bgrpc-status\x010";
    let frame = |kind: u8, flags: u8, stream: u32, payload: &[u8]| {
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        frame
    };
    raw(move |mut stream, number| async move {
        let mut preface = [0; 24];
        stream.read_exact(&mut preface).await.unwrap();
        stream.write_all(&frame(4, 0, 0, &[])).await.unwrap();
        let mut head = [0; 9];
        while stream.read_exact(&mut head).await.is_ok() {
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let (kind, flags) = (head[3], head[4]);
            let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            let mut payload = vec![0; length as usize];
            stream.read_exact(&mut payload).await.unwrap();
            let answer = match kind {
                4 if flags & 1 == 0 => frame(4, 1, 0, &[]),
                6 if flags & 1 == 0 => frame(6, 1, 0, &payload),
                1 if number > 0 => frame(1, 5, id, FINE),
                1 if id > 1 => [frame(1, 5, id, DEADLINE), frame(3, 0, id, &[0; 4])].concat().repeat(4),
                _ => continue,
            };
            if stream.write_all(&answer).await.is_err() {
                return;
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_server_that_repeats_its_trailers_takes_no_unrelated_call_with_it() {
    let proxy = started(repeats_trailers().await, echo().await).await;
    let mut sender = connect(proxy.address).await;
    let unrelated = tokio::spawn(sender.send_request(unary(proxy.address, b"unrelated")));
    // On the same connection, so after it.
    let begun = || proxy.kept.exchanges().iter().any(|e| e.request.body.bytes == message(b"unrelated"));
    assert!(!begun());
    let late = sender.send_request(unary(proxy.address, b"late")).await.unwrap();
    assert_eq!(outcome(late).await.0, "4");
    assert_eq!(outcome(unrelated.await.unwrap().unwrap()).await.0, "0");
    let exchanges = proxy.exchanges(2).await;
    let unrelated = exchanges.iter().find(|e| e.request.body.bytes == message(b"unrelated")).unwrap();
    assert_eq!((unrelated.primary.outcome, unrelated.primary.attempts), (Outcome::Answered, 2));
}

#[tokio::test]
async fn a_call_that_ends_without_its_status_is_incomplete() {
    let silent = serve(|request| async move {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let mut response = Response::new(full(body));
        response.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
        response
    });
    let proxy = started(echo().await, silent.await.0).await;
    let response = connect(proxy.address).await.send_request(unary(proxy.address, b"in")).await.unwrap();
    assert_eq!(outcome(response).await.0, "0");
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!((exchange.shadow.outcome, exchange.shadow.grpc_status), (Outcome::Incomplete, None));
    assert!(exchange.shadow.reason.contains("grpc-status"));
}

#[tokio::test]
async fn a_primary_that_is_down_is_said_in_the_words_of_grpc() {
    let proxy = started(crate::support::nobody().await, echo().await).await;
    let response = connect(proxy.address).await.send_request(unary(proxy.address, b"in")).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-type"]),
        (200, &"application/grpc".parse().unwrap())
    );
    assert_eq!(outcome(response).await.0, "14");
}

#[tokio::test]
async fn messages_of_every_size_arrive_whole() {
    let mut config = config(echo().await, echo().await);
    config.limits.message = usize::MAX;
    let proxy = Proxy::with(config, Kept::default()).await;
    let mut sender = connect(proxy.address).await;
    for size in [0, 1, 16 << 10, 70 << 10, 1 << 20, 3 << 20] {
        let payload = vec![size as u8; size];
        let response = sender.send_request(unary(proxy.address, &payload)).await.unwrap();
        assert_eq!(outcome(response).await, ("0".into(), message(&payload)), "{size}");
    }
    let exchanges = proxy.exchanges(6).await;
    assert!(exchanges.iter().all(|e| e.shadow.body == e.primary.body && !e.shadow.body.truncated));
}

#[tokio::test]
async fn the_time_of_a_copied_stream_begins_when_its_request_is_complete() {
    let mut config = config(echo().await, echo().await);
    config.shadows[0].target.total_timeout = Some(std::time::Duration::from_millis(100));
    let proxy = Proxy::with(config, Kept::default()).await;
    let (mut sending, body) = pieces();
    let mut sender = connect(proxy.address).await;
    let response = sender.send_request(call(proxy.address, INFER, body));
    sending.send_data(message(b"one")).await.unwrap();
    let response = response.await.unwrap();
    // Past the time of an answer, which has not begun.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    sending.send_data(message(b"two")).await.unwrap();
    drop(sending);
    assert_eq!(outcome(response).await.0, "0");
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!(exchange.shadow.outcome, Outcome::Answered, "{}", exchange.shadow.reason);
    assert_eq!(exchange.shadow.body.bytes, exchange.request.body.bytes);
}
