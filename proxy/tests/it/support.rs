//! A running proxy, scripted servers and a client.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use exchange::wire::{Record, decode};
use exchange::{DropReason, Exchange, Ledger, Role};
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use proxy::config::{Config, Limits, Listener, Node, Route, Sampling, Shadow, Target};
use proxy::publish::{Kind, Message, Publish, Published};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) type Body = BoxBody<Bytes, std::io::Error>;

/// How long a condition may take before a test gives up on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn full(body: impl Into<Bytes>) -> Body {
    Full::new(body.into()).map_err(|never| match never {}).boxed()
}

/// Starts an HTTP server that answers with `handler`.
pub(crate) async fn serve<H, F>(handler: H) -> SocketAddr
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let handler = handler.clone();
            let service = service_fn(move |request| {
                let answer = handler(request);
                async move { Ok::<_, std::convert::Infallible>(answer.await) }
            });
            tokio::spawn(
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    address
}

/// Starts a server that gives back the request's body, with a header that says who it is.
pub(crate) async fn echo(name: &'static str) -> SocketAddr {
    serve(move |request| async move {
        let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        Response::builder().header("x-server", name).body(full(body)).unwrap()
    })
    .await
}

/// Starts a server that never answers.
pub(crate) async fn hang() -> SocketAddr {
    serve(|_| std::future::pending()).await
}

/// An address where nobody listens. It stays bound until the end of the process: no other test gets it meanwhile.
pub(crate) async fn nobody() -> SocketAddr {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = socket.local_addr().unwrap();
    std::mem::forget(socket);
    address
}

/// Starts a server that speaks raw bytes: `script` gets each connection with its number, from 0.
pub(crate) async fn raw<S, F>(script: S) -> SocketAddr
where
    S: Fn(TcpStream, usize) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut number = 0;
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(script(stream, number));
            number += 1;
        }
    });
    address
}

/// Starts a server that closes each connection once it has read a request; the second value counts them.
pub(crate) async fn breaks() -> (SocketAddr, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let address = raw(move |mut stream, _| {
        let counted = counted.clone();
        async move {
            if !read_message(&mut stream).await.is_empty() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        }
    })
    .await;
    (address, asked)
}

/// Reads until the bytes so far end one request or answer: its head and the body that its content-length promises.
pub(crate) async fn read_message(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(head) = all.windows(4).position(|window| window == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&all[..head]).to_ascii_lowercase();
            let length =
                text.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
            if all.len() >= head + 4 + length.unwrap_or(0_usize) {
                return all;
            }
        }
        let read = stream.read(&mut buffer).await.unwrap();
        if read == 0 {
            return all;
        }
        all.extend_from_slice(&buffer[..read]);
    }
}

/// Keeps what is published.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) messages: Mutex<Vec<(Kind, Bytes)>>,
    /// Takes no more than so many exchanges, when set.
    pub(crate) limit: Option<usize>,
}

impl Publish for Kept {
    fn publish(&self, message: Message) -> Result<(), DropReason> {
        let Message { kind, payload, tally, .. } = message;
        let mut messages = self.messages.lock().unwrap();
        let exchanges = messages.iter().filter(|(kind, _)| *kind == Kind::Exchange).count();
        if kind == Kind::Exchange && self.limit.is_some_and(|limit| exchanges >= limit) {
            return Err(DropReason::QueueFull);
        }
        messages.push((kind, payload));
        tally.add_delivered(u64::from(kind == Kind::Exchange));
        Ok(())
    }

    fn published(&self) -> Published {
        Published { connected: true, ..Published::default() }
    }

    fn flush(&self, _: Duration) {}

    fn describe(&self) -> String {
        "memory".into()
    }
}

impl Kept {
    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        let messages = self.messages.lock().unwrap();
        let records = messages.iter().map(|(_, message)| decode(message.clone()).unwrap());
        records
            .filter_map(|record| if let Record::Exchange(exchange) = record { Some(exchange) } else { None })
            .collect()
    }

    pub(crate) fn ledgers(&self) -> Vec<Ledger> {
        let messages = self.messages.lock().unwrap();
        let records = messages.iter().map(|(_, message)| decode(message.clone()).unwrap());
        records
            .filter_map(|record| if let Record::Ledger(ledger) = record { Some(ledger) } else { None })
            .collect()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.messages.lock().unwrap().iter().flat_map(|(_, message)| message.to_vec()).collect()
    }
}

/// A proxy under test.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) kept: Arc<Kept>,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<Ledger, proxy::RunError>>,
}

pub(crate) fn config(primary: SocketAddr, candidate: SocketAddr) -> Config {
    let target = |name: &str, address: SocketAddr| {
        Target::new(name, vec![address.to_string().parse::<Node>().unwrap()])
    };
    let mut primary = target("primary", primary);
    primary.first_byte_timeout = Some(Duration::from_secs(10));
    let mut candidate = target("candidate", candidate);
    candidate.total_timeout = Some(Duration::from_secs(10));
    candidate.rewrite = proxy::config::Rewrite::of_copies();
    Config {
        name: "test".into(),
        run: "run".into(),
        listener: Listener::default(),
        primary,
        shadows: vec![Shadow { target: candidate, role: Role::Candidate }],
        sampling: Sampling { routes: vec![Route::every_post()], ..Sampling::default() },
        limits: Limits::default(),
        secrets: vec![],
        redaction: proxy::config::Redaction::default(),
        ledger_every: Duration::from_secs(3600),
        traces: None,
        resolver: Arc::new(proxy::resolve::System),
        drain: Duration::from_secs(10),
    }
}

impl Proxy {
    pub(crate) async fn start(primary: SocketAddr, candidate: SocketAddr) -> Self {
        Self::with(config(primary, candidate), Kept::default()).await
    }

    pub(crate) async fn with(config: Config, kept: Kept) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let admin = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, admin_address) = (listener.local_addr().unwrap(), admin.local_addr().unwrap());
        let listeners = vec![listener.into_std().unwrap()];
        let (stop, stopped) = oneshot::channel::<()>();
        let kept = Arc::new(kept);
        let shutdown = async {
            let _ = stopped.await;
        };
        let running = tokio::spawn(proxy::run(config, listeners, Some(admin), kept.clone(), shutdown));
        Self { address, admin: admin_address, kept, stop, running }
    }

    /// Stops in order, checks that the closing ledger balances, and gives it.
    pub(crate) async fn stop(self) -> (Ledger, Arc<Kept>) {
        let _ = self.stop.send(());
        let ledger = tokio::time::timeout(PATIENCE, self.running).await.unwrap().unwrap().unwrap();
        crate::balance::assert_balances(&ledger, &self.kept);
        (ledger, self.kept)
    }

    /// Sends a POST on a connection of its own.
    pub(crate) async fn post(&self, path: &str, body: impl Into<Bytes>) -> Answer {
        let request = Request::post(path).header("host", "test").body(full(body)).unwrap();
        send(self.address, request).await
    }

    /// Waits until so many exchanges have been published.
    pub(crate) async fn exchanges(&self, wanted: usize) -> Vec<Exchange> {
        eventually(|| Some(self.kept.exchanges()).filter(|exchanges| exchanges.len() >= wanted)).await
    }
}

/// An answer read to its end.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Bytes,
}

/// Sends a request on a connection of its own and reads the whole answer.
pub(crate) async fn send(address: SocketAddr, request: Request<Body>) -> Answer {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let response = tokio::time::timeout(PATIENCE, sender.send_request(request)).await.unwrap().unwrap();
    let status = response.status().as_u16();
    let text = |value: &http::HeaderValue| value.to_str().unwrap().to_owned();
    let headers = response.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    let body =
        tokio::time::timeout(PATIENCE, response.into_body().collect()).await.unwrap().unwrap().to_bytes();
    Answer { status, headers, body }
}

/// Waits until `condition` gives something.
pub(crate) async fn eventually<T>(mut condition: impl FnMut() -> Option<T>) -> T {
    let waiting = async {
        loop {
            if let Some(found) = condition() {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the condition did not come true in time")
}

/// Writes raw bytes to an address and returns the open connection.
pub(crate) async fn write(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream
}
