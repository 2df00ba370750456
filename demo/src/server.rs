//! A model server over HTTP/1.1 that speaks the Open Inference Protocol V2 in JSON and can be given faults.
//!
//! [`serve`] owns the listener, the connections and the orderly stop; `routes` maps requests to answers, `protocol` reads
//! and writes bodies, `inference` takes the time and applies the faults, `workspace` is the buffer race, [`fault`] the
//! list of faults. It does not know who calls it.

pub mod fault;
mod inference;
mod protocol;
mod routes;
mod workspace;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

pub use fault::{Fault, FaultError};
pub use protocol::MAX_ROWS;

/// Largest request body, bytes; more is answered with 413.
pub const MAX_BODY_BYTES: usize = 1 << 20;

/// Open connections at one time; more wait in the listener's backlog.
pub const MAX_CONNECTIONS: usize = 4096;

/// How long a stopping server waits for the answers under way.
const DRAIN: Duration = Duration::from_secs(5);

/// Pause after a failed accept: out of file descriptors, it would fail again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How one server presents itself and behaves.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerOptions {
    /// Name of the node, as `GET /v2` says it.
    pub name: String,
    /// Labels of the node (GPU, driver, …), as `GET /v2` says them under `parameters`.
    pub labels: BTreeMap<String, String>,
    /// Mean time one inference takes; each differs by up to an eighth, depending on its number.
    pub service_time: Duration,
    /// What is wrong with this server; faults add up. Of two of a kind the later counts.
    pub faults: Vec<Fault>,
}

impl Default for ServerOptions {
    /// A sound server without labels that takes 30 ms.
    fn default() -> Self {
        Self {
            name: "demo".into(),
            labels: BTreeMap::new(),
            service_time: Duration::from_millis(30),
            faults: Vec::new(),
        }
    }
}

/// Serves until `shutdown` is ready, then lets the answers under way finish, for five seconds at most.
///
/// # Errors
/// When the listener has no local address. A failed accept is logged and tried again.
pub async fn serve(
    listener: TcpListener,
    options: ServerOptions,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    tracing::info!(name = options.name, %address, faults = ?options.faults, "model server is listening");
    let (closing, closed) = watch::channel(false);
    let service = Arc::new(routes::Service::new(options, closed));
    let graceful = GracefulShutdown::new();
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut shutdown => break,
            accepted = async {
                let permit = Arc::clone(&permits).acquire_owned().await;
                (permit, listener.accept().await)
            } => accepted,
        };
        while connections.try_join_next().is_some() {}
        let (permit, stream) = match accepted {
            (permit, Ok((stream, _))) => (permit, stream),
            (_, Err(error)) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "nodelay could not be set");
        }
        let service = Arc::clone(&service);
        let connection = http1::Builder::new().timer(TokioTimer::new()).serve_connection(
            TokioIo::new(stream),
            service_fn(move |request| {
                let service = Arc::clone(&service);
                async move { Ok::<_, Infallible>(service.answer(request).await) }
            }),
        );
        let connection = graceful.watch(connection);
        connections.spawn(async move {
            let _permit = permit;
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    drop(listener);
    // A hanging answer hangs no longer than its server lives. Nobody listening is as good.
    let _ = closing.send(true);
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("answers still under way were cut off");
    }
    connections.shutdown().await;
    Ok(())
}
