//! One worker: accepts clients, finds out what they speak, and serves them until it is told to stop.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use crate::client::Client;
use crate::forward;
use crate::idle::Watched;
use crate::state::State;
use crate::unused::{Counted, Requests};

/// How long nothing may move on a client's connection in the middle of a request or an answer; more where the primary may take longer.
const IDLE: Duration = Duration::from_secs(600);

/// An HTTP/2 connection without a request is closed after so many times what a client may take to send a head.
const UNUSED: u32 = 5;

/// Pause after a failed accept: out of descriptors, it would fail again at once.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How often idle upstream connections are looked at.
const SWEEP: Duration = Duration::from_secs(1);

/// With what an HTTP/2 connection begins (RFC 9113, section 3.4); no method of HTTP/1.1 begins so.
const PREFACE: &[u8; 3] = b"PRI";

/// How soon to look again when fewer bytes than those have come.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// HTTP/2 flow-control windows: with the 64 KiB of the specification a large tensor crawls.
const STREAM_WINDOW: u32 = 2 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;

/// What the client and the proxy speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spoken {
    Http1,
    Http2,
}

/// Serves a connection until it ends, or after a stop until what is under way on it has ended, or until nothing moves on it. The two kinds of
/// connection are alike in their methods and share no trait.
macro_rules! served {
    ($connection:ident, $stop:ident, $idle:expr, $unused:expr) => {{
        let mut connection = std::pin::pin!($connection);
        let mut idle = std::pin::pin!($idle);
        tokio::select! {
            ended = connection.as_mut() => return ended.map_err(Into::into),
            () = idle.as_mut() => return Err("nothing moves on it: it is closed".into()),
            () = $stop.cancelled() => connection.as_mut().graceful_shutdown(),
            () = $unused => connection.as_mut().graceful_shutdown(),
        }
        tokio::select! {
            ended = connection => ended.map_err(Into::into),
            () = idle => Err("nothing moves on it: it is closed".into()),
        }
    }};
}

/// One worker.
#[derive(Clone)]
pub(crate) struct Worker {
    pub(crate) state: Arc<State>,
    pub(crate) number: usize,
    pub(crate) tls: Option<TlsAcceptor>,
}

impl Worker {
    /// Accepts until `state.stop`, then lets what is under way end, at most for the drain time.
    pub(crate) async fn serve(self, listener: TcpListener) {
        let sweep = tokio::spawn(sweep(self.state.clone(), self.number));
        let (state, clients) = (self.state.clone(), TaskTracker::new());
        loop {
            let accepted = tokio::select! {
                () = state.stop.cancelled() => break,
                accepted = next(&state, &listener) => accepted,
            };
            match accepted {
                Ok((stream, place)) => {
                    clients.spawn(self.clone().connection(stream, place));
                }
                Err(error) => {
                    // Out of descriptors, or the client gave up in the backlog: neither is a reason to stop.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(listener);
        clients.close();
        if tokio::time::timeout(state.config.drain, clients.wait()).await.is_err() {
            tracing::warn!("client connections were cut at the drain deadline");
        }
        sweep.abort();
    }

    async fn connection(self, stream: TcpStream, place: OwnedSemaphorePermit) {
        let _ = stream.set_nodelay(true);
        let until = Instant::now() + self.state.config.listener.head_timeout;
        let ended = match &self.tls {
            None => {
                let spoken = tokio::select! {
                    spoken = tokio::time::timeout_at(until, spoken(&stream)) => spoken,
                    () = self.state.stop.cancelled() => return,
                };
                match spoken {
                    Ok(Ok(spoken)) => self.http(stream, spoken, place).await,
                    Ok(Err(error)) => Err(error.into()),
                    Err(_) => Err("nothing came in time".into()),
                }
            }
            Some(acceptor) => match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => {
                    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    let spoken = if http2 { Spoken::Http2 } else { Spoken::Http1 };
                    self.http(stream, spoken, place).await
                }
                Ok(Err(error)) => Err(error.into()),
                Err(_) => Err("no TLS handshake in time".into()),
            },
        };
        if let Err(error) = ended {
            tracing::debug!(error, "client connection");
        }
    }

    async fn http<S>(
        self,
        stream: S,
        spoken: Spoken,
        place: OwnedSemaphorePermit,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self { state, number: worker, .. } = self;
        let (stream, moved) = Watched::new(stream);
        let listener = &state.config.listener;
        let idle = IDLE.max(state.config.primary.first_byte_timeout.unwrap_or_default().saturating_mul(2));
        let number = state.connections.fetch_add(1, Ordering::Relaxed) + 1;
        let client = Arc::new(Client { number, worker, moved: moved.clone(), idle, _place: place });
        let (streams, head_bytes, head_timeout) =
            (listener.streams, listener.head_bytes, listener.head_timeout);
        let stop = state.stop.clone();
        let requests = Requests::default();
        let counted = requests.clone();
        let service = service_fn(move |request| {
            let (state, client, _request) = (state.clone(), client.clone(), counted.begin());
            async move {
                let response = forward::forward(state, request, client).await;
                Ok::<_, Infallible>(response.map(|body| Counted { body, _request }))
            }
        });
        let stream = TokioIo::new(stream);
        match spoken {
            Spoken::Http1 => {
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(head_timeout)
                    .max_header_size(head_bytes)
                    .preserve_header_case(true)
                    .half_close(true)
                    .serve_connection(stream, service)
                    .with_upgrades();
                // The library closes it when the next head does not come.
                served!(connection, stop, moved.idle(idle), std::future::pending::<()>())
            }
            Spoken::Http2 => {
                let connection = http2::Builder::new(TokioExecutor::new())
                    .timer(TokioTimer::new())
                    .max_concurrent_streams(streams)
                    .initial_stream_window_size(STREAM_WINDOW)
                    .initial_connection_window_size(CONNECTION_WINDOW)
                    .max_frame_size(1 << 20)
                    .max_header_list_size(u32::try_from(head_bytes).unwrap_or(u32::MAX))
                    .keep_alive_interval(Some(Duration::from_secs(60)))
                    .keep_alive_timeout(Duration::from_secs(20))
                    .serve_connection(stream, service);
                // Shares of the service and of this.
                served!(connection, stop, moved.idle(idle), requests.unused(head_timeout * UNUSED, 2))
            }
        }
    }
}

async fn next(state: &State, listener: &TcpListener) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = state.places.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}

/// Looks at the first bytes without taking them.
async fn spoken(stream: &TcpStream) -> io::Result<Spoken> {
    let mut first = [0; PREFACE.len()];
    loop {
        let seen = stream.peek(&mut first).await?;
        if first[..seen] != PREFACE[..seen] || seen == 0 {
            return Ok(Spoken::Http1);
        }
        if seen == PREFACE.len() {
            return Ok(Spoken::Http2);
        }
        // The socket stays readable: waiting for that again would not wait.
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

async fn sweep(state: Arc<State>, worker: usize) {
    let mut ticks = tokio::time::interval(SWEEP);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        for upstream in state.upstreams() {
            upstream.nodes.sweep(worker, upstream.target().idle_timeout);
        }
    }
}
