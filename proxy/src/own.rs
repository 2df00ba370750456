//! Requests of the proxy's own: to look at a node, or to hand on traces. They use connections of their own, never those of
//! clients' requests, and their answers are read up to a bound.

use std::sync::Arc;

use bytes::Bytes;
use exchange::Outcome;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderMap, Method, Request, Response, Version};
use http_body_util::{BodyExt, Collected, Limited};

use crate::head::Head;
use crate::nodes::NodeState;
use crate::tee::{Chunks, UpstreamBody};
use crate::upstream::{Failure, Upstream};

/// What to ask a node.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Whether it is a gRPC call; else it is ordinary HTTP.
    pub(crate) grpc: bool,
}

impl Upstream {
    /// Asks a node and reads its whole answer, of at most `cap` bytes. Not counted as load; the caller gives it a deadline.
    ///
    /// # Errors
    /// Why there is no whole answer.
    pub(crate) async fn ask(
        &self,
        node: &Arc<NodeState>,
        question: Question,
        cap: usize,
    ) -> Result<Response<Collected<Bytes>>, Failure> {
        let broken = |reason: String| Failure::new(Outcome::Incomplete, reason, 1);
        let mut request = Request::new(());
        *request.method_mut() = question.method;
        *request.headers_mut() = question.headers;
        *request.uri_mut() =
            question.path.parse().map_err(|_| broken(format!("`{}` is no path", question.path)))?;
        if question.grpc {
            *request.version_mut() = Version::HTTP_2;
        }
        let headers = request.headers_mut();
        if !headers.contains_key(HOST) {
            headers.insert(HOST, node.node.host.clone());
        }
        if !question.body.is_empty() {
            headers.insert(CONTENT_LENGTH, question.body.len().into());
        }
        let empty = question.body.is_empty();
        let head = Head::new(request.into_parts().0, empty);
        let dispatch = self.dispatch_own(node);
        let body = UpstreamBody::Again(Chunks::of(question.body));
        let mut answer = self.send(&dispatch, &head, body, None).await?;
        let back = answer.back.take();
        let (parts, body) = answer.response.into_parts();
        let read = Limited::new(body, cap).collect().await;
        let read = read.map_err(|error| broken(format!("{}: {error}", node.node.name)))?;
        if let Some(back) = back {
            back.back();
        }
        Ok(Response::from_parts(parts, read))
    }
}
