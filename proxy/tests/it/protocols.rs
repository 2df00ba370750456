//! HTTP/2 without gRPC, TLS on both sides, upgrades, names and places.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use exchange::{Item, Outcome};
use http::{Request, Version};
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use proxy::config::{ClientTls, Node, ServerTls, Verify};
use proxy::resolve::{Resolve, Resolving};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio_rustls::TlsConnector;

use crate::calls::connect;
use crate::support::{Kept, Proxy, config, echo, eventually, full, nobody, raw, read_message, serve, write};

#[tokio::test]
async fn http2_clients_are_served_by_http1_nodes_on_the_same_port() {
    let proxy = Proxy::start(echo("a").await, echo("b").await).await;
    let mut sender = connect(proxy.address).await;
    let request = Request::post(format!("http://{}/v2/models/m/infer?x=1", proxy.address))
        .version(Version::HTTP_2)
        .header("cookie", "a=1")
        .header("cookie", "b=2")
        .body(full("hello"))
        .unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["x-server"]), (200, &"a".parse().unwrap()));
    assert_eq!(&response.into_body().collect().await.unwrap().to_bytes()[..], b"hello");
    assert_eq!(&proxy.post("/v2/models/m/infer", "one").await.body[..], b"one");
    let exchanges = proxy.exchanges(2).await;
    assert_eq!(exchanges[0].request.path, "/v2/models/m/infer");
    assert!(exchanges.iter().all(|exchange| exchange.shadow.outcome == Outcome::Answered));
}

/// A server that tells what it was sent first, and gives that answer.
pub(crate) async fn told(answer: &'static [u8]) -> (SocketAddr, oneshot::Receiver<String>) {
    let (tell, told) = oneshot::channel();
    let tell = Arc::new(Mutex::new(Some(tell)));
    let server = raw(move |mut stream, _| {
        let tell = tell.clone();
        async move {
            let sent = String::from_utf8(read_message(&mut stream).await).unwrap();
            stream.write_all(answer).await.unwrap();
            if let Some(tell) = tell.lock().unwrap().take() {
                tell.send(sent).unwrap();
            }
        }
    });
    (server.await, told)
}

#[tokio::test]
async fn cookies_that_http2_cut_up_reach_the_node_as_one() {
    let (primary, told) = told(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let proxy = Proxy::start(primary, nobody().await).await;
    let request = Request::get(format!("http://{}/x", proxy.address)).version(Version::HTTP_2);
    let request = request.header("cookie", "a=1").header("cookie", "b=2").body(full("")).unwrap();
    connect(proxy.address).await.send_request(request).await.unwrap();
    let text = told.await.unwrap();
    assert!(text.contains("cookie: a=1; b=2\r\n"), "{text}");
    assert!(text.contains(&format!("host: {}\r\n", proxy.address)), "{text}");
}

#[tokio::test]
async fn the_names_of_headers_keep_their_case_and_order_both_ways() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Second: 2\r\nConnection: keep-alive\r\nETag: \"e\"\r\nx-third: 3\r\n\r\nok";
    let (primary, told) = told(answer).await;
    let proxy = Proxy::start(primary, nobody().await).await;
    let request = b"POST /p HTTP/1.1\r\nHost: h\r\nUser-Agent: u\r\nConnection: keep-alive\r\nX-Trace-ID: t\r\nContent-Length: 2\r\nx-lower: l\r\n\r\n{}";
    let mut client = write(proxy.address, request).await;
    let answer = String::from_utf8(read_message(&mut client).await).unwrap();
    let sent = told.await.unwrap();
    assert_eq!(
        sent,
        "POST /p HTTP/1.1\r\nHost: h\r\nUser-Agent: u\r\nX-Trace-ID: t\r\nContent-Length: 2\r\nx-lower: l\r\n\r\n{}"
    );
    let wanted = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Second: 2\r\nETag: \"e\"\r\nx-third: 3\r\n";
    assert!(answer.starts_with(wanted) && answer.ends_with("\r\n\r\nok"), "{answer}");
}

#[tokio::test]
async fn an_upgrade_goes_to_the_primary_alone_and_bytes_go_both_ways() {
    let primary = raw(|mut stream, _| async move {
        let asked = String::from_utf8(read_message(&mut stream).await).unwrap().to_ascii_lowercase();
        assert!(asked.contains("upgrade: chat\r\n") && asked.contains("connection: upgrade\r\n"), "{asked}");
        let agreed = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: chat\r\n\r\nhi";
        stream.write_all(agreed).await.unwrap();
        let mut said = [0; 4];
        stream.read_exact(&mut said).await.unwrap();
        stream.write_all(&said.map(|byte| byte.to_ascii_uppercase())).await.unwrap();
    })
    .await;
    let proxy = Proxy::start(primary, nobody().await).await;
    let ask = b"GET /live HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n";
    let mut client = write(proxy.address, ask).await;
    let mut got = Vec::new();
    while !got.ends_with(b"\r\n\r\nhi") {
        got.push(client.read_u8().await.unwrap());
    }
    assert!(got.starts_with(b"HTTP/1.1 101 "));
    client.write_all(b"ping").await.unwrap();
    let mut said = [0; 4];
    client.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"PING");
    drop(client);
    let (ledger, kept) = proxy.stop().await;
    assert_eq!(ledger.total(|item| item == Item::Mirrored), 0);
    assert!(kept.exchanges().is_empty());
}

/// An authority with a certificate of its own for a name; files in a folder.
pub(crate) struct Authority {
    folder: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { folder, issuer }
    }

    pub(crate) fn ca(&self) -> std::path::PathBuf {
        self.folder.path().join("ca.pem")
    }

    fn issue(&self, name: &str) -> (std::path::PathBuf, std::path::PathBuf) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let (cert, path) =
            (self.folder.path().join(format!("{name}.pem")), self.folder.path().join(format!("{name}.key")));
        std::fs::write(&cert, certificate.pem()).unwrap();
        std::fs::write(&path, key.serialize_pem()).unwrap();
        (cert, path)
    }

    /// A connection to `address` that asks for a protocol.
    async fn connect(&self, address: SocketAddr, alpn: &[u8]) -> tokio_rustls::client::TlsStream<TcpStream> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![alpn.to_vec()];
        let stream = TcpStream::connect(address).await.unwrap();
        let name = "localhost".try_into().unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }
}

/// A proxy in front of an echo that serves TLS, for others to stand behind.
pub(crate) async fn tls_node(authority: &Authority, client_ca: bool) -> Proxy {
    let (cert, key) = authority.issue("localhost");
    let mut config = config(echo("tls").await, nobody().await);
    let client_ca = client_ca.then(|| authority.ca());
    config.listener.tls = Some(ServerTls { cert, key, client_ca });
    Proxy::with(config, Kept::default()).await
}

#[tokio::test]
async fn tls_clients_choose_their_protocol() {
    let authority = Authority::new();
    let proxy = tls_node(&authority, false).await;
    let stream = authority.connect(proxy.address, b"h2").await;
    let io = TokioIo::new(stream);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let request = Request::post("https://localhost/x").body(full("two")).unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.version(), Version::HTTP_2);
    assert_eq!(&response.into_body().collect().await.unwrap().to_bytes()[..], b"two");
    let mut stream = authority.connect(proxy.address, b"http/1.1").await;
    stream.write_all(b"POST /x HTTP/1.0\r\nHost: h\r\nContent-Length: 3\r\n\r\none").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("\r\n\r\none"), "{answer}");
}

pub(crate) fn tls_target(node: &Proxy, tls: ClientTls) -> (Vec<Node>, ClientTls) {
    (vec![format!("https://localhost:{}", node.address.port()).parse().unwrap()], tls)
}

#[tokio::test]
async fn nodes_are_verified_by_the_authority_that_was_given() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let node = tls_node(&authority, false).await;
    let mut config = config(nobody().await, nobody().await);
    let trusted = ClientTls { verify: Verify::Ca(authority.ca()), ..ClientTls::default() };
    let wrong = ClientTls { verify: Verify::Ca(stranger.ca()), ..ClientTls::default() };
    (config.primary.nodes, config.primary.tls) = tls_target(&node, trusted);
    (config.shadows[0].target.nodes, config.shadows[0].target.tls) = tls_target(&node, wrong);
    let proxy = Proxy::with(config, Kept::default()).await;
    assert_eq!(&proxy.post("/", "hello").await.body[..], b"hello");
    let exchange = &proxy.exchanges(1).await[0];
    assert_eq!(exchange.shadow.outcome, Outcome::Refused);
    assert!(exchange.shadow.reason.contains("certificate"), "{}", exchange.shadow.reason);
}

#[tokio::test]
async fn a_node_that_asks_who_calls_is_told() {
    let authority = Authority::new();
    let node = tls_node(&authority, true).await;
    let mut config = config(nobody().await, nobody().await);
    let identity = Some(authority.issue("proxy"));
    let told = ClientTls { verify: Verify::Ca(authority.ca()), identity, ..ClientTls::default() };
    let untold = ClientTls { identity: None, ..told.clone() };
    (config.primary.nodes, config.primary.tls) = tls_target(&node, told);
    (config.shadows[0].target.nodes, config.shadows[0].target.tls) = tls_target(&node, untold);
    let proxy = Proxy::with(config, Kept::default()).await;
    assert_eq!(&proxy.post("/", "hello").await.body[..], b"hello");
    assert_ne!(proxy.exchanges(1).await[0].shadow.outcome, Outcome::Answered);
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused_and_one_asked_for_by_name_is_not() {
    let authority = Authority::new();
    let node = tls_node(&authority, false).await;
    let by_address = || vec![format!("https://{}", node.address).parse::<Node>().unwrap()];
    let trusted = ClientTls { verify: Verify::Ca(authority.ca()), ..ClientTls::default() };
    let mut config = config(nobody().await, nobody().await);
    config.primary.nodes = by_address();
    config.primary.tls = ClientTls { server_name: Some("localhost".into()), ..trusted.clone() };
    (config.shadows[0].target.nodes, config.shadows[0].target.tls) = (by_address(), trusted);
    let proxy = Proxy::with(config, Kept::default()).await;
    assert_eq!(&proxy.post("/", "hello").await.body[..], b"hello");
    let reason = &proxy.exchanges(1).await[0].shadow.reason;
    assert!(reason.contains("tls with"), "{reason}");
}

#[derive(Debug, Default)]
struct Told(Mutex<Vec<SocketAddr>>);

impl Resolve for Told {
    fn resolve(&self, _: &str, _: u16) -> Resolving {
        let told = self.0.lock().unwrap().clone();
        Box::pin(
            async move { if told.is_empty() { Err(io::Error::other("no such name")) } else { Ok(told) } },
        )
    }
}

#[tokio::test]
async fn a_name_that_moves_is_followed_and_pooled_connections_with_it() {
    let (old, new) = (echo("old").await, echo("new").await);
    let told = Arc::new(Told(Mutex::new(vec![old])));
    let mut config = config(nobody().await, echo("b").await);
    config.primary.nodes = vec!["http://models.test:1".parse().unwrap()];
    config.primary.resolve_every = std::time::Duration::from_millis(10);
    config.resolver = told.clone();
    let proxy = Proxy::with(config, Kept::default()).await;
    let server = |answer: &crate::support::Answer| answer.headers["x-server"].clone();
    assert_eq!(server(&proxy.post("/", "x").await), "old");
    *told.0.lock().unwrap() = vec![new];
    let mut moved = false;
    while !moved {
        moved = server(&proxy.post("/", "x").await) == "new";
    }
    assert_eq!(server(&proxy.post("/", "x").await), "new");
    let node = |exchange: &exchange::Exchange| exchange.primary.node.clone();
    assert!(proxy.exchanges(3).await.iter().all(|exchange| node(exchange) == "models.test:1"));
}

#[tokio::test]
async fn copies_wait_for_a_place_in_the_order_in_which_they_came() {
    let go = Arc::new(Notify::new());
    let order = Arc::new(Mutex::new(Vec::new()));
    let (wait, note) = (go.clone(), order.clone());
    let slow = serve(move |request| {
        let (wait, note) = (wait.clone(), note.clone());
        async move {
            note.lock().unwrap().push(request.uri().path().to_owned());
            wait.notified().await;
            http::Response::new(full("late"))
        }
    })
    .await;
    let mut config = config(echo("a").await, slow);
    config.shadows[0].target.inflight = Some(1);
    let proxy = Proxy::with(config, Kept::default()).await;
    let paths: Vec<String> = (0..5).map(|number| format!("/{number}")).collect();
    for path in &paths {
        proxy.post(path, "x").await;
    }
    for sent in 1..=5 {
        eventually(|| (order.lock().unwrap().len() == sent).then_some(())).await;
        go.notify_one();
    }
    let exchanges = proxy.exchanges(5).await;
    assert_eq!(*order.lock().unwrap(), paths);
    assert!(exchanges.iter().all(|exchange| exchange.shadow.outcome == Outcome::Answered));
    let shadow =
        |path: &str| &exchanges.iter().find(|exchange| exchange.request.path.ends_with(path)).unwrap().shadow;
    // They were all in before the first was answered: the last waited while the others were.
    let others: i64 = ["/1", "/2", "/3"].into_iter().map(|path| shadow(path).latency_us.unwrap()).sum();
    assert!(shadow("/4").queued_us.unwrap() >= others);
}
