//! Deadlines of the primary's leg: the target's own, and that of a gRPC call, which the proxy keeps itself.

use std::future::Future;
use std::time::{Duration, Instant};

use exchange::Outcome;

use crate::config::Target;
use crate::grpc;
use crate::head::Head;
use crate::tee::{Source, Tee};
use crate::upstream::Failure;

/// When an answer must have come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadlines {
    /// From dispatch to the head of the answer.
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

    /// Waits for the head of an answer to a request dispatched at `at`.
    ///
    /// # Errors
    /// That of the future, or the deadline that passed first.
    pub(crate) async fn head<T>(
        &self,
        at: Instant,
        answer: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let own = [self.first_byte, self.total].into_iter().flatten().min();
        let own = own.map(|after| (at + after, after));
        let Some((until, after)) = own.into_iter().chain(self.call).min() else { return answer.await };
        tokio::time::timeout_at(until.into(), answer).await.unwrap_or_else(|_| {
            let reason = format!("no answer within {} ms", after.as_millis());
            Err(Failure { outcome: Outcome::TimedOut, reason, attempts: 1 })
        })
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
