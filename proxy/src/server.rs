//! Runs the workers and the admin port, resolves names and publishes the ledger now and then, and stops in order.

use std::io;
use std::net::TcpListener as Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use exchange::Ledger;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use crate::config::{Config, ConfigError};
use crate::control::Control;
use crate::publish::Publish;
use crate::state::State;
use crate::traces::{Exporter, Traces};
use crate::upstream::Upstream;
use crate::worker::Worker;
use crate::{admin, ledgers, probe};

/// How long the first resolution of names may hold up the start.
const RESOLVE_FIRST: Duration = Duration::from_secs(2);

/// How long the last traces may take.
const LAST_TRACES: Duration = Duration::from_secs(2);

/// Why a proxy did not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration contradicts itself.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A worker or its listener could not be set up.
    #[error("a worker could not be started: {0}")]
    Worker(#[from] io::Error),
}

/// Runs a proxy on bound listeners until `shutdown` resolves and everything under way has ended or the drain deadline has
/// passed. Returns the closing ledger, which has been published as well; where there were several runs, each had its own, and this is
/// their sum under the name of the last one.
///
/// One listener is served on the runtime of the caller; several by a thread each, with a runtime, connections and pools of its own.
///
/// # Errors
/// When the configuration contradicts itself, a certificate is none, or a worker cannot be started.
pub async fn run(
    config: Config,
    listeners: Vec<Bound>,
    admin: Option<TcpListener>,
    publisher: Arc<dyn Publish>,
    shutdown: impl Future<Output = ()>,
) -> Result<Ledger, RunError> {
    let control = Control::new(&config);
    run_with(config, control, listeners, admin, publisher, shutdown).await
}

/// The same, with a [`Control`] of the same configuration, by which the caller can change what is mirrored.
///
/// # Errors
/// As [`run`].
pub async fn run_with(
    config: Config,
    control: Arc<Control>,
    listeners: Vec<Bound>,
    admin: Option<TcpListener>,
    publisher: Arc<dyn Publish>,
    shutdown: impl Future<Output = ()>,
) -> Result<Ledger, RunError> {
    config.validate()?;
    let drain = config.drain;
    let every = config.ledger_every;
    let tls = config.listener.tls.as_ref().map(|tls| tls.build().map(TlsAcceptor::from));
    let tls = tls.transpose().map_err(ConfigError::from)?;
    let (traces, exporter) = traces(&config)?.unzip();
    let state = State::new(config, control, listeners.len(), publisher, traces).map_err(ConfigError::from)?;
    let state = Arc::new(state);
    let mut resolving = resolve(&state).await;
    resolving.extend(probe::start(&state));
    for upstream in state.upstreams() {
        upstream.nodes.naming().warn_of_hidden(&state.redaction, &upstream.target().name);
    }
    let exporter = exporter.map(|exporter| tokio::spawn(exporter.run(state.over.clone())));
    let workers = start(&state, tls, listeners)?;
    let admin = admin.map(|listener| tokio::spawn(admin::serve(listener, state.clone())));
    let ledgers = tokio::spawn(ledgers::publish_all(state.clone(), every));

    shutdown.await;
    state.draining.store(true, Ordering::Relaxed);
    tracing::info!(within_ms = drain.as_millis() as u64, "draining");
    let deadline = tokio::time::Instant::now() + drain;
    state.stop.cancel();
    let mut threads = Vec::new();
    for Running { drained, thread } in workers {
        // A worker that is gone has nothing left to drain.
        let _ = drained.await;
        threads.extend(thread);
    }
    state.tasks.close();
    if tokio::time::timeout_at(deadline, state.tasks.wait()).await.is_err() {
        tracing::warn!(under_way = state.tasks.len(), "copies were cut at the drain deadline");
        state.cut.cancel();
        // What is cut ends at once; its record is still to be made and published.
        let _ = tokio::time::timeout(Duration::from_secs(2), state.tasks.wait()).await;
    }
    state.cut.cancel();
    for task in resolving.into_iter().chain([ledgers]) {
        task.abort();
    }
    state.over.cancel();
    let ledger = close(&state, threads).await;
    if let Some(exporter) = exporter {
        // The last spans are worth a moment, not more.
        let _ = tokio::time::timeout(LAST_TRACES, exporter).await;
    }
    if let Some(admin) = admin {
        admin.abort();
    }
    Ok(ledger)
}

/// Both ends of the way to the trace collector, where there is one.
fn traces(config: &Config) -> Result<Option<(Traces, Exporter)>, ConfigError> {
    let Some(settings) = config.traces.clone() else { return Ok(None) };
    let upstream = Upstream::new(settings.collector.clone(), 0, config.resolver.clone())?;
    Ok(Some(Traces::new(settings, upstream, &config.name)))
}

/// A worker that was started.
struct Running {
    /// Resolves when its clients are served or cut.
    drained: oneshot::Receiver<()>,
    /// Its thread, where it has one.
    thread: Option<std::thread::JoinHandle<()>>,
}

fn start(state: &Arc<State>, tls: Option<TlsAcceptor>, listeners: Vec<Bound>) -> io::Result<Vec<Running>> {
    let alone = listeners.len() == 1;
    let mut workers = Vec::new();
    for (number, listener) in listeners.into_iter().enumerate() {
        listener.set_nonblocking(true)?;
        let worker = Worker { state: state.clone(), number, tls: tls.clone() };
        let (tell, drained) = oneshot::channel();
        let thread = if alone {
            let listener = TcpListener::from_std(listener)?;
            tokio::spawn(async move {
                worker.serve(listener).await;
                let _ = tell.send(());
            });
            None
        } else {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let over = state.over.clone();
            let serve = async move {
                // Within its runtime, which registers the listener.
                match TcpListener::from_std(listener) {
                    Ok(listener) => worker.serve(listener).await,
                    Err(error) => tracing::error!(%error, "a worker has no listener"),
                }
                let _ = tell.send(());
                // Pairings of its requests run on here.
                over.cancelled().await;
            };
            let name = format!("worker-{number}");
            Some(std::thread::Builder::new().name(name).spawn(move || runtime.block_on(serve))?)
        };
        workers.push(Running { drained, thread });
    }
    Ok(workers)
}

/// Resolves names now, and again and again from now on.
async fn resolve(state: &Arc<State>) -> Vec<tokio::task::JoinHandle<()>> {
    let targets = state.upstreams().count();
    let first = async {
        for upstream in state.upstreams() {
            upstream.resolve().await;
        }
    };
    if tokio::time::timeout(RESOLVE_FIRST, first).await.is_err() {
        tracing::warn!("names of nodes are not resolved yet: starting without");
    }
    let again = |target: usize| {
        let state = state.clone();
        tokio::spawn(async move {
            let Some(upstream) = state.upstreams().nth(target) else { return };
            if !upstream.nodes.has_names() {
                return;
            }
            loop {
                tokio::time::sleep(upstream.target().resolve_every).await;
                upstream.resolve().await;
            }
        })
    };
    (0..targets).map(again).collect()
}

/// Waits for the workers and closes the account.
async fn close(state: &Arc<State>, threads: Vec<std::thread::JoinHandle<()>>) -> Ledger {
    let closing = state.clone();
    let closed = tokio::task::spawn_blocking(move || {
        for thread in threads {
            // A worker that died has told so; what it had under way is missing in the ledger, which shows it.
            let _ = thread.join();
        }
        ledgers::close(&closing)
    });
    match closed.await {
        Ok(ledger) => ledger,
        Err(error) => {
            tracing::error!(%error, "the closing ledger was not published");
            ledgers::unpublished(state)
        }
    }
}
