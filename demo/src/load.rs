//! Load in steps of rising concurrency, closed loop: each worker has a connection of its own and sends the next request when
//! it has the last one's answer. [`run`] counts what goes wrong instead of stopping; [`climb`] is the demonstration's plan.
//!
//! `request` makes the bodies, `report` keeps the counts. It checks that an answer is the one to its own request, not that
//! its scores are right: finding that out is the analyzer's business.

mod report;
mod request;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub use report::{Failure, LoadReport, StepReport};
pub use request::{Impression, MAX_ROWS_DRAWN};

use crate::client::{ClientError, Connection, INFER_PATH};
use report::Tally;

/// Most workers, and so connections, of one step.
pub const MAX_CONCURRENCY: usize = 4096;

/// How long a worker waits for one answer before it counts a timeout.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Pause between two looks at a server that is not ready.
const READY_PAUSE: Duration = Duration::from_millis(20);

/// One level of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Requests under way at a time.
    pub concurrency: usize,
    /// Requests in all.
    pub requests: usize,
}

/// How far a run is; given after every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Number of the step, from 0.
    pub step: usize,
    /// Number of steps.
    pub steps: usize,
    /// Requests under way at a time in this step.
    pub concurrency: usize,
    /// Requests of this step that have ended; calls of different workers may come out of order.
    pub done: usize,
    /// Requests of this step in all.
    pub requests: usize,
    /// Requests of all steps that have ended.
    pub total_done: usize,
    /// Requests of all steps.
    pub total: usize,
}

/// Why no load could be made.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is nothing to do.
    #[error("no steps: give at least one")]
    NoSteps,
    /// A step with no worker or too many.
    #[error("step {step} has a concurrency of {concurrency}: give 1 to {MAX_CONCURRENCY}")]
    Concurrency {
        /// Number of the step, from 0.
        step: usize,
        /// Concurrency asked for.
        concurrency: usize,
    },
    /// The server did not say that it is ready.
    #[error("{target} is not ready after {patience:?}: {reason}")]
    NotReady {
        /// Address asked.
        target: SocketAddr,
        /// How long it was waited for.
        patience: Duration,
        /// What the last attempt met.
        reason: String,
    },
    /// A worker or the histogram broke: a defect of this crate.
    #[error("the load generator failed: {0}")]
    Internal(String),
}

/// The demonstration's load: from far below to far above eight requests under way on each of four nodes, at least 1,500
/// requests on each level, in all about half a minute at 30 ms a request.
#[must_use]
pub fn climb() -> Vec<Step> {
    [(4, 1500), (8, 1500), (16, 1500), (24, 1500), (32, 2000), (48, 2500), (64, 3000)]
        .map(|(concurrency, requests)| Step { concurrency, requests })
        .to_vec()
}

/// What all workers of one run share.
struct Shared<F> {
    target: SocketAddr,
    seed: u64,
    steps: usize,
    total: usize,
    on_progress: F,
}

/// Sends the steps one after the other. Which requests are sent depends on `seed` and the steps alone.
///
/// # Errors
/// When the steps make no sense. A server that is down or answers badly is counted in the report.
pub async fn run(
    target: SocketAddr,
    steps: &[Step],
    seed: u64,
    on_progress: impl Fn(Progress) + Send + Sync + 'static,
) -> Result<LoadReport, LoadError> {
    if steps.is_empty() {
        return Err(LoadError::NoSteps);
    }
    for (step, &Step { concurrency, .. }) in steps.iter().enumerate() {
        if !(1..=MAX_CONCURRENCY).contains(&concurrency) {
            return Err(LoadError::Concurrency { step, concurrency });
        }
    }
    let total = steps.iter().map(|step| step.requests).fold(0, usize::saturating_add);
    let shared = Arc::new(Shared { target, seed, steps: steps.len(), total, on_progress });
    let mut reports = Vec::with_capacity(steps.len());
    let mut before = 0;
    for (number, &step) in steps.iter().enumerate() {
        reports.push(run_step(&shared, number, step, before).await?);
        before = usize::saturating_add(before, step.requests);
    }
    Ok(LoadReport { steps: reports })
}

async fn run_step<F: Fn(Progress) + Send + Sync + 'static>(
    shared: &Arc<Shared<F>>,
    number: usize,
    step: Step,
    before: usize,
) -> Result<StepReport, LoadError> {
    let started = Instant::now();
    let (next, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut workers = JoinSet::new();
    for _ in 0..step.concurrency.min(step.requests) {
        let (shared, next, done) = (Arc::clone(shared), Arc::clone(&next), Arc::clone(&done));
        workers.spawn(async move {
            let mut tally = Tally::new()?;
            let mut connection = None;
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= step.requests {
                    return Ok::<_, LoadError>(tally);
                }
                let impression = Impression::draw(shared.seed, (before + index) as u64);
                let sent = Instant::now();
                match send(shared.target, &mut connection, impression).await {
                    Ok(()) => tally.answered(sent.elapsed()),
                    Err(failure) => {
                        connection = None;
                        tally.failed(failure);
                    }
                }
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                (shared.on_progress)(Progress {
                    step: number,
                    steps: shared.steps,
                    concurrency: step.concurrency,
                    done,
                    requests: step.requests,
                    total_done: before + done,
                    total: shared.total,
                });
            }
        });
    }
    let mut tally = Tally::new()?;
    while let Some(ended) = workers.join_next().await {
        tally.add(&ended.map_err(|error| LoadError::Internal(error.to_string()))??)?;
    }
    Ok(tally.report(step, started.elapsed()))
}

/// The one part of an answer that is checked.
#[derive(Deserialize)]
struct Answer {
    id: Option<String>,
}

/// Sends one request over the worker's connection, opening it when there is none.
async fn send(
    target: SocketAddr,
    connection: &mut Option<Connection>,
    impression: Impression,
) -> Result<(), Failure> {
    let open = match connection {
        Some(open) => open,
        None => connection.insert(Connection::open(target, PATIENCE).await.map_err(|error| failure(&error))?),
    };
    let Impression { id, body, .. } = impression;
    let (status, answer) =
        open.post(INFER_PATH, &id, body, PATIENCE).await.map_err(|error| failure(&error))?;
    if status != StatusCode::OK {
        return Err(Failure::Status(status.as_u16()));
    }
    match serde_json::from_slice::<Answer>(&answer) {
        Ok(answer) if answer.id.as_deref() == Some(&id) => Ok(()),
        _ => Err(Failure::Answer),
    }
}

fn failure(error: &ClientError) -> Failure {
    match error {
        ClientError::Connect { .. } => Failure::Connect,
        ClientError::Timeout(_) => Failure::Timeout,
        ClientError::Request(_) | ClientError::Broken(_) | ClientError::Body(_) => Failure::Broken,
    }
}

/// Waits until `GET /v2/health/ready` is answered with 200, for `patience` at most.
///
/// # Errors
/// When it is not, with what the last attempt met.
pub async fn wait_ready(target: SocketAddr, patience: Duration) -> Result<(), LoadError> {
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).min(Duration::from_secs(1));
        let asked = async { Connection::open(target, left).await?.get("/v2/health/ready", left).await };
        let reason = match asked.await {
            Ok((StatusCode::OK, _)) => return Ok(()),
            Ok((status, _)) => format!("status {status}"),
            Err(error) => error.to_string(),
        };
        if Instant::now() + READY_PAUSE >= deadline {
            return Err(LoadError::NotReady { target, patience, reason });
        }
        tokio::time::sleep(READY_PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_climb_spans_the_race_and_stays_within_half_a_minute() {
        let steps = climb();
        assert!(steps.iter().all(|step| step.requests >= 1500));
        assert!(steps.is_sorted_by(|a, b| a.concurrency < b.concurrency));
        let (nodes, slots) = (4, 8);
        assert!(
            steps[0].concurrency * 4 <= nodes * slots
                && steps[steps.len() - 1].concurrency >= 2 * nodes * slots
        );
        let seconds: f64 =
            steps.iter().map(|step| step.requests as f64 * 0.030 / step.concurrency as f64).sum();
        assert!((20.0..30.0).contains(&seconds), "{seconds} s");
    }
}
