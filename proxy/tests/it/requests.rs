//! Requests as raw bytes: which are refused, and what of the others reaches the node.

use crate::protocols::told;
use crate::support::{Proxy, echo, nobody, read_message, write};

#[tokio::test]
async fn requests_that_are_none_or_ask_for_too_much_are_refused_and_reach_nobody() {
    let cases = [
        ("GET / HTTP/1.1\r\n\r\n", "400"),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"),
        ("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", "400"),
        ("GET http://a/ HTTP/1.1\r\n\r\n", "400"),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "501"),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "501",
        ),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", "400"),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400"),
        ("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", "501"),
    ];
    let proxy = Proxy::start(nobody().await, nobody().await).await;
    for (request, status) in cases {
        let answer = read_message(&mut write(proxy.address, request.as_bytes()).await).await;
        let answer = String::from_utf8_lossy(&answer);
        assert_eq!(answer.get(9..12), Some(status), "{request:?}: {answer}");
    }
    let (ledger, _) = proxy.stop().await;
    assert_eq!(ledger.total(|item| item == exchange::Item::Mirrored), 0);
    assert_eq!(
        ledger.total(|item| matches!(item, exchange::Item::Skipped(exchange::ledger::SkipReason::Upgrade))),
        1
    );
}

#[tokio::test]
async fn the_host_of_a_request_is_the_one_that_it_is_for() {
    let cases = [
        ("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", "host: a"),
        ("GET http://b:81/x HTTP/1.1\r\nX-First: 1\r\nHost: a\r\n\r\n", "host: b:81"),
        // Connection names what belongs to it alone; these do not.
        ("GET /x HTTP/1.1\r\nHost: a\r\nConnection: host\r\n\r\n", "host: a"),
        (
            "GET /x HTTP/1.1\r\nHost: a\r\nAuthorization: k\r\nConnection: authorization, x-b\r\nX-B: 1\r\n\r\n",
            "authorization: k",
        ),
    ];
    for (request, wanted) in cases {
        let (node, seen) = told(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        let proxy = Proxy::start(node, echo("b").await).await;
        let answer = read_message(&mut write(proxy.address, request.as_bytes()).await).await;
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{request:?}");
        let seen = seen.await.unwrap().to_ascii_lowercase();
        assert!(seen.starts_with("get /x http/1.1\r\n"), "{request:?}: {seen}");
        assert!(seen.lines().any(|line| line == wanted), "{request:?}: {seen}");
        assert!(!seen.contains("x-b"), "{seen}");
        proxy.stop().await;
    }
}

#[tokio::test]
async fn the_authority_of_an_http2_request_is_its_host() {
    let (node, seen) = told(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let proxy = Proxy::start(node, echo("b").await).await;
    let request =
        http::Request::get("http://meant/x").header("host", "other").body(crate::support::full("")).unwrap();
    let answer = crate::calls::connect(proxy.address).await.send_request(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    let seen = seen.await.unwrap().to_ascii_lowercase();
    assert!(seen.contains("host: meant\r\n") && !seen.contains("other"), "{seen}");
}
