//! One request of a client: forwarded to the primary while it arrives, answered while the answer arrives, and
//! handed to the mirror when it was chosen.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use exchange::{Leg, Outcome};
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use tokio::sync::oneshot;

use crate::client::Client;
use crate::deadline::Deadlines;
use crate::finish::Finish;
use crate::head::Head;
use crate::mirror::{self, Pairing, Primary};
use crate::refuse::refused;
use crate::reply::{Reply, late_upload, no_answer};
use crate::sample::{Choice, Chosen};
use crate::state::State;
use crate::tee::{Captured, End, Tee, UpstreamBody};
use crate::upstream::{Answer, Dispatch, Failure, REPLAY_WAIT, micros, once_more};
use crate::{headers, upgrade};

/// Bytes kept of a request that is not mirrored, for one replay on a stale connection.
pub(crate) const REPLAY_CAP: usize = 64 << 10;

/// How long the rest of a mirrored body is read on when its reader has gone away.
const GRACE: Duration = Duration::from_secs(30);

/// Forwards one request.
pub(crate) async fn forward(
    state: Arc<State>,
    request: Request<Incoming>,
    client: Arc<Client>,
) -> Response<Reply> {
    let received = Instant::now();
    if let Some(refused) = refused(&state, &request) {
        return refused;
    }
    if upgrade::is_asked(&request) {
        let response = Box::pin(upgrade::forward(state.clone(), request, client, received)).await;
        state.answers.count(response.status().as_u16());
        return response;
    }
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let choice =
        state.control.sampler.choose(&parts.method, path, &parts.headers, |shadow| state.inflight_at(shadow));
    let permit = if matches!(choice, Choice::No) { None } else { state.mirrors.take(1) };
    let (cap, grace) = match &permit {
        Some(_) => (state.config.limits.body, GRACE),
        // A node that refuses lets go of a body that it never read: it is read on for the next one.
        None => (REPLAY_CAP, REPLAY_WAIT),
    };
    let mut head = Head::new(parts, body.is_end_stream());
    let deadlines = Deadlines::new(&mut head, state.primary.target(), received);
    let head = Arc::new(head);
    let (mut body, capture) = Tee::new(body, cap, state.bytes.portion(), grace);
    if let Some(until) = state.primary.target().upload_timeout.filter(|_| !head.grpc)
        && let Some(until) = received.checked_add(until)
    {
        body.until(until.into(), None);
    }
    let finish = permit.is_some();
    if finish {
        body.digest_all();
    }
    let follows = head.grpc && finish;
    let call = Call { state: state.clone(), head: head.clone(), worker: client.worker, received, deadlines };
    if matches!(choice, Choice::No) {
        let response = call.answer(body, capture, None).await;
        state.answers.count(response.status().as_u16());
        return response;
    }
    let (report, primary) = oneshot::channel();
    let (received_at_us, uploaded) = (crate::now_us(), capture.clone());
    let (mirror, worker, client_connection) = (state.clone(), client.worker, client.number);
    let begin = move |chosen: Chosen, legs: Vec<usize>, follows| Pairing {
        state: mirror,
        worker,
        received,
        received_at_us,
        client_connection,
        chosen,
        head,
        legs,
        follows,
        body: uploaded,
        primary,
        permit,
    };
    match choice {
        Choice::ByBody(undecided) => {
            let (mirror, uploaded) = (state.clone(), capture.clone());
            state.tasks.spawn(async move {
                if let Some(chosen) = mirror::decided(&mirror, undecided, uploaded).await {
                    let legs = chosen.begin();
                    begin(chosen, legs, None).run().await;
                }
            });
        }
        Choice::Yes(chosen) => {
            let legs = chosen.begin();
            // A call may wait for answers before it sends on: its copy goes along with it.
            let follows = follows.then(|| legs.iter().map(|_| body.follow()).collect());
            state.tasks.spawn(begin(chosen, legs, follows).run());
        }
        Choice::No => {}
    }
    let answer = call.answer(body, capture, Some(report));
    // One that is only recorded as shed ends with its client, like one that is not mirrored: else those that come and go pile
    // up at the primary.
    let response = if finish { Finish::new(answer).await } else { answer.await };
    state.answers.count(response.status().as_u16());
    response
}

/// A request on its way to the primary.
pub(crate) struct Call {
    pub(crate) state: Arc<State>,
    pub(crate) head: Arc<Head>,
    pub(crate) worker: usize,
    pub(crate) received: Instant,
    pub(crate) deadlines: Deadlines,
}

impl Call {
    /// Sends the request to the primary and makes the client's answer of what comes back.
    async fn answer(
        self,
        body: Tee<Incoming>,
        capture: Captured,
        report: Option<oneshot::Sender<Primary>>,
    ) -> Response<Reply> {
        match self.send(UpstreamBody::live(body), capture.clone()).await {
            Ok((answer, dispatch)) => self.stream(answer, dispatch, report),
            Err((failure, dispatch)) => {
                let leg = self.failed(&failure, dispatch);
                let response = match capture.now() {
                    Some(upload) if upload.end == End::TimedOut => late_upload(),
                    _ => no_answer(&failure, &leg.node, self.head.grpc),
                };
                if let Some(report) = report {
                    // The pairing may have been cut by a stop: then nobody waits for the leg.
                    let _ = report.send(Primary::Ended(Box::new(leg)));
                }
                response
            }
        }
    }

    /// The leg of a request without an answer, noted of its node.
    pub(crate) fn failed(&self, failure: &Failure, dispatch: Option<Dispatch>) -> Leg {
        let leg = dispatch.as_ref().map(|dispatch| dispatch.leg(self.received));
        let mut leg = failure.ended(leg.unwrap_or_else(|| Leg::unsent(failure.outcome, "")));
        if let Some(dispatch) = dispatch {
            leg.latency_us = Some(micros(dispatch.at.elapsed()));
            leg.inflight_peak = Some(dispatch.under_way.peak());
            self.state.primary.note(&dispatch, &leg);
        }
        leg
    }

    /// Sends the request to a node, and to the next one where a node refuses the connection.
    pub(crate) async fn send(
        &self,
        mut body: UpstreamBody,
        capture: Captured,
    ) -> Result<(Answer, Dispatch), (Failure, Option<Dispatch>)> {
        let upstream = &self.state.primary;
        let place = upstream.place().map_err(|full| (full, None))?;
        let Some(mut dispatch) = upstream.dispatch(self.worker, &self.head.headers) else {
            return Err((Failure::nowhere(), None));
        };
        let mut others = upstream.nodes.current().len().saturating_sub(1);
        loop {
            let answered = {
                // Pinned here: what takes a future by value makes room for it twice.
                let sending = pin!(upstream.send(&dispatch, &self.head, body, Some(capture.clone())));
                self.deadlines.head(dispatch.at, capture.clone(), sending).await
            };
            // A node that refuses connections got nothing of the request: the next one may have it, if the body is at hand.
            let refused = match answered {
                Ok(answer) => {
                    dispatch.under_way.hold(place);
                    return Ok((answer, dispatch));
                }
                Err(failure) if failure.outcome == Outcome::Refused && others > 0 => failure,
                Err(failure) => return Err((failure, Some(dispatch))),
            };
            let next = upstream.dispatch_after(&dispatch);
            let (Some(again), Some(next)) = (Box::pin(once_more(capture.clone(), REPLAY_WAIT)).await, next)
            else {
                return Err((refused, Some(dispatch)));
            };
            upstream.note(&dispatch, &refused.ended(dispatch.leg(self.received)));
            others -= 1;
            body = again;
            dispatch = next;
        }
    }

    /// Streams the primary's answer to the client, a copy kept where the request is mirrored.
    fn stream(
        self,
        mut answer: Answer,
        dispatch: Dispatch,
        report: Option<oneshot::Sender<Primary>>,
    ) -> Response<Reply> {
        let state = &self.state;
        // Closed where the body has decided that the request is not mirrored.
        let report = report.filter(|report| !report.is_closed());
        let leg = report.as_ref().map(|_| {
            let mut leg = dispatch.leg(self.received);
            leg.first_byte_us = Some(micros(dispatch.at.elapsed()));
            answer.describe(&mut leg);
            state.describe_answer(&dispatch.node, &mut leg, &answer.response);
            leg
        });
        if leg.is_none() {
            // Where the leg is not recorded, its head is its answer, as far as the node is judged.
            state.primary.note(&dispatch, &Leg::unsent(Outcome::Answered, ""));
        }
        let back = answer.back.take();
        let (mut parts, body) = answer.response.into_parts();
        headers::strip_hop_by_hop(&mut parts.headers);
        parts.version = http::Version::default();
        let Dispatch { node, at, under_way, .. } = dispatch;
        let mut body = match (report, leg) {
            (Some(report), Some(leg)) => {
                let (cap, held) = (state.config.limits.body, state.bytes.portion());
                let (mut body, capture) = Tee::counting(body, cap, held, GRACE, Some(under_way), back);
                body.digest_all();
                // The pairing may have been cut by a stop: then nobody waits for the leg.
                let _ = report.send(Primary::Streaming(Box::new(leg), node, at, capture));
                body
            }
            _ => Tee::passing(body, under_way, back),
        };
        self.deadlines.limit(at, &mut body);
        Response::from_parts(parts, Reply::Streamed(body))
    }
}
