//! What rules take out reaches no record, while client and servers get every byte.

use proxy::config::Redaction;
use proxy::config::redaction::{Action, HashKey, JsonRule, NameRule, Side};

use crate::support::{Kept, Proxy, config, echo, full, send};

async fn start() -> Proxy {
    let mut config = config(echo("primary").await, echo("candidate").await);
    config.redaction = Redaction {
        headers: vec![NameRule { name: "x-user".into(), action: Action::Hash }],
        query: vec![NameRule { name: "user".into(), action: Action::Hash }],
        json: vec![JsonRule {
            path: "..ssn".parse().unwrap(),
            action: Action::Mask,
            route: None,
            side: Side::Both,
        }],
        key: Some(HashKey::new(b"0123456789abcdef").unwrap()),
    };
    Proxy::with(config, Kept::default()).await
}

#[tokio::test]
async fn what_a_rule_covers_reaches_no_record_and_everybody_else_gets_it() {
    let proxy = start().await;
    let small = r#"{"patient":{"ssn":"078-05-1120"},"score":NaN}"#.to_owned();
    let large = format!(r#"{{"patient":{{"ssn":"078-05-1120"}},"text":"{}"}}"#, "x".repeat(200_000));
    for (count, body) in [small, large].into_iter().enumerate() {
        let request = http::Request::post("/infer?user=Jane&n=1").header("host", "test");
        let request = request.header("x-user", "Jane").body(full(body.clone())).unwrap();
        let answer = send(proxy.address, request).await;
        assert_eq!(answer.body, body, "the client gets what the primary answers");

        let exchange = proxy.exchanges(count + 1).await.pop().unwrap();
        let left = body.replace("078-05-1120", "[redacted]");
        let bodies = [&exchange.request.body, &exchange.primary.body, &exchange.shadow.body];
        for recorded in bodies {
            assert_eq!(recorded.bytes, left);
            assert_eq!((recorded.length, recorded.truncated), (body.len() as u64, false));
            assert_eq!(recorded.digest, exchange::Body::whole(left.clone().into()).digest);
        }
        let hash = exchange::leg::header(&exchange.request.headers, "x-user").unwrap();
        assert_eq!(exchange.request.query, Some(format!("user={hash}&n=1")));
    }
    let published = String::from_utf8_lossy(&proxy.kept.bytes()).into_owned();
    for secret in ["078-05-1120", "Jane"] {
        assert!(!published.contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_withheld_and_counted() {
    let proxy = start().await;
    assert_eq!(proxy.post("/infer", "ssn 078-05-1120").await.body, "ssn 078-05-1120");
    let exchange = proxy.exchanges(1).await.pop().unwrap();
    for body in [&exchange.request.body, &exchange.primary.body, &exchange.shadow.body] {
        assert_eq!((body.bytes.len(), body.digest, body.truncated), (0, None, true));
    }
    let request = http::Request::get("/metrics").header("host", "test").body(full("")).unwrap();
    let metrics = send(proxy.admin, request).await.body;
    let metrics = String::from_utf8_lossy(&metrics);
    assert!(metrics.contains("shadowdiff_bodies_withheld_total{reason=\"not_json\"} 3"), "{metrics}");
}
