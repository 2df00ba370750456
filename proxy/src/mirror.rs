//! The other half of a mirrored request: sends the copies, waits until both legs have ended in any way, and publishes
//! one exchange per shadow. Runs beside the client's request, which never waits for it.

use std::sync::Arc;
use std::time::Instant;

use exchange::{Ending, Exchange, Leg, Outcome, Request};
use http::HeaderValue;
use http::header::CONTENT_LENGTH;
use http_body_util::{BodyExt, Either};
use tokio::sync::{oneshot, watch};

use crate::budget::Portion;
use crate::publish::Kind;
use crate::state::State;
use crate::tee::{Captured, Chunks, End, Over, Tee, captured};
use crate::upstream::{Dispatch, Head, connection, micros};

/// Marks a copy, so that a server can tell it from the real request.
const MARK: &str = "x-shadowdiff-shadow";

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
        let body = captured(&mut self.body).await;
        if let Some(body) = &body {
            self.request.body = body.to_body();
        }
        let unsent = match (&self.permit, &body) {
            (None, _) => {
                let limit = self.state.mirrors.limit();
                Some(Leg::unsent(Outcome::Shed, format!("{limit} mirrored requests are under way")))
            }
            (_, None) => Some(Leg::unsent(Outcome::ClientGone, "the request went away")),
            (Some(_), Some(body)) => match (&body.end, body.over) {
                (End::Broken(reason), _) => Some(Leg::unsent(Outcome::ClientGone, reason.as_str())),
                (End::Abandoned, _) => {
                    Some(Leg::unsent(Outcome::ClientGone, "the upload did not end in time"))
                }
                (End::Complete, Some(Over::Cap)) => {
                    let cap = self.state.config.limits.body;
                    Some(Leg::unsent(
                        Outcome::BodyTooLarge,
                        format!("{} bytes, the cap is {cap}", body.length),
                    ))
                }
                (End::Complete, Some(Over::Budget)) => {
                    let limit = self.state.bytes.limit();
                    Some(Leg::unsent(Outcome::Shed, format!("captured bodies hold {limit} bytes")))
                }
                (End::Complete, None) => None,
            },
        };
        if let Some(leg) = unsent.as_ref().filter(|leg| leg.outcome == Outcome::Shed) {
            self.state.shedding.shed(leg);
        }
        let copy = body.filter(|_| unsent.is_none()).map(Chunks::new);
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
            let sending = copy.clone().map(|copy| (self.head.clone(), copy));
            self.state.tasks.spawn(one.run(sending, unsent.clone()));
        }
        drop((primary, request, copy));
        ended.send_replace(Some(Arc::new(primary_leg(self.primary).await)));
        // The permit and the captured bodies are held until every shadow has ended.
        ended.closed().await;
        drop(self.permit);
    }
}

async fn primary_leg(primary: oneshot::Receiver<Primary>) -> Leg {
    match primary.await {
        Ok(Primary::Ended(leg)) => leg,
        Ok(Primary::Streaming(mut leg, at, mut body)) => {
            if let Some(body) = captured(&mut body).await {
                leg.latency_us = Some(micros(body.ended.saturating_duration_since(at)));
                leg.inflight_peak = body.inflight_peak;
                leg.body = body.to_body();
                (leg.outcome, leg.reason) = ending(&body.end);
            }
            leg
        }
        Err(_) => Leg::unsent(Outcome::ClientGone, "the client went away before the primary answered"),
    }
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
    async fn run(mut self, sending: Option<(Arc<Head>, Chunks)>, unsent: Option<Leg>) {
        let shadow = match (sending, unsent) {
            (Some((head, copy)), None) => self.send(&head, copy).await,
            (_, Some(leg)) => leg,
            (None, None) => Leg::unsent(Outcome::ClientGone, "there was no whole request to send"),
        };
        let primary = self.primary.wait_for(Option::is_some).await.ok().and_then(|leg| leg.clone());
        let primary = primary
            .map_or_else(|| Leg::unsent(Outcome::Shutdown, "the proxy was stopping"), Arc::unwrap_or_clone);
        self.publish(primary, shadow);
    }

    async fn send(&self, head: &Head, copy: Chunks) -> Leg {
        let upstream = &self.state.shadows[self.shadow];
        let mut head = head.clone();
        head.headers.remove(CONTENT_LENGTH);
        head.headers.insert(MARK, HeaderValue::from_static("1"));
        let dispatch = upstream.dispatch();
        let mut leg = upstream.leg(&dispatch, self.received);
        let deadline = upstream.target.timeout;
        let answer = tokio::time::timeout(deadline, self.answer(&mut leg, &head, copy, &dispatch));
        (leg.outcome, leg.reason) = tokio::select! {
            outcome = answer => outcome.unwrap_or_else(|_| {
                (Outcome::TimedOut, format!("no whole answer within {} ms", deadline.as_millis()))
            }),
            () = self.state.cut.cancelled() => (Outcome::Shutdown, "the proxy was stopping".into()),
        };
        leg.latency_us = Some(micros(dispatch.at.elapsed()));
        leg.inflight_peak = Some(dispatch.under_way.peak());
        leg.attempts = leg.attempts.max(u32::from(leg.outcome != Outcome::Refused));
        if leg.outcome.ending() == Ending::Failed {
            upstream.failed(&dispatch, &leg);
        }
        leg
    }

    async fn answer(
        &self,
        leg: &mut Leg,
        head: &Head,
        copy: Chunks,
        dispatch: &Dispatch,
    ) -> (Outcome, String) {
        let upstream = &self.state.shadows[self.shadow];
        let again = Some(copy.captured());
        let (response, attempts) = match upstream.send(dispatch, head, Either::Right(copy), again).await {
            Ok(answered) => answered,
            Err(failure) => {
                leg.attempts = failure.attempts;
                return (failure.outcome, failure.reason);
            }
        };
        leg.attempts = attempts;
        leg.first_byte_us = Some(micros(dispatch.at.elapsed()));
        self.state.describe_answer(leg, &response, connection(&response));
        let held = self.state.bytes.portion();
        let grace = std::time::Duration::ZERO;
        let (mut body, mut capture) =
            Tee::new(response.into_body(), self.state.config.limits.body, held, grace);
        while let Some(Ok(_)) = body.frame().await {}
        drop(body);
        match captured(&mut capture).await {
            Some(capture) => {
                leg.body = capture.to_body();
                ending(&capture.end)
            }
            None => (Outcome::Incomplete, "the answer went away".into()),
        }
    }

    fn publish(&self, primary: Leg, shadow: Leg) {
        let state = &self.state;
        state.account.ended(self.shadow, shadow.outcome, shadow.inflight);
        let configured = &state.config.shadows[self.shadow];
        let id = exchange::Uuid::now_v7();
        let exchange = Exchange {
            id,
            run: state.config.run.clone(),
            proxy: state.config.name.clone(),
            sequence: state.account.next_sequence(),
            request: Request::clone(&self.request),
            primary,
            shadow,
            shadow_target: configured.target.name.clone(),
            shadow_role: configured.role,
        };
        let message = exchange::wire::encode_exchange(exchange, state.config.limits.message);
        if let Err(reason) = state.publisher.publish(Kind::Exchange, id.as_bytes(), message) {
            state.account.not_taken(reason);
        }
    }
}
