//! The connections of one worker to one node: HTTP/1.1 connections that wait for their next request, and a few HTTP/2
//! connections that many share. Built on hyper's connections, so that a request that was never written is had back, each
//! connection is known by name, and no target shares one with another.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::dial::{DialError, Secured, Stream};
use crate::nodes::NodeState;
use crate::tee::UpstreamBody;

/// Idle connections kept to one node by one worker.
const IDLE: usize = 512;

/// HTTP/2 flow-control windows: with the 64 KiB of the specification a large tensor crawls.
const STREAM_WINDOW: u32 = 2 << 20;
/// Room for 32 answers that nobody reads, before they hold up the others on their connection.
const CONNECTION_WINDOW: u32 = 64 << 20;

/// Requests under way on each HTTP/2 connection before another is made: servers commonly take 100 at once.
const STREAMS: usize = 64;

/// HTTP/2 connections of one worker to one node.
const SHARED: usize = 16;

/// How long a connection that nobody uses is kept where many share one.
const SHARED_IDLE: Duration = Duration::from_secs(60);

/// A connection, by name.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    pub(crate) tls: Option<Secured>,
    requests: AtomicU64,
}

impl Wire {
    /// Numbers a request on the connection, from 0.
    pub(crate) fn number(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }
}

/// The connections.
#[derive(Debug)]
pub(crate) struct Pool {
    idle: Mutex<Vec<Parked>>,
    shared: Mutex<Vec<Shared>>,
    /// One dials at a time where the connection is shared.
    pub(crate) dialing: Semaphore,
}

#[derive(Debug)]
struct Parked {
    lease: Lease,
    since: Instant,
}

/// An HTTP/1.1 connection that carries one request.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) sender: http1::SendRequest<UpstreamBody>,
    pub(crate) wire: Arc<Wire>,
}

/// An HTTP/2 connection.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) sender: http2::SendRequest<UpstreamBody>,
    pub(crate) wire: Arc<Wire>,
    /// When it was last taken. Whoever has a stream on it holds a share of this.
    pub(crate) used: Arc<Mutex<Instant>>,
}

impl Shared {
    fn streams(&self) -> usize {
        Arc::strong_count(&self.used) - 1
    }

    fn usable(&self, current: impl Fn(SocketAddr) -> bool) -> bool {
        !self.sender.is_closed() && current(self.wire.peer)
    }
}

/// A connection on its way back: whoever has read the answer to its end gives it back.
#[derive(Debug)]
pub(crate) enum Return {
    /// Carries one request at a time.
    Lease { lease: Lease, node: Arc<NodeState>, worker: usize },
    /// Carries others too; this one is counted on it while it is held.
    Stream { _used: Arc<Mutex<Instant>> },
}

impl Return {
    /// Lets the next request have the connection.
    pub(crate) fn back(self) {
        if let Self::Lease { lease, node, worker } = self {
            node.pool(worker).park(lease);
            if let Some(room) = &node.room {
                room.freed();
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that holds one of these locks can leave its value half-changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    pub(crate) fn new() -> Self {
        Self { idle: Mutex::default(), shared: Mutex::default(), dialing: Semaphore::new(1) }
    }

    /// The connection that was used last, if one is ready.
    pub(crate) fn take(&self, idle: Duration, current: impl Fn(SocketAddr) -> bool) -> Option<Lease> {
        let mut parked = lock(&self.idle);
        let mut busy = Vec::new();
        let mut found = None;
        while let Some(Parked { lease, since }) = parked.pop() {
            if lease.sender.is_closed() || since.elapsed() >= idle || !current(lease.wire.peer) {
                continue;
            }
            if lease.sender.is_ready() {
                found = Some(lease);
                break;
            }
            // It is still writing a request whose answer came early.
            busy.push(Parked { lease, since });
        }
        parked.extend(busy);
        found
    }

    fn park(&self, lease: Lease) {
        if lease.sender.is_closed() {
            return;
        }
        let mut parked = lock(&self.idle);
        if parked.len() < IDLE {
            parked.push(Parked { lease, since: Instant::now() });
        }
    }

    /// The HTTP/2 connection with the fewest requests under way; `None` when it is time for another one.
    pub(crate) fn shared(&self, current: impl Fn(SocketAddr) -> bool) -> Option<Shared> {
        self.least(current, |connections, streams| streams < STREAMS || connections >= SHARED)
    }

    /// The same where no other can be had.
    pub(crate) fn crowded(&self, current: impl Fn(SocketAddr) -> bool) -> Option<Shared> {
        self.least(current, |_, _| true)
    }

    fn least(
        &self,
        current: impl Fn(SocketAddr) -> bool,
        takes: impl Fn(usize, usize) -> bool,
    ) -> Option<Shared> {
        let mut shared = lock(&self.shared);
        // What is under way on one that is let go ends there.
        shared.retain(|shared| shared.usable(&current));
        let found = shared.iter().min_by_key(|shared| shared.streams())?;
        if !takes(shared.len(), found.streams()) {
            return None;
        }
        *lock(&found.used) = Instant::now();
        Some(found.clone())
    }

    pub(crate) fn share(&self, connection: Shared) {
        lock(&self.shared).push(connection);
    }

    /// Closes one connection that carries nothing and speaks the other HTTP; tells whether there was one.
    pub(crate) fn let_go(&self, http2: bool) -> bool {
        if http2 {
            return lock(&self.idle).pop().is_some();
        }
        let mut shared = lock(&self.shared);
        let unused = shared.iter().position(|shared| shared.streams() == 0);
        unused.map(|at| shared.swap_remove(at)).is_some()
    }

    /// Closes what has been idle for too long or leads to an address that the node no longer has.
    pub(crate) fn sweep(&self, idle: Duration, current: impl Fn(SocketAddr) -> bool) {
        lock(&self.idle).retain(|parked| {
            let closed = parked.lease.sender.is_closed();
            !closed && parked.since.elapsed() < idle && current(parked.lease.wire.peer)
        });
        lock(&self.shared).retain(|shared| {
            let idle = shared.streams() == 0 && lock(&shared.used).elapsed() >= SHARED_IDLE;
            !idle && shared.usable(&current)
        });
    }
}

fn wire(stream: &Stream, local: SocketAddr, peer: SocketAddr) -> Arc<Wire> {
    Arc::new(Wire { local, peer, tls: stream.secured(), requests: AtomicU64::new(0) })
}

/// Speaks HTTP/1.1 on a new connection.
pub(crate) async fn http1_on(
    stream: Stream,
    local: SocketAddr,
    peer: SocketAddr,
    place: Option<OwnedSemaphorePermit>,
) -> Result<Lease, DialError> {
    let wire = wire(&stream, local, peer);
    let (sender, connection) = http1::Builder::new()
        .preserve_header_case(true)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(DialError::Handshake)?;
    tokio::spawn(async move {
        // How it ended is told to whoever waits for an answer on it.
        let _ = connection.with_upgrades().await;
        drop(place);
    });
    Ok(Lease { sender, wire })
}

/// Speaks HTTP/2 on a new connection.
pub(crate) async fn http2_on(
    stream: Stream,
    local: SocketAddr,
    peer: SocketAddr,
    place: Option<OwnedSemaphorePermit>,
) -> Result<Shared, DialError> {
    let wire = wire(&stream, local, peer);
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(1 << 20)
        .max_header_list_size(256 << 10)
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(20))
        .handshake(TokioIo::new(stream))
        .await
        .map_err(DialError::Handshake)?;
    tokio::spawn(async move {
        // How it ended is told to whoever waits for an answer on it.
        let _ = connection.await;
        drop(place);
    });
    Ok(Shared { sender, wire, used: Arc::new(Mutex::new(Instant::now())) })
}
