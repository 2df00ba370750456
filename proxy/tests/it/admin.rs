//! The admin port.

use http::Request;

use crate::support::{Proxy, echo, full, nobody, send};

async fn get(proxy: &Proxy, path: &str) -> (u16, String) {
    let request = Request::get(path).header("host", "t").body(full("")).unwrap();
    let answer = send(proxy.admin, request).await;
    (answer.status, String::from_utf8(answer.body.to_vec()).unwrap())
}

#[tokio::test]
async fn metrics_and_status_tell_the_same_counts() {
    let proxy = Proxy::start(echo("a").await, nobody().await).await;
    for _ in 0..3 {
        proxy.post("/", "x").await;
    }
    proxy.exchanges(3).await;
    let (status, metrics) = get(&proxy, "/metrics").await;
    assert_eq!(status, 200);
    for line in [
        "shadowdiff_responses_total{status=\"2xx\"} 3",
        "shadowdiff_mirrored_total{target=\"candidate\"} 3",
        "shadowdiff_exchanges_total{target=\"candidate\",outcome=\"refused\"} 3",
        "shadowdiff_delivered_total 3",
        "shadowdiff_dropped_total{reason=\"queue_full\"} 0",
        "# HELP shadowdiff_inflight ",
    ] {
        assert!(metrics.contains(line), "{line} in\n{metrics}");
    }
    let status: serde_json::Value = serde_json::from_str(&get(&proxy, "/status").await.1).unwrap();
    assert_eq!(
        (&status["mirrored"], &status["delivered"], &status["dropped"]),
        (&3.into(), &3.into(), &0.into())
    );
}

#[tokio::test]
async fn health_is_told_and_what_is_unknown_says_what_is_known() {
    let proxy = Proxy::start(echo("a").await, echo("b").await).await;
    assert_eq!(get(&proxy, "/livez").await, (200, "{\"live\":true}\n".into()));
    let (status, body) = get(&proxy, "/readyz").await;
    assert!(status == 200 && body.contains("\"ready\":true"), "{body}");
    let (status, body) = get(&proxy, "/nothing").await;
    assert!(status == 404 && body.contains("/metrics"), "{body}");
}
