//! What the self-test finds, and what it does not tell.

use std::net::SocketAddr;

use http::header::AUTHORIZATION;
use http::{HeaderValue, Method, Response};
use proxy::config::{ClientTls, HostPolicy, Rewrite, Verify};
use proxy::selftest::{Ask, self_test};

use crate::protocols::{Authority, tls_node, tls_target};
use crate::support::{config, full, nobody, serve};

/// A server that answers with the headers it got, and 404 to all but one path.
async fn mirror(path: &'static str) -> SocketAddr {
    serve(move |request| async move {
        let status = if request.uri().path() == path { 200 } else { 404 };
        let mut text: Vec<String> = request
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
            .collect();
        text.sort();
        Response::builder().status(status).body(full(text.join(";"))).unwrap()
    })
    .await
}

#[tokio::test]
async fn each_leg_is_asked_and_what_it_receives_is_told_without_secrets() {
    let mut config = config(mirror("/").await, mirror("/canary/v2/health/ready").await);
    let mut authorization = HeaderValue::from_static("Bearer s3cret-token");
    authorization.set_sensitive(true);
    let target = &mut config.shadows[0].target;
    target.host = HostPolicy::Fixed("candidate.models".parse().unwrap());
    target.rewrite =
        Rewrite { authorization: Some(authorization), add_prefix: "/canary".into(), ..Rewrite::of_copies() };
    let findings = self_test(&config, None).await.unwrap();
    assert!(findings.ok, "{findings}");

    let primary = &findings.legs[0];
    assert_eq!((primary.target.as_str(), primary.role), ("primary", "primary"));
    let node = &primary.nodes[0];
    assert_eq!(
        (node.asked.as_str(), node.status),
        ("GET /", Some(200)),
        "the second request, as the first is refused"
    );
    assert_eq!(
        (node.address, node.http.as_deref()),
        (Some(config.primary.nodes[0].name.parse().unwrap()), Some("HTTP/1.1"))
    );
    assert!(node.tls.is_none() && node.latency_us > 0);
    let value = |leg: &proxy::selftest::LegFindings, name: &str| {
        exchange::leg::header(&leg.received.as_ref().unwrap().headers, name).map(str::to_owned)
    };
    assert_eq!(value(primary, "x-shadowdiff-self-test").as_deref(), Some("1"));
    assert_eq!(value(primary, "x-shadowdiff-shadow"), None);

    let candidate = &findings.legs[1];
    assert_eq!(candidate.nodes[0].status, Some(200));
    let received = candidate.received.as_ref().unwrap();
    assert_eq!((received.method.as_str(), received.path.as_str()), ("GET", "/canary/v2/health/ready"));
    for (name, sent) in [
        ("host", "candidate.models"),
        ("authorization", "[redacted]"),
        ("x-shadowdiff-shadow", "1"),
        ("x-shadowdiff-self-test", "1"),
    ] {
        assert_eq!(value(candidate, name).as_deref(), Some(sent), "{name}");
    }
    let answer = candidate.nodes[0].answer.as_ref().unwrap();
    assert!(
        answer.contains("authorization=[redacted]") && answer.contains("host=candidate.models"),
        "{answer}"
    );
    let told = format!("{findings}{}", findings.json());
    assert!(!told.contains("s3cret"), "{told}");
}

#[tokio::test]
async fn a_node_that_is_not_there_or_refuses_the_own_request_fails_its_leg() {
    let config = config(mirror("/score").await, nobody().await);
    let ask = |path: &'static str| Ask {
        method: Method::POST,
        path: path.parse().unwrap(),
        body: "{}".into(),
        ..Ask::default()
    };
    let findings = self_test(&config, Some(ask("/score"))).await.unwrap();
    assert_eq!(findings.legs.iter().map(|leg| leg.ok).collect::<Vec<_>>(), [true, false]);
    assert_eq!(findings.legs[0].received.as_ref().unwrap().body_bytes, 2);
    let node = &findings.legs[1].nodes[0];
    assert!(!findings.ok && node.error.as_ref().unwrap().contains("connecting to"), "{findings}");
    assert!(findings.to_string().contains("FAILED"), "{findings}");

    let findings = self_test(&config, Some(ask("/other"))).await.unwrap();
    assert_eq!((findings.legs[0].ok, findings.legs[0].nodes[0].status), (false, Some(404)));
}

#[tokio::test]
async fn how_a_node_is_reached_over_tls_is_told() {
    let authority = Authority::new();
    let node = tls_node(&authority, false).await;
    let mut config = config(nobody().await, nobody().await);
    let trusted = ClientTls { verify: Verify::Ca(authority.ca()), ..ClientTls::default() };
    let anyone = ClientTls { verify: Verify::Off, ..ClientTls::default() };
    (config.primary.nodes, config.primary.tls) = tls_target(&node, trusted);
    let shadow = &mut config.shadows[0].target;
    (shadow.nodes, shadow.tls) = tls_target(&node, anyone);
    let ask = Ask {
        headers: [(AUTHORIZATION, HeaderValue::from_static("Bearer mine"))].into_iter().collect(),
        ..Ask::default()
    };
    let findings = self_test(&config, Some(ask)).await.unwrap();
    let tls = |leg: usize| findings.legs[leg].nodes[0].tls.clone().unwrap();
    assert!(findings.ok, "{findings}");
    assert!(tls(0).verified && !tls(1).verified);
    assert_eq!((tls(0).version.as_str(), tls(0).alpn.as_deref()), ("TLSv1_3", Some("http/1.1")));
    assert!(findings.to_string().contains("NOT VERIFIED"), "{findings}");
}
