//! The admin port.

use http::{Request, Response};

use crate::support::{Proxy, echo, full, nobody, send, serve};

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

#[tokio::test]
async fn a_shadow_that_gets_nothing_is_told_everywhere_and_clients_are_served() {
    let proxy = Proxy::start(echo("a").await, nobody().await).await;
    let ready = get(&proxy, "/readyz").await;
    assert!(ready.0 == 200 && ready.1.contains("\"alarms\":[]"), "nothing has been mirrored: {}", ready.1);
    assert_eq!(proxy.post("/", "x").await.status, 200);
    proxy.exchanges(1).await;
    let (status, body) = get(&proxy, "/readyz").await;
    assert!(status == 200 && body.contains("candidate has received nothing"), "{body}");
    assert!(body.contains("\"received\":{\"candidate\":0}"), "{body}");
    let (_, metrics) = get(&proxy, "/metrics").await;
    for line in [
        "shadowdiff_alarm{target=\"candidate\",alarm=\"received_nothing\"} 1",
        "shadowdiff_alarm{target=\"candidate\",alarm=\"only_4xx\"} 0",
        "shadowdiff_shadow_answers_total{target=\"candidate\",status=\"2xx\"} 0",
        "shadowdiff_publisher_connected 1",
    ] {
        assert!(metrics.contains(line), "{line} in\n{metrics}");
    }
    let (status, page) = get(&proxy, "/").await;
    assert!(status == 200 && page.contains("<p class=\"alarm\">candidate has received nothing"), "{page}");
    assert!(page.contains("refused 1"), "{page}");
}

#[tokio::test]
async fn a_shadow_that_only_says_404_is_called_misrouted() {
    let missing = serve(|_| async { Response::builder().status(404).body(full("")).unwrap() }).await;
    let proxy = Proxy::start(echo("a").await, missing).await;
    for _ in 0..10 {
        proxy.post("/", "x").await;
    }
    proxy.exchanges(10).await;
    let status: serde_json::Value = serde_json::from_str(&get(&proxy, "/status").await.1).unwrap();
    let shadow = &status["shadows"][0];
    assert_eq!((&shadow["alarm"], &shadow["answers"]["4xx"]), (&"only_4xx".into(), &10.into()));
    assert_eq!((&shadow["received"], &shadow["role"]), (&10.into(), &"candidate".into()));
    assert!(status["alarms"][0].as_str().unwrap().contains("misrouted?"), "{status}");
}

#[tokio::test]
async fn the_page_loads_nothing_and_may_not_be_framed() {
    let proxy = Proxy::start(echo("a").await, echo("b").await).await;
    let answer = send(proxy.admin, Request::get("/").header("host", "t").body(full("")).unwrap()).await;
    assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8");
    let policy = &answer.headers["content-security-policy"];
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
}
