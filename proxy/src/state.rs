//! What all requests share.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use exchange::{Leg, Outcome};
use http::Response;
use hyper::body::Incoming;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::account::Answers;
use crate::budget::Budget;
use crate::config::{Config, Target, TlsError};
use crate::control::Control;
use crate::grpc;
use crate::nodes::NodeState;
use crate::notice::Notice;
use crate::orca::Reported;
use crate::publish::Publish;
use crate::redact::Redaction;
use crate::shadow::ending;
use crate::tee::Capture;
use crate::traces::Traces;
use crate::upstream::Upstream;

/// The shared state of one running proxy.
pub(crate) struct State {
    pub(crate) config: Config,
    pub(crate) primary: Upstream,
    /// In the order of `config.shadows`.
    pub(crate) shadows: Vec<Upstream>,
    pub(crate) control: Arc<Control>,
    pub(crate) mirrors: Budget,
    pub(crate) bytes: Budget,
    pub(crate) redaction: Arc<Redaction>,
    pub(crate) answers: Answers,
    pub(crate) publisher: Arc<dyn Publish>,
    /// The way to the trace collector, where there is one.
    pub(crate) traces: Option<Traces>,
    /// Pairings under way.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the drain deadline has passed.
    pub(crate) cut: CancellationToken,
    /// Cancelled when no more clients are to be accepted.
    pub(crate) stop: CancellationToken,
    /// Cancelled when all is published and the workers may go.
    pub(crate) over: CancellationToken,
    /// Places for client connections.
    pub(crate) places: Arc<Semaphore>,
    /// Client connections so far.
    pub(crate) connections: AtomicU64,
    pub(crate) draining: AtomicBool,
    pub(crate) shedding: Notice,
    pub(crate) started_us: i64,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("proxy", &self.config.name).finish_non_exhaustive()
    }
}

impl State {
    /// Reads what the targets need for TLS.
    ///
    /// # Errors
    /// When a file is not what it should be.
    pub(crate) fn new(
        config: Config,
        control: Arc<Control>,
        workers: usize,
        publisher: Arc<dyn Publish>,
        traces: Option<Traces>,
    ) -> Result<Self, TlsError> {
        let upstream = |target: &Target| Upstream::new(target.clone(), workers, config.resolver.clone());
        Ok(Self {
            primary: upstream(&config.primary)?,
            shadows: config
                .shadows
                .iter()
                .map(|shadow| upstream(&shadow.target))
                .collect::<Result<_, _>>()?,
            control,
            mirrors: Budget::new(config.limits.mirror_inflight),
            bytes: Budget::new(config.limits.mirror_bytes),
            redaction: Arc::new(Redaction::new(
                config.redaction.clone(),
                &config.secrets,
                config.limits.body,
            )),
            answers: Answers::default(),
            publisher,
            traces,
            tasks: TaskTracker::new(),
            cut: CancellationToken::new(),
            stop: CancellationToken::new(),
            over: CancellationToken::new(),
            places: Arc::new(Semaphore::new(config.limits.connections)),
            connections: AtomicU64::new(0),
            draining: AtomicBool::new(false),
            shedding: Notice::new(),
            started_us: crate::now_us(),
            config,
        })
    }

    /// What the future gives, or `None` when the proxy cuts what is under way before that.
    pub(crate) async fn unless_cut<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            value = future => Some(value),
            () = self.cut.cancelled() => None,
        }
    }

    /// Notes what the head of an answer says.
    pub(crate) fn describe_answer(&self, node: &NodeState, leg: &mut Leg, response: &Response<Incoming>) {
        leg.status = Some(response.status().as_u16());
        leg.headers = self.redaction.headers(response.headers());
        leg.grpc_status = grpc::status(response.headers());
        Reported::note(leg);
        node.naming.of_head(&node.node, leg, response.headers());
    }

    /// Notes how the body of an answer ended, and with it the leg.
    pub(crate) fn describe_end(&self, node: &NodeState, leg: &mut Leg, answer: &Capture) {
        leg.body = answer.to_body();
        (leg.outcome, leg.reason) = ending(answer);
        let call = leg.header("content-type").is_some_and(grpc::names_messages);
        if let Some(trailers) = &answer.trailers {
            leg.trailers = self.redaction.headers(trailers);
            leg.grpc_status = grpc::status(trailers).or(leg.grpc_status);
            Reported::note(leg);
        }
        node.naming.of_end(&node.node, leg);
        if leg.outcome.is_answer() && call && leg.grpc_status.is_none() {
            // A call says how it ended: one that does not was cut on its way.
            let reason = "the call ended without a grpc-status".to_owned();
            (leg.outcome, leg.reason) = (Outcome::Incomplete, reason);
        }
    }

    /// Requests under way at a shadow, per node.
    pub(crate) fn inflight_at(&self, shadow: usize) -> u32 {
        self.shadows[shadow].nodes.inflight()
    }

    /// All targets, the primary first.
    pub(crate) fn upstreams(&self) -> impl Iterator<Item = &Upstream> {
        std::iter::once(&self.primary).chain(&self.shadows)
    }
}
