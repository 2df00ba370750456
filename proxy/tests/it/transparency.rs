//! The client sees the primary, the whole primary and nothing but the primary.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use exchange::Outcome;
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::channel::Channel;
use tokio::io::AsyncReadExt;
use tokio::sync::Notify;

use crate::support::{Proxy, config, echo, eventually, full, nobody, read_message, send, serve, write};

#[tokio::test]
async fn both_answers_are_recorded_as_one_exchange() {
    let proxy = Proxy::start(echo("a").await, echo("b").await).await;
    let request = Request::post("/v2/models/m/infer?api_key=s3cret&x=1")
        .header("host", "test")
        .header("x-request-id", "r-1")
        .header("authorization", "Bearer s3cret")
        .body(full("hello"))
        .unwrap();
    let answer = send(proxy.address, request).await;
    assert_eq!(
        (answer.status, &answer.body[..], answer.headers["x-server"].as_str()),
        (200, &b"hello"[..], "a")
    );
    let (ledger, kept) = proxy.stop().await;
    let exchanges = kept.exchanges();
    let exchange = &exchanges[0];
    assert_eq!(exchanges.len(), 1);
    assert_eq!(exchange.request.id.as_deref(), Some("r-1"));
    assert_eq!(exchange.request.path, "/v2/models/m/infer");
    assert_eq!(exchange.request.query.as_deref(), Some("api_key=[redacted]&x=1"));
    assert_eq!(&exchange.request.body.bytes[..], b"hello");
    for (leg, server) in [(&exchange.primary, "a"), (&exchange.shadow, "b")] {
        assert_eq!((leg.outcome, leg.status, leg.attempts), (Outcome::Answered, Some(200), 1));
        assert_eq!(leg.header("x-server"), Some(server));
        assert_eq!(&leg.body.bytes[..], b"hello");
        assert!(
            leg.latency_us >= leg.first_byte_us && leg.first_byte_us.is_some() && leg.queued_us.is_some()
        );
        assert!(leg.connection.is_some());
    }
    assert!(ledger.closing);
    let secret = b"s3cret";
    assert!(
        !kept.bytes().windows(secret.len()).any(|window| window == secret),
        "a secret reached the record"
    );
}

#[tokio::test]
async fn an_answer_is_the_same_with_mirroring_on_and_off() {
    let primary = serve(|request| async move {
        let (status, length) = match request.uri().path() {
            "/missing" => (404, None),
            "/chunked" => (200, Some(false)),
            _ => (200, Some(true)),
        };
        let method = request.method().clone();
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let reply = format!("{method} {}", body.len());
        let response =
            Response::builder().status(status).header("x-odd", "caf\u{e9}".escape_default().to_string());
        match length {
            Some(false) => {
                let (mut sender, channel) = Channel::<Bytes, std::io::Error>::new(2);
                tokio::spawn(async move { sender.send_data(Bytes::from(reply)).await });
                response.body(channel.boxed()).unwrap()
            }
            _ => response.body(full(reply)).unwrap(),
        }
    })
    .await;
    let mirrored = Proxy::start(primary, echo("b").await).await;
    let mut off = config(primary, nobody().await);
    off.sampling.fraction = "0%".parse().unwrap();
    let unmirrored = Proxy::with(off, crate::support::Kept::default()).await;
    for path in ["/plain", "/missing", "/chunked"] {
        let answer = |address| async move {
            let request = Request::post(path).header("host", "t").body(full(vec![7; 100_000])).unwrap();
            let mut answer = send(address, request).await;
            answer.headers.remove("date");
            answer
        };
        let (on, off, direct) =
            (answer(mirrored.address).await, answer(unmirrored.address).await, answer(primary).await);
        assert_eq!(on, off, "{path}");
        assert_eq!(on, direct, "{path}");
    }
    assert_eq!(mirrored.stop().await.1.exchanges().len(), 3);
    assert_eq!(unmirrored.stop().await.1.exchanges().len(), 0);
}

/// Starts a server that sends `first` at once and `rest`, chunk by chunk, when it is told to.
async fn in_two_parts(first: Bytes, rest: Vec<Bytes>) -> (SocketAddr, Arc<Notify>) {
    let go_on = Arc::new(Notify::new());
    let wait = go_on.clone();
    let address = serve(move |_| {
        let (wait, first, rest) = (wait.clone(), first.clone(), rest.clone());
        async move {
            let (mut sender, body) = Channel::<Bytes, std::io::Error>::new(1);
            tokio::spawn(async move {
                sender.send_data(first).await.unwrap();
                wait.notified().await;
                for chunk in rest {
                    sender.send_data(chunk).await.unwrap();
                }
            });
            Response::new(body.boxed())
        }
    })
    .await;
    (address, go_on)
}

#[tokio::test]
async fn the_answer_streams_before_it_is_complete() {
    let (primary, go_on) =
        in_two_parts(Bytes::from_static(b"first"), vec![Bytes::from_static(b"second")]).await;
    let proxy = Proxy::start(primary, echo("b").await).await;
    let mut stream = write(proxy.address, b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 0\r\n\r\n").await;
    let mut seen = Vec::new();
    while !seen.windows(5).any(|window| window == b"first") {
        let mut buffer = [0; 512];
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0);
        seen.extend_from_slice(&buffer[..read]);
    }
    go_on.notify_one();
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!(&exchange.primary.body.bytes[..], b"firstsecond");
}

#[tokio::test]
async fn a_client_that_goes_away_ends_neither_leg() {
    let rest = vec![Bytes::from(vec![b'x'; 10_000]); 100];
    let (primary, go_on) = in_two_parts(Bytes::from(vec![b'x'; 1000]), rest).await;
    let mut config = config(primary, echo("b").await);
    config.limits.message = usize::MAX;
    let proxy = Proxy::with(config, crate::support::Kept::default()).await;
    let mut stream = write(proxy.address, b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 2\r\n\r\nhi").await;
    let mut buffer = [0; 64];
    assert!(stream.read(&mut buffer).await.unwrap() > 0);
    stream.set_zero_linger().unwrap();
    drop(stream);
    go_on.notify_one();
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!((exchange.primary.outcome, exchange.primary.status), (Outcome::ClientCancelled, Some(200)));
    assert_eq!(exchange.primary.body, exchange::Body::whole(vec![b'x'; 1_001_000].into()));
    assert_eq!((exchange.shadow.outcome, &exchange.shadow.body.bytes[..]), (Outcome::Answered, &b"hi"[..]));
    let (ledger, _) = proxy.stop().await;
    assert_eq!(ledger.total(|item| matches!(item, exchange::Item::Mirrored | exchange::Item::Delivered)), 2);
}

#[tokio::test]
async fn expect_100_continue_is_answered_and_goes_no_further() {
    let primary = serve(|request| async move {
        assert!(!request.headers().contains_key("expect"));
        let body = request.into_body().collect().await.unwrap().to_bytes();
        Response::new(full(body))
    })
    .await;
    let proxy = Proxy::start(primary, echo("b").await).await;
    let head = b"POST / HTTP/1.1\r\nhost: t\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n";
    let mut stream = write(proxy.address, head).await;
    let interim = read_message(&mut stream).await;
    assert!(interim.starts_with(b"HTTP/1.1 100"), "{}", String::from_utf8_lossy(&interim));
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"body").await.unwrap();
    let answer = read_message(&mut stream).await;
    assert!(answer.ends_with(b"body"), "{}", String::from_utf8_lossy(&answer));
}

#[tokio::test]
async fn a_client_that_closes_its_half_still_gets_its_answer() {
    let proxy = Proxy::start(echo("a").await, echo("b").await).await;
    let mut stream = write(proxy.address, b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 2\r\n\r\nhi").await;
    tokio::io::AsyncWriteExt::shutdown(&mut stream).await.unwrap();
    assert!(read_message(&mut stream).await.ends_with(b"hi"));
    assert_eq!(proxy.exchanges(1).await.len(), 1);
}

#[tokio::test]
async fn what_no_route_takes_is_forwarded_and_not_mirrored() {
    let proxy = Proxy::start(echo("a").await, nobody().await).await;
    let request = Request::get("/v2/health/ready").header("host", "t").body(full("")).unwrap();
    assert_eq!(send(proxy.address, request).await.status, 200);
    proxy.post("/v2/models/m/infer", "x").await;
    let (ledger, kept) = proxy.stop().await;
    assert_eq!(ledger.total(|item| item == exchange::Item::Mirrored), 1);
    assert_eq!(kept.exchanges().len(), 1);
}

#[tokio::test]
async fn the_copy_is_marked_and_the_request_is_not() {
    let seen = |name: &'static str| {
        serve(move |request| async move {
            let marked = request.headers().contains_key("x-shadowdiff-shadow");
            let host = request.headers()["host"].to_str().unwrap().to_owned();
            Response::new(full(format!("{name} {marked} {host}")))
        })
    };
    let proxy = Proxy::start(seen("a").await, seen("b").await).await;
    assert_eq!(&proxy.post("/", "x").await.body[..], b"a false test");
    let exchange = eventually(|| proxy.kept.exchanges().pop()).await;
    assert_eq!(&exchange.shadow.body.bytes[..], b"b true test");
}

#[tokio::test]
async fn connect_is_refused_and_reaches_nobody() {
    let proxy = Proxy::start(nobody().await, nobody().await).await;
    let mut stream = write(proxy.address, b"CONNECT example:443 HTTP/1.1\r\nhost: example:443\r\n\r\n").await;
    let answer = read_message(&mut stream).await;
    assert!(answer.starts_with(b"HTTP/1.1 501"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(proxy.stop().await.0.total(|item| item == exchange::Item::Mirrored), 0);
}

#[tokio::test]
async fn a_chunked_body_reaches_the_primary_whatever_the_method() {
    let proxy = Proxy::start(echo("a").await, echo("b").await).await;
    for method in ["GET", "POST", "DELETE"] {
        let head = format!("{method} /search HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\n");
        let mut stream = write(proxy.address, format!("{head}5\r\nhello\r\n0\r\n\r\n").as_bytes()).await;
        let answer = read_message(&mut stream).await;
        assert!(answer.ends_with(b"hello"), "{method}: {}", String::from_utf8_lossy(&answer));
    }
}

#[tokio::test]
async fn a_copy_of_an_empty_post_says_its_length() {
    let seen = |name: &'static str| {
        serve(move |request| async move {
            let length = request.headers().get("content-length").cloned();
            Response::new(full(format!("{name} {length:?}")))
        })
    };
    let proxy = Proxy::start(seen("a").await, seen("a").await).await;
    let mut stream = write(proxy.address, b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 0\r\n\r\n").await;
    read_message(&mut stream).await;
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!(exchange.shadow.body.bytes, exchange.primary.body.bytes);
}

#[tokio::test]
async fn an_answer_before_the_end_of_the_upload_reaches_the_client() {
    let primary = crate::support::raw(|mut stream, _| async move {
        let mut head = [0; 64];
        assert!(stream.read(&mut head).await.unwrap() > 0);
        let answer = b"HTTP/1.1 413 Payload Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno";
        tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await.unwrap();
        // Lingers as common servers do, so that the answer is not lost to a reset.
        tokio::io::AsyncWriteExt::shutdown(&mut stream).await.unwrap();
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.unwrap();
    })
    .await;
    let proxy = Proxy::start(primary, echo("b").await).await;
    let request = b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 5000000\r\n\r\n";
    let mut stream = write(proxy.address, request).await;
    let answer = read_message(&mut stream).await;
    assert!(answer.starts_with(b"HTTP/1.1 413"), "{}", String::from_utf8_lossy(&answer));
    drop(stream);
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!((exchange.primary.status, exchange.shadow.outcome), (Some(413), Outcome::ClientGone));
}

#[tokio::test]
async fn options_of_the_server_as_a_whole_go_on_as_they_came() {
    let seen = serve(|request| async move { Response::new(full(request.uri().to_string())) }).await;
    let proxy = Proxy::start(seen, nobody().await).await;
    let mut stream = write(proxy.address, b"OPTIONS * HTTP/1.1\r\nhost: t\r\n\r\n").await;
    let answer = read_message(&mut stream).await;
    assert!(answer.ends_with(b"*"), "{}", String::from_utf8_lossy(&answer));
}
