//! The other half of a mirrored request: sends the copies, waits until both legs have ended in any way, and publishes
//! one exchange per shadow. Runs beside the client's request, which never waits for it.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use exchange::{Exchange, Leg, Outcome, Request};
use http::HeaderValue;
use http_body_util::{BodyExt, Either};
use tokio::sync::{oneshot, watch};

use crate::budget::Portion;
use crate::publish::{Kind, Message};
use crate::state::State;
use crate::tee::{Capture, Captured, Chunks, End, Over, Tee, captured};
use crate::upstream::{Dispatch, Head, micros};

/// Marks a copy, so that a server can tell it from the real request.
const MARK: &str = "x-shadowdiff-shadow";

/// Why a leg was cut by a stop.
const STOPPING: &str = "the proxy was stopping";

/// What the request's own path says about the primary leg.
#[derive(Debug)]
pub(crate) enum Primary {
    /// It has ended.
    Ended(Leg),
    /// The head of the answer is there and the body is streaming to the client.
    Streaming(Leg, Instant, Captured),
}

/// A mirrored request under way.
#[derive(Debug)]
pub(crate) struct Pairing {
    pub(crate) state: Arc<State>,
    pub(crate) received: Instant,
    pub(crate) request: Request,
    pub(crate) head: Arc<Head>,
    pub(crate) body: Captured,
    pub(crate) primary: oneshot::Receiver<Primary>,
    /// `None` when the bound on mirrored requests was reached: then nothing is sent, and the fact is recorded.
    pub(crate) permit: Option<Portion>,
}

impl Pairing {
    /// Runs the pairing to its end.
    pub(crate) async fn run(mut self) {
        let state = self.state.clone();
        let body = state.unless_cut(captured(&mut self.body)).await;
        if let Some(Some(body)) = &body {
            self.request.body = body.to_body();
        }
        let copy = self.copy(body);
        let (ended, primary) = watch::channel(None);
        let request = Arc::new(self.request);
        for shadow in 0..self.state.shadows.len() {
            let one = One {
                state: self.state.clone(),
                shadow,
                received: self.received,
                request: request.clone(),
                primary: primary.clone(),
            };
            self.state.tasks.spawn(one.run(self.head.clone(), copy.clone()));
        }
        drop((primary, request, copy));
        let (primary, answer) = primary_leg(&state, self.primary).await;
        ended.send_replace(Some(Arc::new(primary)));
        // The permit and the captured bodies, of the request and of the answer, count until every shadow has ended.
        ended.closed().await;
        drop((self.permit, answer));
    }

    /// What is sent to the shadows, or how and why their legs end unsent. `body` is `None` when the proxy cut the request, and the
    /// capture in it when the request went away.
    fn copy(&self, body: Option<Option<Arc<Capture>>>) -> Result<Chunks, (Outcome, String)> {
        let State { mirrors, bytes, config, shedding, .. } = &*self.state;
        let shed = |reason: String| {
            shedding.shed(&reason);
            (Outcome::Shed, reason)
        };
        if self.permit.is_none() {
            return Err(shed(format!("{} mirrored requests are under way", mirrors.limit())));
        }
        let body = body.ok_or_else(|| (Outcome::Shutdown, STOPPING.into()))?;
        let body = body.ok_or_else(|| (Outcome::ClientGone, "the request went away".into()))?;
        match (&body.end, body.over) {
            (End::Broken(reason), _) => Err((Outcome::ClientGone, reason.clone())),
            (End::Abandoned, _) => Err((Outcome::ClientGone, "the upload did not end in time".into())),
            (End::Complete, Some(Over::Cap)) => {
                let reason = format!("{} bytes, the cap is {}", body.length, config.limits.body);
                Err((Outcome::BodyTooLarge, reason))
            }
            (End::Complete, Some(Over::Budget)) => {
                Err(shed(format!("captured bodies hold {} bytes", bytes.limit())))
            }
            (End::Complete, None) => Ok(Chunks::new(body)),
        }
    }
}

/// The primary leg once it has ended in any way, and what keeps its bytes counted.
async fn primary_leg(state: &State, primary: oneshot::Receiver<Primary>) -> (Leg, Option<Arc<Capture>>) {
    let gone = "the client went away before the primary answered";
    let (mut leg, at, mut body) = match state.unless_cut(primary).await {
        Some(Ok(Primary::Streaming(leg, at, body))) => (leg, at, body),
        Some(Ok(Primary::Ended(leg))) => return (leg, None),
        Some(Err(_)) => return (Leg::unsent(Outcome::ClientGone, gone), None),
        None => return (Leg::unsent(Outcome::Shutdown, STOPPING), None),
    };
    let Some(answer) = state.unless_cut(captured(&mut body)).await else {
        leg.latency_us = Some(micros(at.elapsed()));
        (leg.outcome, leg.reason) = (Outcome::Shutdown, STOPPING.into());
        return (leg, None);
    };
    if let Some(answer) = &answer {
        leg.latency_us = Some(micros(answer.ended.saturating_duration_since(at)));
        leg.inflight_peak = answer.inflight_peak;
        leg.body = answer.to_body();
        (leg.outcome, leg.reason) = ending(&answer.end);
    }
    (leg, answer)
}

fn ending(end: &End) -> (Outcome, String) {
    match end {
        End::Complete => (Outcome::Answered, String::new()),
        End::Broken(reason) => (Outcome::Incomplete, reason.clone()),
        End::Abandoned => {
            (Outcome::Incomplete, "the client went away and the rest did not come in time".into())
        }
    }
}

/// One shadow of a mirrored request.
struct One {
    state: Arc<State>,
    shadow: usize,
    received: Instant,
    request: Arc<Request>,
    primary: watch::Receiver<Option<Arc<Leg>>>,
}

impl One {
    async fn run(mut self, head: Arc<Head>, copy: Result<Chunks, (Outcome, String)>) {
        // The bytes of the shadow's answer count until the exchange is published.
        let (shadow, answer) = match copy {
            Ok(copy) => self.send(&head, copy).await,
            Err((outcome, reason)) => (Leg::unsent(outcome, reason), None),
        };
        let primary = self.primary.wait_for(Option::is_some).await.ok().and_then(|leg| leg.clone());
        let primary = primary.map_or_else(|| Leg::unsent(Outcome::Shutdown, STOPPING), Arc::unwrap_or_clone);
        self.publish(primary, shadow);
        drop(answer);
    }

    async fn send(&self, head: &Head, copy: Chunks) -> (Leg, Option<Arc<Capture>>) {
        let upstream = &self.state.shadows[self.shadow];
        let mut head = head.clone();
        head.headers.insert(MARK, HeaderValue::from_static("1"));
        let dispatch = upstream.dispatch();
        let mut leg = upstream.leg(&dispatch, self.received);
        let deadline = upstream.target.timeout;
        let answer = tokio::time::timeout(deadline, self.answer(&mut leg, &head, copy, &dispatch));
        let answered = match self.state.unless_cut(answer).await {
            None => Err((Outcome::Shutdown, STOPPING.into())),
            Some(Ok(answered)) => answered,
            Some(Err(_)) => {
                Err((Outcome::TimedOut, format!("no whole answer within {} ms", deadline.as_millis())))
            }
        };
        let answer = match answered {
            Ok(answer) => {
                leg.body = answer.to_body();
                (leg.outcome, leg.reason) = ending(&answer.end);
                Some(answer)
            }
            Err(failed) => {
                (leg.outcome, leg.reason) = failed;
                None
            }
        };
        leg.latency_us = Some(micros(dispatch.at.elapsed()));
        leg.inflight_peak = Some(dispatch.under_way.peak());
        leg.attempts = leg.attempts.max(u32::from(leg.outcome != Outcome::Refused));
        upstream.note(&dispatch, &leg);
        (leg, answer)
    }

    async fn answer(
        &self,
        leg: &mut Leg,
        head: &Head,
        copy: Chunks,
        dispatch: &Dispatch,
    ) -> Result<Arc<Capture>, (Outcome, String)> {
        let upstream = &self.state.shadows[self.shadow];
        let again = Some(copy.captured());
        let (response, attempts) = match upstream.send(dispatch, head, Either::Right(copy), again).await {
            Ok(answered) => answered,
            Err(failure) => {
                leg.attempts = failure.attempts;
                return Err((failure.outcome, failure.reason));
            }
        };
        leg.attempts = attempts;
        leg.first_byte_us = Some(micros(dispatch.at.elapsed()));
        self.state.describe_answer(leg, &response);
        let held = self.state.bytes.portion();
        let grace = std::time::Duration::ZERO;
        let (mut body, mut capture) =
            Tee::new(response.into_body(), self.state.config.limits.body, held, grace);
        while let Some(Ok(_)) = body.frame().await {}
        drop(body);
        captured(&mut capture).await.ok_or_else(|| (Outcome::Incomplete, "the answer went away".into()))
    }

    fn publish(self, primary: Leg, shadow: Leg) {
        let state = self.state;
        state.account.ended(self.shadow, shadow.outcome, shadow.inflight);
        let configured = &state.config.shadows[self.shadow];
        let id = exchange::Uuid::now_v7();
        let exchange = Exchange {
            id,
            run: state.config.run.clone(),
            proxy: state.config.name.clone(),
            sequence: state.account.next_sequence(),
            request: Arc::unwrap_or_clone(self.request),
            primary,
            shadow,
            shadow_target: configured.target.name.clone(),
            shadow_role: configured.role,
        };
        let message = Message {
            kind: Kind::Exchange,
            key: Bytes::copy_from_slice(id.as_bytes()),
            payload: exchange::wire::encode_exchange(exchange, state.config.limits.message),
            tally: state.account.tally(),
        };
        if let Err(reason) = state.publisher.publish(message) {
            state.account.not_taken(reason);
        }
    }
}
