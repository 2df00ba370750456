//! Deadlines of the primary's leg: the target's own, and that of a gRPC call, which the proxy keeps itself.

use std::future::Future;
use std::time::{Duration, Instant};

use exchange::Outcome;

use crate::config::Target;
use crate::grpc;
use crate::head::Head;
use crate::tee::{Captured, Source, Tee, captured};
use crate::upstream::Failure;

/// When an answer must have come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadlines {
    /// From the end of the request to the head of the answer.
    first_byte: Option<Duration>,
    /// From dispatch to its last byte.
    total: Option<Duration>,
    /// Of the gRPC call.
    call: Option<(Instant, Duration)>,
    grpc: bool,
}

impl Deadlines {
    /// Takes the deadlines of a request; a node is told a later one than the caller's.
    pub(crate) fn new(head: &mut Head, target: &Target, received: Instant) -> Self {
        let call = if head.grpc { grpc::timeout(&head.headers) } else { None };
        if let Some(timeout) = call {
            head.headers.insert(grpc::TIMEOUT, grpc::told_later(timeout));
        }
        let call = call.and_then(|timeout| Some((received.checked_add(timeout)?, timeout)));
        let (first_byte, total) = (target.first_byte_timeout, target.total_timeout);
        Self { first_byte, total, call, grpc: head.grpc }
    }

    /// Waits for the head of an answer to a request dispatched at `at`, whose body is whole when its capture is there.
    ///
    /// # Errors
    /// That of the future, or the deadline that passed first.
    pub(crate) async fn head<T>(
        &self,
        at: Instant,
        uploaded: Captured,
        answer: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            answered = answer => answered,
            after = self.passed(at, uploaded) => {
                let reason = format!("no answer within {} ms", after.as_millis());
                Err(Failure::new(Outcome::TimedOut, reason, 1))
            }
        }
    }

    /// Waits until a deadline has passed; gives how long that was.
    async fn passed(&self, at: Instant, mut uploaded: Captured) -> Duration {
        let total = self.total.map(|total| (at + total, total));
        let fixed = total.into_iter().chain(self.call).min();
        let first = match self.first_byte {
            None => None,
            Some(first) => {
                // A slow upload is no fault of the node, and a stream may wait for its caller.
                let uploaded = captured(&mut uploaded);
                match fixed {
                    Some((until, after)) => {
                        if tokio::time::timeout_at(until.into(), uploaded).await.is_err() {
                            return after;
                        }
                    }
                    None => drop(uploaded.await),
                }
                Some((Instant::now() + first, first))
            }
        };
        match fixed.into_iter().chain(first).min() {
            None => std::future::pending().await,
            Some((until, after)) => {
                tokio::time::sleep_until(until.into()).await;
                after
            }
        }
    }

    /// Ends the body of an answer at its deadline.
    pub(crate) fn limit<B: Source>(&self, at: Instant, body: &mut Tee<B>) {
        let own = self.total.map(|total| at + total);
        let call = self.call.map(|(until, _)| until);
        if let Some(until) = own.into_iter().chain(call).min() {
            let word = self.grpc.then(|| grpc::word(grpc::DEADLINE_EXCEEDED, "Deadline Exceeded"));
            body.until(until.into(), word);
        }
    }
}
