//! Sending a request to a node of a target: choice of the node, load, connection pool, one replay on a stale
//! connection, and what went wrong said as data.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use exchange::{Ending, Leg, Outcome};
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use http_body_util::Either;
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::{HttpConnector, HttpInfo};
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::config::{HostPolicy, Node, Target};
use crate::load::{Load, Reading, UnderWay};
use crate::notice::Notice;
use crate::tee::{Captured, Chunks, Tee, captured};

/// A request body: the live one, or a captured one once more.
pub(crate) type UpstreamBody = Either<Tee<Incoming>, Chunks>;

/// How long to wait for the rest of an upload before it can be sent again.
pub(crate) const REPLAY_WAIT: Duration = Duration::from_secs(5);

/// A node that is switched off in the middle of an answer says nothing more: TCP finds it out, in a minute, and frees what waits.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Probes without an answer after which a node is gone.
const KEEPALIVE_PROBES: u32 = 3;

/// A target with its pool and the load of its nodes.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) target: Target,
    client: Client<HttpConnector, UpstreamBody>,
    loads: Vec<Arc<Load>>,
    notices: Vec<Notice>,
    next: AtomicUsize,
}

/// What is sent on of a request besides its body.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) method: Method,
    pub(crate) path: PathAndQuery,
    /// Without the headers of the client's own connection.
    pub(crate) headers: HeaderMap,
    /// Whether the body came in chunks, without a length told before.
    pub(crate) chunked: bool,
}

/// One request on its way to one node.
#[derive(Debug)]
pub(crate) struct Dispatch {
    node: usize,
    pub(crate) at: Instant,
    reading: Reading,
    pub(crate) under_way: UnderWay,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) outcome: Outcome,
    pub(crate) reason: String,
    pub(crate) attempts: u32,
}

impl Upstream {
    pub(crate) fn new(target: Target) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(target.connect_timeout));
        connector.set_keepalive(Some(KEEPALIVE));
        connector.set_keepalive_interval(Some(KEEPALIVE));
        connector.set_keepalive_retries(Some(KEEPALIVE_PROBES));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(target.idle_timeout)
            .set_host(false)
            .build(connector);
        let loads = target.nodes.iter().map(|_| Load::new()).collect();
        let notices = target.nodes.iter().map(|_| Notice::new()).collect();
        Self { target, client, loads, notices, next: AtomicUsize::new(0) }
    }

    /// Each node with the requests under way on it.
    pub(crate) fn inflight(&self) -> impl Iterator<Item = (&Node, u32)> {
        self.target.nodes.iter().zip(self.loads.iter().map(|load| load.inflight()))
    }

    /// Chooses the next node and counts the request on it.
    pub(crate) fn dispatch(&self) -> Dispatch {
        self.dispatch_to(self.next.fetch_add(1, Ordering::Relaxed) % self.loads.len())
    }

    /// Counts the request on the node after the one that refused it.
    pub(crate) fn dispatch_after(&self, refused: &Dispatch) -> Dispatch {
        self.dispatch_to((refused.node + 1) % self.loads.len())
    }

    fn dispatch_to(&self, node: usize) -> Dispatch {
        let at = Instant::now();
        let (reading, under_way) = self.loads[node].enter(at);
        Dispatch { node, at, reading, under_way }
    }

    /// Tells, now and then, of a leg that has ended by failing.
    pub(crate) fn note(&self, dispatch: &Dispatch, leg: &Leg) {
        if leg.outcome.ending() == Ending::Failed {
            self.notices[dispatch.node].failed(&self.target.name, leg);
        }
    }

    /// What is known of a leg when its request has been dispatched; the outcome is to be filled in.
    pub(crate) fn leg(&self, dispatch: &Dispatch, received: Instant) -> Leg {
        let node = &self.target.nodes[dispatch.node];
        Leg {
            node: node.name.clone(),
            labels: node.labels.clone(),
            queued_us: Some(micros(dispatch.at.saturating_duration_since(received))),
            inflight: dispatch.reading.inflight,
            rate_1s: dispatch.reading.rate_1s,
            rate_10s: dispatch.reading.rate_10s,
            ..Leg::unsent(Outcome::Answered, "")
        }
    }

    /// Sends a request and waits for the head of the answer. `again` is where the body appears when it has been captured: with
    /// it the request is sent once more if the connection broke before a byte of an answer, as a pooled
    /// connection does that the server has just closed.
    pub(crate) async fn send(
        &self,
        dispatch: &Dispatch,
        head: &Head,
        body: UpstreamBody,
        again: Option<Captured>,
    ) -> Result<(Response<Incoming>, u32), Failure> {
        let node = &self.target.nodes[dispatch.node];
        let error = match self.client.request(self.request(node, head, body)).await {
            Ok(response) => return Ok((response, 1)),
            Err(error) => error,
        };
        let replay = match again {
            Some(again) if broke_without_answer(&error) => once_more(again).await,
            _ => None,
        };
        let Some(body) = replay else { return Err(failure(&error, node, 1)) };
        match self.client.request(self.request(node, head, body)).await {
            Ok(response) => Ok((response, 2)),
            Err(error) => Err(failure(&error, node, 2)),
        }
    }

    fn request(&self, node: &Node, head: &Head, body: UpstreamBody) -> Request<UpstreamBody> {
        // Said here for every method: left to itself the client library takes a GET or HEAD to have no body.
        let framing = match &body {
            _ if !head.chunked => None,
            Either::Left(_) => Some((TRANSFER_ENCODING, HeaderValue::from_static("chunked"))),
            Either::Right(copy) => Some((CONTENT_LENGTH, copy.length().into())),
        };
        let mut request = Request::new(body);
        let mut uri = http::uri::Parts::default();
        uri.scheme = Some(Scheme::HTTP);
        uri.authority = Some(node.authority.clone());
        uri.path_and_query = Some(head.path.clone());
        // All three parts are there and each is valid, which is what `from_parts` asks.
        *request.uri_mut() = Uri::from_parts(uri).unwrap_or_default();
        *request.method_mut() = head.method.clone();
        *request.headers_mut() = head.headers.clone();
        request.headers_mut().extend(framing);
        if self.target.host == HostPolicy::Node || !head.headers.contains_key(HOST) {
            request.headers_mut().insert(HOST, node.host.clone());
        }
        request
    }
}

/// The body as it was captured, once its upload is complete.
pub(crate) async fn once_more(mut body: Captured) -> Option<UpstreamBody> {
    let capture = tokio::time::timeout(REPLAY_WAIT, captured(&mut body)).await.ok().flatten()?;
    capture.whole().then(|| Either::Right(Chunks::new(capture)))
}

/// The local address of the connection an answer came on.
pub(crate) fn connection(response: &Response<Incoming>) -> Option<String> {
    response.extensions().get::<HttpInfo>().map(|info| info.local_addr().to_string())
}

/// Whole microseconds.
pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn broke_without_answer(error: &ClientError) -> bool {
    // What cannot be parsed is an answer, and would be one again.
    !error.is_connect() && outcome_of(error) == Outcome::Reset && !caused_by(error, hyper::Error::is_parse)
}

/// Whether an error of the HTTP library for which `is` holds is among the causes.
fn caused_by(error: &ClientError, is: impl Fn(&hyper::Error) -> bool) -> bool {
    causes(error).any(|cause| cause.downcast_ref::<hyper::Error>().is_some_and(&is))
}

fn causes<'a>(error: &'a ClientError) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause: &&'a (dyn Error + 'static)| (*cause).source())
}

fn failure(error: &ClientError, node: &Node, attempts: u32) -> Failure {
    let outcome = outcome_of(error);
    let mut reason = format!("{}: {error}", node.name);
    for cause in causes(error) {
        reason.push_str(": ");
        reason.push_str(&cause.to_string());
    }
    let attempts = if outcome == Outcome::Refused { 0 } else { attempts };
    Failure { outcome, reason, attempts }
}

fn outcome_of(error: &ClientError) -> Outcome {
    if error.is_connect() {
        return Outcome::Refused;
    }
    // An error of the request body is the client's: it did not finish its upload.
    if caused_by(error, hyper::Error::is_user) { Outcome::ClientGone } else { Outcome::Reset }
}
