//! One request of a client: forwarded to the primary while it arrives, answered while the answer arrives, and
//! handed to the mirror when it was chosen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use exchange::{Leg, Outcome};
use http::header::TRANSFER_ENCODING;
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Either;
use hyper::body::Incoming;
use tokio::sync::oneshot;

use crate::headers;
use crate::mirror::{Pairing, Primary};
use crate::reply::{self, Reply, no_answer};
use crate::state::State;
use crate::tee::{Captured, Tee};
use crate::upstream::{Dispatch, Failure, Head, REPLAY_WAIT, micros, once_more};

/// Bytes kept of a request that is not mirrored, for one replay on a stale connection.
const REPLAY_CAP: usize = 64 << 10;

/// How long the rest of a mirrored body is read on when its reader has gone away.
const GRACE: Duration = Duration::from_secs(30);

/// Forwards one request.
pub(crate) async fn forward(state: Arc<State>, request: Request<Incoming>, client: u64) -> Response<Reply> {
    let received = Instant::now();
    if request.method() == Method::CONNECT {
        let error = serde_json::json!({"error": "CONNECT is not supported: this is a reverse proxy"});
        return reply::json(StatusCode::NOT_IMPLEMENTED, &error);
    }
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    let route = state.sampler.choose(&parts.method, path.path(), &parts.headers);
    let permit = route.and_then(|_| state.mirrors.take(1));
    let (cap, grace) = match (&route, &permit) {
        (Some(_), Some(_)) => (state.config.limits.body, GRACE),
        // A node that refuses lets go of a body that it never read: it is read on for the next one.
        _ => (REPLAY_CAP, REPLAY_WAIT),
    };
    let record = route.map(|route| {
        let recorded = state.redaction.headers(&parts.headers);
        exchange::Request {
            id: headers::request_id(&recorded),
            trace_id: headers::trace_id(&recorded),
            received_at_us: crate::now_us(),
            method: parts.method.to_string(),
            path: path.path().to_owned(),
            query: path.query().map(|query| state.redaction.query(query)),
            route: route.name.clone(),
            client_connection: client,
            headers: recorded,
            body: exchange::Body::default(),
        }
    });
    let chunked = parts.headers.contains_key(TRANSFER_ENCODING);
    let mut head = Head { method: parts.method, path, headers: parts.headers, chunked };
    headers::strip_hop_by_hop(&mut head.headers);
    let head = Arc::new(head);
    let (body, capture) = Tee::new(body, cap, state.bytes.portion(), grace);
    let report = record.map(|request| {
        let (report, primary) = oneshot::channel();
        for shadow in 0..state.shadows.len() {
            state.account.mirrored(shadow);
        }
        let pairing = Pairing {
            state: state.clone(),
            received,
            request,
            head: head.clone(),
            body: capture.clone(),
            primary,
            permit,
        };
        state.tasks.spawn(pairing.run());
        report
    });
    let response = answer(&state, &head, body, capture, received, report).await;
    state.account.answered(response.status().as_u16());
    response
}

/// Sends the request to the primary and makes the client's answer of what comes back.
async fn answer(
    state: &State,
    head: &Head,
    body: Tee<Incoming>,
    capture: Captured,
    received: Instant,
    report: Option<oneshot::Sender<Primary>>,
) -> Response<Reply> {
    let upstream = &state.primary;
    let mut dispatch = upstream.dispatch();
    let mut body = Either::Left(body);
    let mut others = upstream.target.nodes.len() - 1;
    let answered = loop {
        let deadline = upstream.target.timeout;
        let sending = upstream.send(&dispatch, head, body, Some(capture.clone()));
        let answered = tokio::time::timeout(deadline, sending).await.unwrap_or_else(|_| {
            let reason = format!("no answer within {} ms", deadline.as_millis());
            Err(Failure { outcome: Outcome::TimedOut, reason, attempts: 1 })
        });
        // A node that refuses connections got nothing of the request: the next one may have it, if the body is at hand.
        let refused = match answered {
            Err(failure) if failure.outcome == Outcome::Refused && others > 0 => failure,
            answered => break answered,
        };
        let Some(again) = once_more(capture.clone()).await else { break Err(refused) };
        upstream.note(&dispatch, &ended(upstream.leg(&dispatch, received), &refused));
        others -= 1;
        body = again;
        dispatch = upstream.dispatch_after(&dispatch);
    };
    match answered {
        Ok((response, attempts)) => stream(state, response, attempts, dispatch, received, report),
        Err(failure) => {
            let mut leg = ended(upstream.leg(&dispatch, received), &failure);
            let response = no_answer(&failure, &leg.node);
            leg.latency_us = Some(micros(dispatch.at.elapsed()));
            leg.inflight_peak = Some(dispatch.under_way.peak());
            upstream.note(&dispatch, &leg);
            if let Some(report) = report {
                // The pairing may have been cut by a stop: then nobody waits for the leg.
                let _ = report.send(Primary::Ended(leg));
            }
            response
        }
    }
}

fn ended(leg: Leg, failure: &Failure) -> Leg {
    let reason = failure.reason.clone();
    Leg { outcome: failure.outcome, reason, attempts: failure.attempts, ..leg }
}

/// Streams the primary's answer to the client, a copy kept where the request is mirrored.
fn stream(
    state: &State,
    response: Response<Incoming>,
    attempts: u32,
    dispatch: Dispatch,
    received: Instant,
    report: Option<oneshot::Sender<Primary>>,
) -> Response<Reply> {
    let leg = report.as_ref().map(|_| {
        let mut leg: Leg = state.primary.leg(&dispatch, received);
        leg.first_byte_us = Some(micros(dispatch.at.elapsed()));
        leg.attempts = attempts;
        state.describe_answer(&mut leg, &response);
        leg
    });
    let (mut parts, body) = response.into_parts();
    headers::strip_hop_by_hop(&mut parts.headers);
    parts.extensions.clear();
    let (cap, grace) = if leg.is_some() { (state.config.limits.body, GRACE) } else { (0, Duration::ZERO) };
    let held = state.bytes.portion();
    let (body, capture) = Tee::counting(body, cap, held, grace, Some(dispatch.under_way));
    if let (Some(report), Some(leg)) = (report, leg) {
        // The pairing may have been cut by a stop: then nobody waits for the leg.
        let _ = report.send(Primary::Streaming(leg, dispatch.at, capture));
    }
    Response::from_parts(parts, Either::Left(body))
}
