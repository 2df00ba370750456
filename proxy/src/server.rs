//! Accepts clients, runs the admin port, publishes the ledger now and then, and stops in order.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use exchange::Ledger;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::config::{Config, ConfigError};
use crate::idle::Watched;
use crate::publish::{Kind, Message, Publish};
use crate::state::State;
use crate::{admin, forward};

/// How long a client may take to send the head of a request, or keep a connection idle: longer than clients keep theirs.
const HEAD_TIMEOUT: Duration = Duration::from_secs(120);

/// How long nothing may move on a client's connection in the middle of a request or an answer; more where the primary may take longer.
const IDLE: Duration = Duration::from_secs(600);

/// Pause after a failed accept: out of descriptors, it would fail again at once.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long the publisher may take for what is left at a stop: with the drain, less than the 30 s that a supervisor commonly gives.
const FLUSH: Duration = Duration::from_secs(6);

/// How long it may take for the closing ledger.
const FLUSH_LEDGER: Duration = Duration::from_secs(2);

/// Why a proxy did not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration contradicts itself.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Runs a proxy on bound listeners until `shutdown` resolves and everything under way has ended or the drain deadline has
/// passed. Returns the closing ledger, which has been published as well.
///
/// # Errors
/// When the configuration contradicts itself.
pub async fn run(
    config: Config,
    listener: TcpListener,
    admin: Option<TcpListener>,
    publisher: Arc<dyn Publish>,
    shutdown: impl Future<Output = ()>,
) -> Result<Ledger, RunError> {
    config.validate()?;
    let drain = config.drain;
    let every = config.ledger_every;
    let state = Arc::new(State::new(config, publisher));
    let admin = admin.map(|listener| tokio::spawn(admin::serve(listener, state.clone())));
    let ledgers = tokio::spawn(publish_ledgers(state.clone(), every));

    let connections = accept(&state, listener, shutdown).await;

    state.draining.store(true, Ordering::Relaxed);
    tracing::info!(within_ms = drain.as_millis() as u64, "draining");
    let deadline = tokio::time::Instant::now() + drain;
    if tokio::time::timeout_at(deadline, connections.shutdown()).await.is_err() {
        tracing::warn!("client connections were cut at the drain deadline");
    }
    state.tasks.close();
    if tokio::time::timeout_at(deadline, state.tasks.wait()).await.is_err() {
        tracing::warn!(under_way = state.tasks.len(), "copies were cut at the drain deadline");
        state.cut.cancel();
        // What is cut ends at once; its record is still to be made and published.
        let _ = tokio::time::timeout(Duration::from_secs(2), state.tasks.wait()).await;
    }
    ledgers.abort();
    let ledger = close(&state).await;
    if let Some(admin) = admin {
        admin.abort();
    }
    Ok(ledger)
}

/// Accepts until `shutdown`; returns the connections that are still open.
async fn accept(
    state: &Arc<State>,
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
) -> GracefulShutdown {
    let graceful = GracefulShutdown::new();
    let idle = IDLE.max(state.config.primary.timeout.saturating_mul(2));
    let places = Arc::new(Semaphore::new(state.config.limits.connections));
    let mut number = 0_u64;
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = next(&listener, &places) => accepted,
        };
        let (stream, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, or the client gave up in the backlog: neither is a reason to stop.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        number += 1;
        let (state, client) = (state.clone(), number);
        let service = service_fn(move |request| {
            let state = state.clone();
            async move { Ok::<_, Infallible>(forward::forward(state, request, client).await) }
        });
        let (stream, moved) = Watched::new(stream);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .half_close(true)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            tokio::select! {
                ended = connection => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, client, "client connection");
                    }
                }
                () = moved.idle(idle) => {
                    tracing::debug!(client, "nothing moves on a client connection: it is closed");
                }
            }
            drop(place);
        });
    }
    graceful
}

async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}

async fn publish_ledgers(state: Arc<State>, every: Duration) {
    let mut ticks = tokio::time::interval(every);
    loop {
        ticks.tick().await;
        publish_ledger(&state, false);
    }
}

fn publish_ledger(state: &State, closing: bool) -> Ledger {
    let (name, run) = (&state.config.name, &state.config.run);
    let ledger = state.account.ledger(name, run, closing);
    let message = Message {
        kind: Kind::Ledger,
        key: Bytes::copy_from_slice(name.as_bytes()),
        payload: exchange::wire::encode_ledger(ledger.clone()),
        tally: state.account.tally(),
    };
    if let Err(reason) = state.publisher.publish(message) {
        tracing::warn!(reason = reason.as_str(), "a ledger record was not taken");
    }
    ledger
}

/// Flushes, writes the closing ledger with the final counts and flushes that.
async fn close(state: &Arc<State>) -> Ledger {
    let closing = state.clone();
    let closed = tokio::task::spawn_blocking(move || {
        closing.publisher.flush(FLUSH);
        let ledger = publish_ledger(&closing, true);
        closing.publisher.flush(FLUSH_LEDGER);
        ledger
    });
    match closed.await {
        Ok(ledger) => ledger,
        Err(error) => {
            tracing::error!(%error, "the closing ledger was not published");
            state.account.ledger(&state.config.name, &state.config.run, true)
        }
    }
}
