//! The other half of a mirrored request: sends the copies, waits until all legs have ended in any way, and publishes
//! one exchange per copy. Runs beside the client's request, which never waits for it.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use exchange::{Exchange, Leg, Outcome, Request};
use tokio::sync::oneshot;

use crate::account::Run;
use crate::budget::Portion;
use crate::head::Head;
use crate::headers;
use crate::nodes::NodeState;
use crate::publish::{Kind, Message};
use crate::sample::{Chosen, Undecided};
use crate::shadow::{Copied, ShadowLeg};
use crate::state::State;
use crate::tee::{Capture, Captured, Chunks, End, Follow, Over, captured};
use crate::upstream::micros;

/// Why a leg was cut by a stop.
pub(crate) const STOPPING: &str = "the proxy was stopping";

/// Why an upload is not whole whose time is over.
const LATE: &str = "the upload did not end in time";

/// What the request's own path says about the primary leg.
#[derive(Debug)]
pub(crate) enum Primary {
    /// It has ended.
    Ended(Box<Leg>),
    /// The head of the answer is there and the body is streaming to the client.
    Streaming(Box<Leg>, Arc<NodeState>, Instant, Captured),
}

/// A mirrored request under way.
#[derive(Debug)]
pub(crate) struct Pairing {
    pub(crate) state: Arc<State>,
    pub(crate) worker: usize,
    pub(crate) received: Instant,
    pub(crate) received_at_us: i64,
    pub(crate) client_connection: u64,
    pub(crate) chosen: Chosen,
    pub(crate) head: Arc<Head>,
    /// The shadow of each copy.
    pub(crate) legs: Vec<usize>,
    /// A copy that goes along with the request for each leg, where the request is followed.
    pub(crate) follows: Option<Vec<Follow>>,
    pub(crate) body: Captured,
    pub(crate) primary: oneshot::Receiver<Primary>,
    /// `None` when the bound on mirrored requests was reached: then nothing is sent, and the fact is recorded.
    pub(crate) permit: Option<Portion>,
}

impl Pairing {
    /// Runs the pairing to its end.
    pub(crate) async fn run(mut self) {
        let (unused, none) = oneshot::channel();
        drop(unused);
        let primary = std::mem::replace(&mut self.primary, none);
        let state = self.state.clone();
        // The permit and the captured bodies, of the request and of the answers, count until all is published.
        let ((mut primary, answer), (body, mut shadows)) =
            tokio::join!(primary_leg(&state, primary, self.body.clone()), self.shadows());
        let mut request = self.request(body.as_deref());
        let legs = std::iter::once(&mut primary).chain(shadows.iter_mut().map(|copied| &mut copied.leg));
        state.redaction.exchange(&mut request, legs).await;
        self.publish(request, primary, shadows);
        drop((answer, body));
    }

    /// All shadow legs, ended, and the request's body.
    async fn shadows(&mut self) -> (Option<Arc<Capture>>, Vec<Copied>) {
        if let Some(follows) = self.follows.take() {
            let body = self.body.clone();
            let copies = follows.into_iter().map(|follow| self.leg().follow(follow, body.clone()));
            let legs = copies.zip(&self.legs).map(|(copy, shadow)| copy.of(*shadow)).collect();
            let (legs, body) = tokio::join!(all(legs), self.uploaded());
            return (body.ok(), legs);
        }
        let (body, copy) = match self.uploaded().await {
            Ok(body) => (Some(body.clone()), self.copy(body)),
            Err(ending) => (None, Err(ending)),
        };
        let copy = if self.permit.is_none() { Err(self.shed_for_want_of_a_place()) } else { copy };
        let legs = match copy {
            Ok(chunks) => {
                let one = |shadow: &usize| self.leg().send(chunks.clone(), self.body.clone()).of(*shadow);
                all(self.legs.iter().map(one).collect()).await
            }
            Err((outcome, reason)) => {
                self.legs.iter().map(|_| Copied::unsent(outcome, reason.clone())).collect()
            }
        };
        (body, legs)
    }

    fn leg(&self) -> ShadowLeg {
        ShadowLeg::new(self.state.clone(), self.worker, self.received, self.head.clone())
    }

    /// The request's body once its upload has ended in any way.
    async fn uploaded(&self) -> Result<Arc<Capture>, (Outcome, String)> {
        let mut body = self.body.clone();
        match self.state.unless_cut(captured(&mut body)).await {
            Some(Some(body)) => Ok(body),
            Some(None) => Err((Outcome::ClientGone, "the request went away".into())),
            None => Err((Outcome::Shutdown, STOPPING.into())),
        }
    }

    fn shed_for_want_of_a_place(&self) -> (Outcome, String) {
        shed(&self.state, format!("{} mirrored requests are under way or wait", self.state.mirrors.limit()))
    }

    /// What is sent to the shadows, or how and why their legs end unsent.
    fn copy(&self, body: Arc<Capture>) -> Result<Chunks, (Outcome, String)> {
        match not_whole(&self.state, &body) {
            None => Ok(Chunks::new(body)),
            Some(ending) => Err(ending),
        }
    }

    fn publish(self, request: Request, primary: Leg, shadows: Vec<Copied>) {
        let state = self.state;
        let last = shadows.len().saturating_sub(1);
        let mut left = Some((request, primary));
        for (index, (copied, shadow)) in shadows.into_iter().zip(self.legs).enumerate() {
            let both = if index == last { left.take() } else { left.clone() };
            let Some((request, primary)) = both else { continue };
            publish(&state, self.chosen.run(), request, primary, copied.leg, shadow, index == 0);
        }
    }

    fn request(&self, body: Option<&Capture>) -> Request {
        let recorded = self.state.redaction.headers(&self.head.headers);
        let path = &self.head.path;
        Request {
            id: headers::request_id(&recorded),
            trace_id: headers::trace_id(&recorded),
            received_at_us: self.received_at_us,
            method: self.head.method.to_string(),
            path: path.path().to_owned(),
            query: path.query().and_then(|query| self.state.redaction.query(query)),
            route: self.chosen.route().to_owned(),
            client_connection: self.client_connection,
            headers: recorded,
            body: body.map(Capture::to_body).unwrap_or_default(),
        }
    }
}

/// Whether a request is chosen whose body decides, once that has ended. One that went away before is not.
pub(crate) async fn decided(state: &State, undecided: Undecided, mut body: Captured) -> Option<Chosen> {
    let body = state.unless_cut(captured(&mut body)).await??;
    if body.end != End::Complete {
        return None;
    }
    let load = |shadow| state.inflight_at(shadow);
    if body.whole() {
        undecided.decide(body.chunks.iter().map(|chunk| &chunk[..]), load)
    } else {
        undecided.decide([&body.length.to_le_bytes()[..]], load)
    }
}

/// Runs legs side by side, the only one in place.
async fn all(mut legs: Vec<impl Future<Output = Copied> + Send + 'static>) -> Vec<Copied> {
    if legs.len() == 1
        && let Some(only) = legs.pop()
    {
        return vec![only.await];
    }
    let tasks: Vec<_> = legs.into_iter().map(tokio::spawn).collect();
    let mut ended = Vec::with_capacity(tasks.len());
    for task in tasks {
        let lost = |_| Copied::unsent(Outcome::Shutdown, "the leg was lost with the worker it ran on".into());
        ended.push(task.await.unwrap_or_else(lost));
    }
    ended
}

/// Notes and names a copy that was shed.
pub(crate) fn shed(state: &State, reason: String) -> (Outcome, String) {
    state.shedding.shed(&reason);
    (Outcome::Shed, reason)
}

/// Whether the upload has broken off, or was, and why.
fn broken_off(request: &Captured) -> Option<(Outcome, String)> {
    match request.now().map(|body| &body.end) {
        Some(End::Broken(reason)) => Some((Outcome::ClientGone, reason.clone())),
        Some(End::TimedOut) => Some((Outcome::ClientGone, LATE.into())),
        _ => None,
    }
}

/// How and why the legs of a request end unsent whose body is not whole.
pub(crate) fn not_whole(state: &State, body: &Capture) -> Option<(Outcome, String)> {
    match (&body.end, body.over) {
        (End::Broken(reason), _) => Some((Outcome::ClientGone, reason.clone())),
        (End::Abandoned | End::TimedOut, _) => Some((Outcome::ClientGone, LATE.into())),
        (End::Complete, Some(Over::Cap)) => {
            let reason = format!("{} bytes, the cap is {}", body.length, state.config.limits.body);
            Some((Outcome::BodyTooLarge, reason))
        }
        (End::Complete, Some(Over::Budget)) => {
            Some(shed(state, format!("captured bodies hold {} bytes", state.bytes.limit())))
        }
        (End::Complete, None) => None,
    }
}

/// The primary leg once it has ended in any way, and what keeps its bytes counted.
async fn primary_leg(
    state: &State,
    primary: oneshot::Receiver<Primary>,
    request: Captured,
) -> (Leg, Option<Arc<Capture>>) {
    let gone = "the client went away before the primary answered";
    let (mut leg, node, at, mut body) = match state.unless_cut(primary).await {
        Some(Ok(Primary::Streaming(leg, node, at, body))) => (*leg, node, at, body),
        Some(Ok(Primary::Ended(leg))) => return (*leg, None),
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
        state.describe_end(&node, &mut leg, answer);
    }
    if leg.outcome == Outcome::Incomplete
        && let Some(ending) = broken_off(&request)
    {
        // A stream that its caller broke off is cut at the node too, which is no failure of the node's.
        (leg.outcome, leg.reason) = ending;
    }
    node.note(state.primary.target(), &leg, Instant::now());
    (leg, answer)
}

fn publish(
    state: &State,
    run: &Run,
    request: Request,
    primary: Leg,
    shadow: Leg,
    target: usize,
    first: bool,
) {
    run.account.ended(target, &primary, &shadow);
    let configured = &state.config.shadows[target];
    let id = exchange::Uuid::now_v7();
    let exchange = Exchange {
        id,
        run: run.id.clone(),
        proxy: state.config.name.clone(),
        sequence: run.account.next_sequence(),
        request,
        primary,
        shadow,
        shadow_target: configured.target.name.clone(),
        shadow_role: configured.role,
    };
    if let Some(traces) = &state.traces {
        traces.note(&exchange, first);
    }
    let message = Message {
        kind: Kind::Exchange,
        key: Bytes::copy_from_slice(id.as_bytes()),
        payload: exchange::wire::encode_exchange(exchange, state.config.limits.message),
        tally: run.account.tally(),
    };
    if let Err(reason) = state.publisher.publish(message) {
        run.account.not_taken(reason);
    }
}
