//! Sending a request to a node of a target: choice of the node, load, connection, one replay where a connection broke before
//! anything was answered, and what went wrong said as data.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use exchange::leg::HttpVersion;
use exchange::{Leg, Outcome};
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use rustls::pki_types::ServerName;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::{Node, Target, TlsError};
use crate::dial::{Dial, DialError, TargetTls};
use crate::head::Head;
use crate::load::{Load, Reading, Total, UnderWay};
use crate::nodes::{NodeState, Nodes};
use crate::pool::{self, Lease, Return, Shared, Wire};
use crate::resolve::Resolve;
use crate::rewrite::Rewrite;
use crate::room::Admitted;
use crate::tee::{Captured, Chunks, UpstreamBody, captured};

/// How long to wait for the rest of an upload before it can be sent again.
pub(crate) const REPLAY_WAIT: Duration = Duration::from_secs(5);

/// The same of a gRPC call: the stream of one that is not unary stays open until its caller has been told.
const CALL_WAIT: Duration = Duration::from_millis(100);

/// Waiting connections that turn out to be closed, before a new one is made.
const STALE: usize = 8;

/// Answers that have no body, whatever their head says.
const BODILESS: [StatusCode; 2] = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED];

/// A target: its nodes and how they are reached.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) nodes: Nodes,
    tls: Option<TargetTls>,
    /// What is changed of requests on their way to it.
    rewrite: Option<Rewrite>,
    resolver: Arc<dyn Resolve>,
    /// Places for requests under way, where they are bounded.
    pub(crate) places: Option<Arc<Semaphore>>,
}

/// One request on its way to one node.
#[derive(Debug)]
pub(crate) struct Dispatch {
    pub(crate) node: Arc<NodeState>,
    pub(crate) at: Instant,
    worker: usize,
    reading: Reading,
    pub(crate) under_way: UnderWay,
}

/// The head of an answer, and the connection it came on.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) response: Response<Incoming>,
    pub(crate) attempts: u32,
    wire: Arc<Wire>,
    /// Number of the request on the connection, from 0.
    number: u64,
    /// Whether the connection had carried a request before.
    reused: bool,
    /// Puts the connection back once the body has been read.
    pub(crate) back: Option<Return>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) outcome: Outcome,
    pub(crate) reason: String,
    pub(crate) attempts: u32,
    /// Of an HTTP/2 stream that the node reset.
    pub(crate) reset: Option<h2::Reason>,
}

impl Failure {
    pub(crate) fn new(outcome: Outcome, reason: String, attempts: u32) -> Self {
        Self { outcome, reason, attempts, reset: None }
    }

    /// There is no node to send to.
    pub(crate) fn nowhere() -> Self {
        let reason = "no node of the primary is known: its name has not been resolved".into();
        Self::new(Outcome::Refused, reason, 0)
    }

    /// The leg that ended so.
    pub(crate) fn ended(&self, leg: Leg) -> Leg {
        Leg { outcome: self.outcome, reason: self.reason.clone(), attempts: self.attempts, ..leg }
    }
}

/// What went wrong with one try.
enum Fault {
    Dial(DialError),
    Http { error: hyper::Error, reused: bool },
}

impl Upstream {
    /// Reads what the target needs for TLS.
    ///
    /// # Errors
    /// When a file is not what it should be.
    pub(crate) fn new(target: Target, workers: usize, resolver: Arc<dyn Resolve>) -> Result<Self, TlsError> {
        let tls = target.nodes.iter().any(|node| node.tls).then(|| TargetTls::new(&target)).transpose()?;
        let places = target.inflight.map(|places| Arc::new(Semaphore::new(places)));
        let rewrite = Rewrite::new(&target.rewrite);
        Ok(Self { nodes: Nodes::new(target, workers), tls, rewrite, resolver, places })
    }

    pub(crate) fn target(&self) -> &Target {
        &self.nodes.target
    }

    /// Resolves the names of the nodes once more.
    pub(crate) async fn resolve(&self) {
        self.nodes.resolve(&*self.resolver).await;
    }

    /// A place among the requests under way, where they are bounded.
    ///
    /// # Errors
    /// When all are taken.
    pub(crate) fn place(&self) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        let Some(places) = &self.places else { return Ok(None) };
        places.clone().try_acquire_owned().map(Some).map_err(|_| {
            let bound = self.target().inflight.unwrap_or(0);
            let reason = format!("{bound} requests are under way on the primary, its max_inflight");
            Failure::new(Outcome::Shed, reason, 0)
        })
    }

    /// Chooses the next node and counts the request on it; `None` while no node is known.
    pub(crate) fn dispatch(&self, worker: usize, headers: &HeaderMap) -> Option<Dispatch> {
        self.nodes.choose(headers).map(|node| dispatch_to(node, worker))
    }

    /// A request of the proxy's own to a node, which is not counted as load on it.
    pub(crate) fn dispatch_own(&self, node: &Arc<NodeState>) -> Dispatch {
        let (at, load) = (Instant::now(), Load::new(Total::default()));
        let (reading, under_way) = load.enter(at);
        Dispatch { node: node.clone(), at, worker: self.nodes.own(), reading, under_way }
    }

    /// Counts the request on the node after the one that refused it, if there is another.
    pub(crate) fn dispatch_after(&self, refused: &Dispatch) -> Option<Dispatch> {
        self.nodes.after(&refused.node).map(|node| dispatch_to(node, refused.worker))
    }

    /// Notes how a leg ended.
    pub(crate) fn note(&self, dispatch: &Dispatch, leg: &Leg) {
        dispatch.node.note(self.target(), leg, Instant::now());
    }

    /// Sends a request and waits for the head of the answer. `again` is where the body appears when it has been captured: with
    /// it the request is sent once more if the connection had been used before and broke before a byte of an answer, as one
    /// does that the server has just closed, or if the node says that it has not looked at the request.
    pub(crate) async fn send(
        &self,
        dispatch: &Dispatch,
        head: &Head,
        body: UpstreamBody,
        again: Option<Captured>,
    ) -> Result<Answer, Failure> {
        let fault = match self.once(dispatch, head, body).await {
            Ok(answer) => return Ok(answer),
            Err(fault) => fault,
        };
        let replay = match again {
            Some(again) if fault.is_to_be_repeated() => {
                Box::pin(once_more(again, if head.grpc { CALL_WAIT } else { REPLAY_WAIT })).await
            }
            _ => None,
        };
        let Some(body) = replay else { return Err(failure(&fault, dispatch, 1)) };
        match Box::pin(self.once(dispatch, head, body)).await {
            Ok(answer) => Ok(Answer { attempts: 2, ..answer }),
            Err(fault) => Err(failure(&fault, dispatch, 2)),
        }
    }

    async fn once(&self, dispatch: &Dispatch, head: &Head, body: UpstreamBody) -> Result<Answer, Fault> {
        let node = &dispatch.node.node;
        let mut request = match &self.rewrite {
            None => head.request(self.target(), node, body),
            Some(rewrite) => {
                let (head, body) = head.rewritten(rewrite, body);
                head.into_request(self.target(), node, body)
            }
        };
        let http2 = head.http2_for(self.target());
        for attempt in 0.. {
            let pooled = if attempt < STALE { self.pooled(dispatch, http2) } else { None };
            let (connection, reused) = match pooled {
                Some(connection) => (connection, true),
                // Rare, and large: in a box it makes no request larger.
                None => Box::pin(self.connected(dispatch, http2)).await.map_err(Fault::Dial)?,
            };
            match connection.send(request, dispatch).await {
                Ok(answer) => return Ok(Answer { reused, ..answer }),
                // Of a request that is given back nothing was written: the connection had been closed.
                Err(mut error) => match error.take_message() {
                    Some(unsent) if reused => request = unsent,
                    _ => return Err(Fault::Http { error: error.into_error(), reused }),
                },
            }
        }
        unreachable!("a new connection ends the loop")
    }

    fn pooled(&self, dispatch: &Dispatch, http2: bool) -> Option<Connection> {
        let (node, pool) = (&dispatch.node, dispatch.node.pool(dispatch.worker));
        if http2 {
            pool.shared(|peer| node.has(peer)).map(Connection::Shared)
        } else {
            pool.take(self.target().idle_timeout, |peer| node.has(peer)).map(Connection::Own)
        }
    }

    /// A connection within the time for one, the wait for whoever makes one included, and whether it has carried requests before.
    /// Where the node may have no more, a wait for one that is free goes before.
    async fn connected(&self, dispatch: &Dispatch, http2: bool) -> Result<(Connection, bool), DialError> {
        let within = self.target().connect_timeout;
        let place = match &dispatch.node.room {
            None => None,
            Some(room) => {
                let idle = self.target().idle_timeout;
                match room.admit(&dispatch.node, dispatch.worker, http2, idle).await {
                    Admitted::Free(connection) => return Ok((connection, true)),
                    Admitted::Place(place) => Some(place),
                }
            }
        };
        let connecting = self.connect(dispatch, http2, place);
        tokio::time::timeout(within, connecting).await.unwrap_or(Err(DialError::TimedOut(within)))
    }

    async fn connect(
        &self,
        dispatch: &Dispatch,
        http2: bool,
        place: Option<OwnedSemaphorePermit>,
    ) -> Result<(Connection, bool), DialError> {
        if !http2 {
            let (stream, local, peer) = self.dial(&dispatch.node, http2).await?;
            return Ok((Connection::Own(pool::http1_on(stream, local, peer, place).await?), false));
        }
        let pool = dispatch.node.pool(dispatch.worker);
        let turn = pool.dialing.acquire().await;
        // Whoever had the turn before may have made the connection.
        if let Some(connection) = self.pooled(dispatch, http2) {
            return Ok((connection, true));
        }
        let made = match self.dial(&dispatch.node, http2).await {
            Ok((stream, local, peer)) => pool::http2_on(stream, local, peer, place).await,
            Err(error) => Err(error),
        };
        let shared = match made {
            Ok(shared) => shared,
            // A node that takes no more connections may still take more requests.
            Err(error) => {
                let crowded = pool.crowded(|peer| dispatch.node.has(peer)).ok_or(error)?;
                return Ok((Connection::Shared(crowded), true));
            }
        };
        pool.share(shared.clone());
        if let Some(room) = &dispatch.node.room {
            room.shared();
        }
        drop(turn);
        Ok((Connection::Shared(shared), false))
    }

    /// Makes a connection to a node.
    ///
    /// # Errors
    /// When there is none to be had within the connect timeout.
    pub(crate) async fn dial(
        &self,
        state: &NodeState,
        http2: bool,
    ) -> Result<(crate::dial::Stream, SocketAddr, SocketAddr), DialError> {
        let node = &state.node;
        let mut addresses = state.addresses();
        if addresses.is_empty() {
            let port = node.authority.port_u16().unwrap_or(80);
            let found = self.resolver.resolve(node.authority.host(), port);
            let within = self.target().connect_timeout;
            let found =
                tokio::time::timeout(within, found).await.ok().and_then(Result::ok).unwrap_or_default();
            if found.is_empty() {
                return Err(DialError::NoAddress(node.authority.host().to_owned()));
            }
            state.set_addresses(found);
            addresses = state.addresses();
        }
        let tls = match (&self.tls, node.tls) {
            (Some(tls), true) => Some((tls.connector(http2), self.server_name(node)?)),
            _ => None,
        };
        let dial = Dial { addresses: &addresses, tls, http2, within: self.target().connect_timeout };
        dial.connect().await
    }

    fn server_name(&self, node: &Node) -> Result<ServerName<'static>, DialError> {
        let name = match &self.target().tls.server_name {
            Some(name) => name.as_str(),
            None => node.authority.host().trim_start_matches('[').trim_end_matches(']'),
        };
        ServerName::try_from(name.to_owned()).map_err(|_| DialError::ServerName(name.to_owned()))
    }
}

/// A connection that carries the next request.
#[derive(Debug)]
pub(crate) enum Connection {
    Own(Lease),
    Shared(Shared),
}

impl Connection {
    async fn send(
        self,
        request: Request<UpstreamBody>,
        dispatch: &Dispatch,
    ) -> Result<Answer, TrySendError<Request<UpstreamBody>>> {
        match self {
            Self::Own(mut lease) => {
                let number = lease.wire.number();
                let bodiless = request.method() == Method::HEAD;
                let response = lease.sender.try_send_request(request).await?;
                let wire = lease.wire.clone();
                // There are servers that send a body all the same, which the next request would take for its answer.
                let bodiless = bodiless || BODILESS.contains(&response.status());
                let (node, worker) = (dispatch.node.clone(), dispatch.worker);
                let back = (!bodiless).then_some(Return::Lease { lease, node, worker });
                Ok(Answer { response, attempts: 1, wire, number, reused: false, back })
            }
            Self::Shared(mut shared) => {
                let number = shared.wire.number();
                let response = shared.sender.try_send_request(request).await?;
                let back = Some(Return::Stream { _used: shared.used });
                Ok(Answer { response, attempts: 1, wire: shared.wire, number, reused: false, back })
            }
        }
    }
}

fn dispatch_to(node: Arc<NodeState>, worker: usize) -> Dispatch {
    let at = Instant::now();
    let (reading, under_way) = node.load.enter(at);
    Dispatch { node, at, worker, reading, under_way }
}

impl Dispatch {
    /// What is known of a leg when its request has been dispatched; the outcome is to be filled in.
    pub(crate) fn leg(&self, received: Instant) -> Leg {
        let node = &self.node.node;
        Leg {
            node: node.name.clone(),
            labels: self.node.labels().as_ref().clone(),
            queued_us: Some(micros(self.at.saturating_duration_since(received))),
            inflight: self.reading.inflight,
            inflight_total: Some(self.reading.total),
            rate_1s: self.reading.rate_1s,
            rate_10s: self.reading.rate_10s,
            ..Leg::unsent(Outcome::Answered, "")
        }
    }
}

impl Answer {
    /// The connection that it came on.
    pub(crate) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Notes on which connection the answer came.
    pub(crate) fn describe(&self, leg: &mut Leg) {
        leg.attempts = self.attempts;
        leg.connection = Some(self.wire.local.to_string());
        leg.stream = Some(self.number);
        leg.reused = Some(self.reused);
        leg.http_version = Some(match self.response.version() {
            Version::HTTP_2 => HttpVersion::Http2,
            Version::HTTP_10 => HttpVersion::Http10,
            _ => HttpVersion::Http11,
        });
    }
}

/// The body as it was captured, once its upload is complete.
pub(crate) async fn once_more(mut body: Captured, wait: Duration) -> Option<UpstreamBody> {
    let capture = tokio::time::timeout(wait, captured(&mut body)).await.ok().flatten()?;
    capture.whole().then(|| UpstreamBody::Again(Chunks::new(capture)))
}

/// Whole microseconds.
pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

impl Fault {
    /// Whether the request may be sent once more: a connection that waited too long broke under it (RFC 9110 section 9.2.2), or
    /// the node says that it has not looked at it (RFC 9113 section 8.7). Another break may come of the request itself.
    fn is_to_be_repeated(&self) -> bool {
        match self {
            Self::Dial(_) => false,
            // The node broke the protocol, so the library closed the connection, with all that was under way on it.
            Self::Http { error, .. }
                if h2_error(error).is_some_and(|error| error.is_go_away() && !error.is_remote()) =>
            {
                true
            }
            Self::Http { error, reused } => match reset(error) {
                Some((reason, by_connection)) => reason == h2::Reason::REFUSED_STREAM || by_connection,
                // What cannot be parsed is an answer, and would be one again.
                None => *reused && !error.is_parse() && !ended_by_body(error),
            },
        }
    }
}

/// The code of an HTTP/2 error that the node sent, and whether that was of the whole connection.
fn reset(error: &hyper::Error) -> Option<(h2::Reason, bool)> {
    let error = h2_error(error).filter(|error| error.is_remote())?;
    Some((error.reason()?, error.is_go_away()))
}

fn h2_error(error: &hyper::Error) -> Option<&h2::Error> {
    error.source()?.downcast_ref()
}

/// Whether the request's own body broke off.
fn ended_by_body(error: &hyper::Error) -> bool {
    error.is_user() || error.is_body_write_aborted()
}

fn failure(fault: &Fault, dispatch: &Dispatch, attempts: u32) -> Failure {
    let (outcome, error): (Outcome, &dyn Error) = match fault {
        Fault::Dial(error) => (Outcome::Refused, error),
        // An error of the request body is the client's: it did not finish its upload.
        Fault::Http { error, .. } if ended_by_body(error) => (Outcome::ClientGone, error),
        Fault::Http { error, reused: true } if attempts == 1 => (Outcome::ResetOnReuse, error),
        Fault::Http { error, .. } => (Outcome::Reset, error),
    };
    let mut reason = format!("{}: {error}", dispatch.node.node.name);
    for cause in std::iter::successors(error.source(), |cause| (*cause).source()) {
        let cause = cause.to_string();
        if !reason.ends_with(&cause) {
            reason.push_str(": ");
            reason.push_str(&cause);
        }
    }
    let attempts = if outcome == Outcome::Refused { 0 } else { attempts };
    let reset = match fault {
        Fault::Http { error, .. } => {
            reset(error).filter(|(_, by_connection)| !by_connection).map(|(code, _)| code)
        }
        Fault::Dial(_) => None,
    };
    Failure { outcome, reason, attempts, reset }
}
