//! Which requests are mirrored, and how that is changed while the proxy serves.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use bytes::Bytes;
use exchange::{Item, Ledger, Outcome, SkipReason};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use proxy::config::{By, Config, Sampling, Schedule};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::support::{Body, Kept, Proxy, config, echo, eventually, full, hang, send, serve};

/// Asks for a change on the admin port.
async fn put(proxy: &Proxy, change: &str) -> (u16, serde_json::Value) {
    let request =
        Request::put("/sampling").header("host", "127.0.0.1").header("content-type", "application/json");
    let answer = send(proxy.admin, request.body(full(change.to_owned())).unwrap()).await;
    (answer.status, serde_json::from_slice(&answer.body).unwrap())
}

async fn with(change: impl FnOnce(&mut Config)) -> Proxy {
    let mut config = config(echo("primary").await, echo("candidate").await);
    change(&mut config);
    Proxy::with(config, Kept::default()).await
}

/// A connection that stays open.
struct Living(SendRequest<Body>);

impl Living {
    async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    async fn post(&mut self, path: &str, body: &str) -> StatusCode {
        self.0.ready().await.expect("the connection lives");
        let request = Request::post(path).header("host", "t").body(full(body.to_owned())).unwrap();
        let response: Response<_> = self.0.send_request(request).await.expect("the connection lives");
        let status = response.status();
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), Bytes::from(body.to_owned()));
        status
    }
}

fn total(ledger: &Ledger, item: Item) -> u64 {
    ledger.total(|of| of == item)
}

#[tokio::test]
async fn a_change_is_in_force_for_the_next_request_of_a_connection_that_lives() {
    let proxy = with(|config| config.sampling.fraction = "0%".parse().unwrap()).await;
    let mut client = Living::open(proxy.address).await;
    client.post("/v2/models/m/infer", "before").await;
    let (status, now) = put(&proxy, r#"{"sample": "100%"}"#).await;
    assert_eq!((status, &now["sample"]), (200, &1.0.into()));
    for number in 0..3 {
        assert_eq!(client.post("/v2/models/m/infer", &format!("on {number}")).await, 200);
    }
    assert_eq!(put(&proxy, r#"{"sample": 0}"#).await.0, 200);
    client.post("/v2/models/m/infer", "after").await;
    let (ledger, kept) = proxy.stop().await;
    let bodies: BTreeSet<Vec<u8>> =
        kept.exchanges().iter().map(|exchange| exchange.request.body.bytes.to_vec()).collect();
    assert_eq!(bodies, ["on 0", "on 1", "on 2"].map(|body| body.as_bytes().to_vec()).into());
    let connections: BTreeSet<u64> =
        kept.exchanges().iter().map(|exchange| exchange.request.client_connection).collect();
    assert_eq!((connections.len(), total(&ledger, Item::Mirrored)), (1, 3));
}

#[tokio::test]
async fn a_change_that_is_none_says_why_and_changes_nothing() {
    let proxy = with(|_| {}).await;
    let before = put(&proxy, "{}").await.1;
    for (change, status, wanted) in [
        (r#"{"sample": "500%"}"#, 400, "write 5%"),
        (r#"{"sample": "50%", "max_per_second": 0}"#, 400, "max_per_second 0"),
        (r#"{"smaple": 1}"#, 400, "unknown field `smaple`"),
        (r#"{"copies": {"canary": 1}}"#, 400, "there are candidate"),
        ("[]", 400, "invalid type"),
        ("{", 400, "EOF"),
        (r#"{"run": ""}"#, 400, "run ``"),
    ] {
        let (got, answer) = put(&proxy, change).await;
        let error = answer["error"].as_str().unwrap();
        assert!(got == status && error.contains(wanted), "{change}: {got} {error}");
    }
    assert_eq!(put(&proxy, "{}").await, (200, before));
}

#[tokio::test]
async fn a_page_of_another_site_and_a_body_too_large_change_nothing() {
    let proxy = with(|_| {}).await;
    let ask = async |headers: &[(&str, &str)], body: String| {
        let mut request = Request::put("/sampling").header("host", "127.0.0.1:1");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        send(proxy.admin, request.body(full(body)).unwrap()).await.status
    };
    let json = ("content-type", "application/json");
    let none = || r#"{"sample": 0}"#.to_owned();
    assert_eq!(ask(&[json, ("origin", "http://evil.example")], none()).await, 403);
    assert_eq!(ask(&[("content-type", "text/plain")], none()).await, 415);
    assert_eq!(ask(&[json], " ".repeat(100_000)).await, 413);
    let delete = Request::delete("/sampling").header("host", "t").body(full("")).unwrap();
    let answer = send(proxy.admin, delete).await;
    assert_eq!((answer.status, answer.headers["allow"].as_str()), (405, "GET, HEAD, PUT"));
    assert_eq!(put(&proxy, "{}").await.1["sample"], 1.0);
    assert_eq!(ask(&[json, ("origin", "http://127.0.0.1:1")], none()).await, 200);
}

#[tokio::test]
async fn a_route_that_redaction_goes_by_stays() {
    use proxy::config::redaction::{Action, JsonRule, Side};
    let proxy = with(|config| {
        let path = "/prompt".parse().unwrap();
        let route = Some("default".into());
        config.redaction.json = vec![JsonRule { path, action: Action::Mask, route, side: Side::Both }];
    })
    .await;
    let (status, answer) = put(&proxy, r#"{"routes": [{"name": "other", "path": "/"}]}"#).await;
    assert!(status == 400 && answer["error"].as_str().unwrap().contains("`default`"), "{answer}");
    assert_eq!(put(&proxy, r#"{"routes": [{"name": "default", "path": "/v2/"}]}"#).await.0, 200);
}

/// A server whose answers wait until they are let go.
async fn held() -> (SocketAddr, watch::Sender<bool>) {
    let (let_go, wait) = watch::channel(false);
    let address = serve(move |_| {
        let mut wait = wait.clone();
        async move {
            let _ = wait.wait_for(|gone| *gone).await;
            Response::new(full("late"))
        }
    })
    .await;
    (address, let_go)
}

#[tokio::test]
async fn a_new_run_has_an_account_of_its_own_and_the_old_one_ends_with_its_last_exchange() {
    let (candidate, let_go) = held().await;
    let mut config = config(echo("primary").await, candidate);
    config.ledger_every = std::time::Duration::from_millis(50);
    let proxy = Proxy::with(config, Kept::default()).await;
    for _ in 0..2 {
        proxy.post("/", "first").await;
    }
    let (status, now) = put(&proxy, r#"{"run": "second"}"#).await;
    assert_eq!((status, &now["run"]), (200, &"second".into()));
    proxy.post("/", "second").await;
    let closing =
        |run: &str| proxy.kept.ledgers().into_iter().find(|ledger| ledger.closing && ledger.run == run);
    // Some ledgers of both are there: the run that is under way is not among the closed ones.
    let ledgers = |run: &str| proxy.kept.ledgers().iter().filter(|ledger| ledger.run == run).count();
    let (of_first, of_second) = (ledgers("run"), ledgers("second"));
    eventually(|| (ledgers("run") > of_first + 1 && ledgers("second") > of_second + 1).then_some(())).await;
    assert!(closing("run").is_none());
    assert_eq!(put(&proxy, r#"{"run": "run"}"#).await.0, 409, "it would be counted twice");
    let_go.send_replace(true);
    let first = eventually(|| closing("run")).await;
    assert_eq!(
        (
            total(&first, Item::Mirrored),
            total(&first, Item::Outcome(Outcome::Answered)),
            total(&first, Item::Delivered)
        ),
        (2, 2, 2)
    );
    let exchanges = proxy.exchanges(3).await;
    let mut sequences: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for exchange in &exchanges {
        sequences.entry(&exchange.run).or_default().push(exchange.sequence);
    }
    sequences.values_mut().for_each(|numbers| numbers.sort_unstable());
    assert_eq!(sequences, BTreeMap::from([("run", vec![0, 1]), ("second", vec![0])]));
    let (sum, kept) = proxy.stop().await;
    let last = kept.ledgers().into_iter().rfind(|ledger| ledger.closing).unwrap();
    assert_eq!((last.run.as_str(), total(&last, Item::Mirrored)), ("second", 1));
    assert_eq!(total(&sum, Item::Mirrored), 3, "what is told at the stop is of all runs");
}

#[tokio::test]
async fn each_copy_is_an_exchange_of_its_own() {
    let proxy = with(|config| {
        config.sampling.copies = [("candidate".to_owned(), 3.0)].into();
    })
    .await;
    for number in 0..4 {
        proxy.post("/", format!("{number}")).await;
    }
    let exchanges = proxy.exchanges(12).await;
    let ids: BTreeSet<_> = exchanges.iter().map(|exchange| exchange.id).collect();
    let sequences: BTreeSet<_> = exchanges.iter().map(|exchange| exchange.sequence).collect();
    assert_eq!((ids.len(), sequences), (12, (0..12).collect()));
    let (ledger, kept) = proxy.stop().await;
    assert_eq!(kept.exchanges().len(), 12);
    assert_eq!((total(&ledger, Item::Mirrored), total(&ledger, Item::Delivered)), (12, 12));
}

/// The bodies that are mirrored of so many different ones.
async fn by_body(bodies: usize) -> BTreeSet<Vec<u8>> {
    let proxy = with(|config| {
        config.sampling =
            Sampling { by: By::Body, fraction: "30%".parse().unwrap(), ..config.sampling.clone() };
    })
    .await;
    let mut client = Living::open(proxy.address).await;
    for number in 0..bodies {
        client.post("/", &format!("{{\"input\": {number}}}")).await;
    }
    let (ledger, kept) = proxy.stop().await;
    let mirrored: BTreeSet<Vec<u8>> =
        kept.exchanges().iter().map(|exchange| exchange.request.body.bytes.to_vec()).collect();
    assert_eq!(total(&ledger, Item::Mirrored), mirrored.len() as u64);
    mirrored
}

#[tokio::test]
async fn every_proxy_chooses_the_same_bodies() {
    let (one, two) = (by_body(200).await, by_body(200).await);
    assert_eq!(one, two);
    // Five standard deviations of Bin(200, 0.3).
    assert!((28..=92).contains(&one.len()), "{}", one.len());
}

#[tokio::test]
async fn a_body_that_decides_holds_up_neither_its_client_nor_a_stop() {
    let proxy = with(|config| {
        config.sampling =
            Sampling { by: By::Body, fraction: "99%".parse().unwrap(), ..config.sampling.clone() };
        config.drain = std::time::Duration::from_millis(100);
    })
    .await;
    let head = b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 100\r\n\r\nhalf";
    let client = crate::support::write(proxy.address, head).await;
    proxy.post("/", "whole").await;
    proxy.exchanges(1).await;
    let (ledger, _) = proxy.stop().await;
    drop(client);
    assert_eq!(total(&ledger, Item::Mirrored), 1, "what never came is not chosen");
}

#[tokio::test]
async fn what_a_rule_keeps_from_being_mirrored_is_counted_and_reaches_no_shadow() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let note = seen.clone();
    let candidate = serve(move |request| {
        note.lock().unwrap().push(format!("{} {}", request.method(), request.uri()));
        async { Response::new(full("")) }
    })
    .await;
    let mut config = config(echo("primary").await, candidate);
    config.sampling = Sampling::default();
    let proxy = Proxy::with(config, Kept::default()).await;
    for path in ["/orders", "/v2/repository/models/m/unload", "/v2/models/m/infer"] {
        assert_eq!(proxy.post(path, "x").await.status, 200);
    }
    let delete = Request::delete("/v2/models/m/infer").header("host", "t").body(full("")).unwrap();
    assert_eq!(send(proxy.address, delete).await.status, 200);
    proxy.exchanges(1).await;
    let route = r#"{"routes": [{"name": "all", "path": "/"}], "max_per_second": 0.001, "burst": 2}"#;
    assert_eq!(put(&proxy, route).await.0, 200);
    for _ in 0..5 {
        proxy.post("/orders", "x").await;
    }
    proxy.exchanges(3).await;
    assert_eq!(put(&proxy, r#"{"stop_at": "2020-01-01T00:00:00Z"}"#).await.0, 200);
    proxy.post("/orders", "x").await;
    let (ledger, _) = proxy.stop().await;
    let skipped = |reason| total(&ledger, Item::Skipped(reason));
    assert_eq!(skipped(SkipReason::Route), 3);
    assert_eq!(skipped(SkipReason::RateCap), 3);
    assert_eq!(skipped(SkipReason::OutsideSchedule), 1);
    assert_eq!(total(&ledger, Item::Mirrored), 3);
    let seen = seen.lock().unwrap();
    assert_eq!(*seen, ["POST /v2/models/m/infer", "POST /orders", "POST /orders"]);
}

#[tokio::test]
async fn a_run_whose_schedule_is_over_is_closed_while_the_proxy_serves_on() {
    let proxy = with(|config| config.ledger_every = std::time::Duration::from_millis(20)).await;
    proxy.post("/", "x").await;
    proxy.exchanges(1).await;
    assert_eq!(put(&proxy, r#"{"stop_at": "2020-01-01T00:00:00Z"}"#).await.0, 200);
    let closing = || proxy.kept.ledgers().into_iter().rfind(|ledger| ledger.closing);
    let closed = eventually(closing).await;
    assert_eq!((total(&closed, Item::Mirrored), total(&closed, Item::Delivered)), (1, 1));
    assert_eq!(proxy.post("/", "y").await.status, 200);
    let opened = put(&proxy, r#"{"stop_at": null}"#).await;
    assert_eq!(opened.0, 200);
    proxy.post("/", "z").await;
    proxy.exchanges(2).await;
    let last = || proxy.kept.ledgers().into_iter().next_back().filter(|ledger| !ledger.closing);
    let open = eventually(|| last().filter(|ledger| total(ledger, Item::Mirrored) == 2)).await;
    assert!(open.snapshot > closed.snapshot, "what is set again goes on, and readers go by the later ledger");
}

#[tokio::test]
async fn nothing_is_mirrored_before_a_start_that_is_still_to_come() {
    let schedule = Schedule { start_us: Some(i64::MAX), stop_us: None };
    let proxy = with(|config| config.sampling.schedule = schedule).await;
    proxy.post("/", "x").await;
    let (ledger, _) = proxy.stop().await;
    assert_eq!(
        (total(&ledger, Item::Mirrored), total(&ledger, Item::Skipped(SkipReason::OutsideSchedule))),
        (0, 1)
    );
}

#[tokio::test]
async fn clients_are_served_while_the_sampling_changes_under_load() {
    let proxy = with(|_| {}).await;
    let address = proxy.address;
    let clients: Vec<_> = (0..8)
        .map(|client| {
            tokio::spawn(async move {
                let mut living = Living::open(address).await;
                for number in 0..100 {
                    assert_eq!(living.post("/", &format!("{client} {number}")).await, 200);
                }
            })
        })
        .collect();
    for change in 0..10 {
        let change =
            format!(r#"{{"sample": {}, "run": "r{change}", "copies": {{"candidate": 1.5}}}}"#, change % 2);
        assert_eq!(put(&proxy, &change).await.0, 200);
    }
    for client in clients {
        client.await.unwrap();
    }
    let (sum, kept) = proxy.stop().await;
    let exchanges = kept.exchanges();
    assert_eq!(total(&sum, Item::Mirrored), exchanges.len() as u64);
    // Each run balances on its own, and its sequence has no gap.
    let mut runs: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for exchange in exchanges {
        runs.entry(exchange.run).or_default().push(exchange.sequence);
    }
    let closing: BTreeMap<String, Ledger> = kept
        .ledgers()
        .into_iter()
        .filter(|ledger| ledger.closing)
        .map(|ledger| (ledger.run.clone(), ledger))
        .collect();
    assert_eq!(closing.len(), 11, "the first run and ten more");
    for (run, mut sequences) in runs {
        sequences.sort_unstable();
        assert_eq!(sequences, (0..sequences.len() as u64).collect::<Vec<_>>(), "{run}");
        assert_eq!(total(&closing[&run], Item::Mirrored), sequences.len() as u64, "{run}");
    }
}

#[tokio::test]
async fn a_run_of_a_shadow_that_hangs_is_closed_at_the_stop() {
    let mut config = config(echo("primary").await, hang().await);
    config.drain = std::time::Duration::from_millis(100);
    let proxy = Proxy::with(config, Kept::default()).await;
    proxy.post("/", "x").await;
    assert_eq!(put(&proxy, r#"{"run": "second"}"#).await.0, 200);
    let (_, kept) = proxy.stop().await;
    let closed: Vec<_> = kept.ledgers().into_iter().filter(|ledger| ledger.closing).collect();
    let runs: Vec<(&str, u64)> = closed
        .iter()
        .map(|ledger| (ledger.run.as_str(), total(ledger, Item::Outcome(Outcome::Shutdown))))
        .collect();
    assert_eq!(runs, [("run", 1), ("second", 0)]);
}
