//! One copy of a mirrored request: waits for a place where the shadow's are bounded, is sent, and its answer read to the end.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use exchange::{Leg, Outcome};
use http_body_util::BodyExt;

use crate::grpc;
use crate::head::Head;
use crate::mirror::{STOPPING, not_whole};
use crate::state::State;
use crate::tee::{Capture, Captured, Chunks, End, Follow, Tee, UpstreamBody, captured};
use crate::upstream::{Dispatch, Upstream, micros};

/// A shadow leg that has ended.
#[derive(Debug)]
pub(crate) struct Copied {
    pub(crate) leg: Leg,
    /// Keeps the bytes of the answer counted until the exchange is published.
    _answer: Option<Arc<Capture>>,
}

impl Copied {
    pub(crate) fn unsent(outcome: Outcome, reason: String) -> Self {
        Self { leg: Leg::unsent(outcome, reason), _answer: None }
    }
}

/// A copy on its way.
#[derive(Debug)]
pub(crate) struct ShadowLeg {
    state: Arc<State>,
    worker: usize,
    received: Instant,
    head: Arc<Head>,
}

/// A copy with its body.
#[derive(Debug)]
pub(crate) struct Loaded {
    leg: ShadowLeg,
    body: UpstreamBody,
    /// Where the request's body appears when it is whole.
    captured: Captured,
}

impl ShadowLeg {
    pub(crate) fn new(state: Arc<State>, worker: usize, received: Instant, head: Arc<Head>) -> Self {
        Self { state, worker, received, head }
    }

    /// A copy of a whole request.
    pub(crate) fn send(self, chunks: Chunks, captured: Captured) -> Loaded {
        Loaded { leg: self, body: UpstreamBody::Again(chunks), captured }
    }

    /// A copy that goes along with its request.
    pub(crate) fn follow(self, follow: Follow, captured: Captured) -> Loaded {
        Loaded { leg: self, body: UpstreamBody::Follow(follow), captured }
    }
}

impl Loaded {
    /// Sends the copy to the shadow of that number and waits until its leg has ended in any way.
    pub(crate) async fn of(self, shadow: usize) -> Copied {
        let state = self.leg.state.clone();
        let upstream = &state.shadows[shadow];
        let place = match &upstream.places {
            None => None,
            // First come, first served: copies go out in the order in which their requests came in.
            Some(places) => match state.unless_cut(places.clone().acquire_owned()).await {
                Some(place) => place.ok(),
                None => return Copied::unsent(Outcome::Shutdown, STOPPING.into()),
            },
        };
        let copied = Box::pin(self.sent(upstream)).await;
        drop(place);
        copied
    }

    async fn sent(self, upstream: &Upstream) -> Copied {
        let Self { leg: ShadowLeg { state, worker, received, head }, body, captured } = self;
        let followed = matches!(body, UpstreamBody::Follow(_));
        // It runs to its own deadline, whatever the caller's was.
        let head = if head.headers.contains_key(grpc::TIMEOUT) {
            let mut untimed = Head::clone(&head);
            untimed.headers.remove(grpc::TIMEOUT);
            Arc::new(untimed)
        } else {
            head
        };
        let Some(dispatch) = upstream.dispatch(worker, &head.headers) else {
            let reason =
                format!("no node of {} is known: its name has not been resolved", upstream.target().name);
            return Copied::unsent(Outcome::Refused, reason);
        };
        let mut leg = dispatch.leg(received);
        let target = upstream.target();
        let copy = Sending { state: &state, upstream, dispatch: &dispatch, head: &head, follows: followed };
        // A copy that goes along takes as long as its request does: its time begins when that is complete.
        let mut upload = captured.clone();
        let asked = async move { drop(crate::tee::captured(&mut upload).await) };
        let ended = {
            // Pinned here: what takes a future by value makes room for it twice.
            let answer = pin!(copy.answer(&mut leg, body, captured.clone()));
            let limit = target.total_timeout.filter(|_| followed);
            state.unless_cut(within(limit, asked, answer)).await
        };
        let answered = match ended {
            None => Err((Outcome::Shutdown, STOPPING.into())),
            Some(Ok(answered)) => answered,
            Some(Err(after)) => Err((Outcome::TimedOut, too_late(after))),
        };
        let answer = match answered {
            Ok(answer) => {
                state.describe_end(&dispatch.node, &mut leg, &answer);
                if let (Outcome::TimedOut, Some(limit)) = (leg.outcome, target.total_timeout) {
                    leg.reason = too_late(limit);
                }
                Some(answer)
            }
            Err((outcome, reason)) => {
                (leg.outcome, leg.reason) = (outcome, reason);
                None
            }
        };
        if followed && matches!(leg.outcome, Outcome::ClientGone | Outcome::Reset | Outcome::Incomplete) {
            Box::pin(cut_by_request(&state, &mut leg, captured)).await;
        }
        leg.latency_us = Some(micros(dispatch.at.elapsed()));
        leg.inflight_peak = Some(dispatch.under_way.peak());
        leg.attempts = leg.attempts.max(u32::from(leg.outcome != Outcome::Refused));
        upstream.note(&dispatch, &leg);
        Copied { leg, _answer: answer }
    }
}

fn too_late(limit: Duration) -> String {
    format!("no whole answer within {} ms", limit.as_millis())
}

/// A copy that followed its request ends when that is cut or passes a bound: then this, and no fault of the shadow's, is the reason.
async fn cut_by_request(state: &State, leg: &mut Leg, mut body: Captured) {
    if let Some(Some(body)) = state.unless_cut(captured(&mut body)).await
        && let Some(ending) = not_whole(state, &body)
    {
        (leg.outcome, leg.reason) = ending;
    }
}

/// What the future gives within that time after `from`, if there is one; else the time that has passed.
async fn within<T>(
    limit: Option<Duration>,
    from: impl Future<Output = ()>,
    future: impl Future<Output = T>,
) -> Result<T, Duration> {
    let Some(limit) = limit else { return Ok(future.await) };
    tokio::select! {
        given = future => Ok(given),
        () = async { from.await; tokio::time::sleep(limit).await } => Err(limit),
    }
}

struct Sending<'a> {
    state: &'a State,
    upstream: &'a Upstream,
    dispatch: &'a Dispatch,
    head: &'a Head,
    /// Whether the copy goes along with its request.
    follows: bool,
}

impl Sending<'_> {
    async fn answer(
        &self,
        leg: &mut Leg,
        body: UpstreamBody,
        again: Captured,
    ) -> Result<Arc<Capture>, (Outcome, String)> {
        let target = self.upstream.target();
        // The time of a copy that follows its request begins later, and cuts the answer as a whole.
        let total = target.total_timeout.filter(|_| !self.follows);
        let answered = {
            let mut upload = again.clone();
            let uploaded = async move { drop(captured(&mut upload).await) };
            let sending = pin!(self.upstream.send(self.dispatch, self.head, body, Some(again)));
            let limit = target.first_byte_timeout.into_iter().chain(total).min();
            within(limit, uploaded, sending).await
        };
        let answered = match answered {
            Ok(answered) => answered,
            Err(after) => {
                return Err((Outcome::TimedOut, format!("no answer within {} ms", after.as_millis())));
            }
        };
        let mut answer = match answered {
            Ok(answer) => answer,
            Err(failure) => {
                leg.attempts = failure.attempts;
                return Err((failure.outcome, failure.reason));
            }
        };
        answer.describe(leg);
        leg.first_byte_us = Some(micros(self.dispatch.at.elapsed()));
        self.state.describe_answer(&self.dispatch.node, leg, &answer.response);
        let (held, cap) = (self.state.bytes.portion(), self.state.config.limits.body);
        let back = answer.back.take();
        let body = answer.response.into_body();
        let (mut body, mut capture) = Tee::counting(body, cap, held, Duration::ZERO, None, back);
        body.digest_all();
        if let Some(total) = total {
            // What has come by then is kept.
            body.until((self.dispatch.at + total).into(), None);
        }
        while let Some(Ok(_)) = body.frame().await {}
        drop(body);
        let capture = captured(&mut capture).await;
        capture.ok_or_else(|| (Outcome::Incomplete, "the answer went away".into()))
    }
}

/// How a leg ended whose answer's body ended so.
pub(crate) fn ending(answer: &Capture) -> (Outcome, String) {
    match &answer.end {
        End::Complete if answer.reader_left => (
            Outcome::ClientCancelled,
            "the client went away before the end; the answer was read all the same".into(),
        ),
        End::Complete => (Outcome::Answered, String::new()),
        End::Broken(reason) => (Outcome::Incomplete, reason.clone()),
        End::TimedOut => (Outcome::TimedOut, "the deadline passed before the end of the answer".into()),
        // No failure of the node's, which had not ended its answer.
        End::Abandoned => {
            (Outcome::ClientGone, "the client went away and the rest did not come in time".into())
        }
    }
}
