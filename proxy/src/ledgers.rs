//! Publishes the ledgers of all runs: now and then, when one has ended, and at the stop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use exchange::Ledger;

use crate::account::Run;
use crate::publish::{Kind, Message};
use crate::state::State;

/// How long the publisher may take for what is left at a stop: with the drain, less than the 30 s that a supervisor commonly gives.
const FLUSH: Duration = Duration::from_secs(6);

/// How long it may take for the closing ledgers.
const FLUSH_LEDGERS: Duration = Duration::from_secs(2);

/// How often earlier runs are looked at, whether they have ended.
const LOOK: Duration = Duration::from_secs(1);

/// Publishes all open ledgers each `every`, and the closing one of an earlier run soon after its end, until it is aborted.
pub(crate) async fn publish_all(state: Arc<State>, every: Duration) {
    let mut ticks = tokio::time::interval(every.min(LOOK));
    let mut due = Instant::now();
    loop {
        ticks.tick().await;
        for run in state.control.runs.take_ended() {
            publish(&state, &run, true);
            tracing::info!(run = run.id, "the run has ended");
        }
        if Instant::now() >= due {
            due += every;
            let over = state.control.sampler.plan().sampling.schedule.over(crate::now_us());
            for run in state.control.runs.open() {
                // Past its schedule a run is closed as long as nothing sets another one.
                let closing = over && run.account.counts().settled();
                publish(&state, &run, closing);
            }
        }
    }
}

fn publish(state: &State, run: &Run, closing: bool) -> Ledger {
    let ledger = run.account.ledger(&state.config.name, &run.id, closing);
    let message = Message {
        kind: Kind::Ledger,
        key: Bytes::copy_from_slice(state.config.name.as_bytes()),
        payload: exchange::wire::encode_ledger(ledger.clone()),
        tally: run.account.tally(),
    };
    if let Err(reason) = state.publisher.publish(message) {
        tracing::warn!(reason = reason.as_str(), "a ledger record was not taken");
    }
    ledger
}

/// Flushes, writes the closing ledgers with the final counts and flushes those. Blocks the thread.
///
/// Gives the sum of all runs under the name of the last one.
pub(crate) fn close(state: &State) -> Ledger {
    state.publisher.flush(FLUSH);
    let mut last = Ledger::default();
    for run in state.control.runs.open() {
        last = publish(state, &run, true);
    }
    state.publisher.flush(FLUSH_LEDGERS);
    summed(state, last)
}

/// The ledger of a stop at which nothing could be published.
pub(crate) fn unpublished(state: &State) -> Ledger {
    let run = state.control.sampler.plan().run.clone();
    summed(state, run.account.ledger(&state.config.name, &run.id, true))
}

fn summed(state: &State, last: Ledger) -> Ledger {
    let runs = &state.control.runs;
    Ledger { items: runs.totals().items(runs.shadows()), ..last }
}
