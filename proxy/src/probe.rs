//! Asks the nodes what they are: server, version, hardware. Beside the requests, on connections of its own, one question after the
//! other; a node that does not answer keeps the labels that it has.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use exchange::Pairs;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, TE};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Method, Request, Response, Uri, Version};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;

use crate::config::{HostPolicy, Probe, Protocol};
use crate::grpc;
use crate::identity::{self, usable};
use crate::nodes::NodeState;
use crate::state::State;
use crate::upstream::Upstream;

/// How long a node may take for one answer, the connection included.
const PATIENCE: Duration = Duration::from_secs(5);

/// Largest answer that is read.
const LARGEST: usize = 256 << 10;

/// Where the Open Inference Protocol has its server metadata.
const METADATA: &str = "/v2";

/// The same over gRPC.
const SERVER_METADATA: &str = "/inference.GRPCInferenceService/ServerMetadata";

/// The part of `inference.ServerMetadataResponse` that is used.
#[derive(Clone, PartialEq, Message)]
struct ServerMetadata {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Asks the nodes of every target that has questions, now and again and again.
pub(crate) fn start(state: &Arc<State>) -> Vec<tokio::task::JoinHandle<()>> {
    let asks = |target: &usize| {
        let upstream = state.upstreams().nth(*target);
        upstream.is_some_and(|upstream| !upstream.target().identity.probes.is_empty())
    };
    let again = |target: usize| {
        let state = state.clone();
        tokio::spawn(async move {
            let Some(upstream) = state.upstreams().nth(target) else { return };
            loop {
                ask_all(upstream).await;
                tokio::time::sleep(upstream.target().identity.probe_every).await;
            }
        })
    };
    (0..state.upstreams().count()).filter(asks).map(again).collect()
}

async fn ask_all(upstream: &Upstream) {
    for node in upstream.nodes.current().iter() {
        let mut found = Pairs::new();
        let mut answered = false;
        for probe in &upstream.target().identity.probes {
            match tokio::time::timeout(PATIENCE, ask(upstream, node, probe)).await {
                Ok(Ok(labels)) => {
                    answered = true;
                    labels.into_iter().for_each(|(name, value)| identity::set(&mut found, &name, value));
                }
                Ok(Err(error)) => {
                    tracing::debug!(node = node.node.name, error, "a node does not say what it is");
                }
                Err(_) => tracing::debug!(node = node.node.name, "a node does not say in time what it is"),
            }
        }
        if answered {
            node.asked(&found);
        }
    }
}

/// The labels that a node answers one question with.
async fn ask(upstream: &Upstream, node: &NodeState, probe: &Probe) -> Result<Pairs, Fault> {
    let protocol = upstream.target().protocol;
    match probe {
        Probe::Metadata if protocol == Protocol::Http2 => server_metadata(upstream, node).await,
        Probe::Metadata => match get(upstream, node, &PathAndQuery::from_static(METADATA), false).await {
            Ok(answer) => {
                let labels = [("server", "/name"), ("server_version", "/version")];
                Ok(at(&answer, labels))
            }
            // A port may speak gRPC alone.
            Err(_) if protocol == Protocol::Auto => server_metadata(upstream, node).await,
            Err(error) => Err(error),
        },
        Probe::Json { path, labels } => {
            let answer = get(upstream, node, path, protocol == Protocol::Http2).await?;
            Ok(at(&answer, labels.iter().map(|(name, pointer)| (name.as_str(), pointer.as_str()))))
        }
    }
}

/// Labels at their places in a JSON answer, those that are there.
fn at<'a>(answer: &[u8], labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Pairs {
    let value = |pointer| Some(usable(&identity::at(answer, pointer)?)?.to_owned());
    labels.into_iter().filter_map(|(name, pointer)| Some((name.to_owned(), value(pointer)?))).collect()
}

async fn get(
    upstream: &Upstream,
    node: &NodeState,
    path: &PathAndQuery,
    http2: bool,
) -> Result<Bytes, Fault> {
    let request = request(upstream, node, Method::GET, path, http2, Bytes::new())?;
    let response = send(upstream, node, request, http2).await?;
    let status = response.status();
    if !status.is_success() {
        return Err(format!("{path}: status {status}").into());
    }
    Ok(Limited::new(response.into_body(), LARGEST).collect().await?.to_bytes())
}

async fn server_metadata(upstream: &Upstream, node: &NodeState) -> Result<Pairs, Fault> {
    // An empty message in its frame: not compressed, no bytes.
    let framed = Bytes::from_static(&[0; FRAME]);
    let path = PathAndQuery::from_static(SERVER_METADATA);
    let mut request = request(upstream, node, Method::POST, &path, true, framed)?;
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    request.headers_mut().insert(TE, HeaderValue::from_static("trailers"));
    let response = send(upstream, node, request, true).await?;
    let status = grpc::status(response.headers());
    let body = Limited::new(response.into_body(), LARGEST).collect().await?;
    let status = body.trailers().and_then(grpc::status).or(status);
    if status != Some(0) {
        return Err(format!("{SERVER_METADATA}: grpc-status {status:?}").into());
    }
    let metadata = ServerMetadata::decode(message(body.to_bytes())?)?;
    let pairs = [("server", metadata.name), ("server_version", metadata.version)];
    let labels =
        pairs.iter().filter_map(|(name, value)| Some(((*name).to_owned(), usable(value)?.to_owned())));
    Ok(labels.collect())
}

/// Bytes before a gRPC message: one says whether it is compressed, four how long it is.
const FRAME: usize = 5;

/// The first message of a gRPC body.
fn message(body: Bytes) -> Result<Bytes, Fault> {
    let head: [u8; FRAME] = body.get(..FRAME).ok_or("no message")?.try_into()?;
    let [compressed, length @ ..] = head;
    let end = FRAME + usize::try_from(u32::from_be_bytes(length))?;
    if compressed != 0 || body.len() < end {
        return Err("a message that is compressed or cut".into());
    }
    Ok(body.slice(FRAME..end))
}

fn request(
    upstream: &Upstream,
    node: &NodeState,
    method: Method,
    path: &PathAndQuery,
    http2: bool,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, Fault> {
    let authority = match &upstream.target().host {
        HostPolicy::Fixed(name) => name.clone(),
        HostPolicy::Node | HostPolicy::Preserve => node.node.authority.clone(),
    };
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    if http2 {
        *request.version_mut() = Version::HTTP_2;
    } else {
        request.headers_mut().insert(HOST, HeaderValue::from_str(authority.as_str())?);
    }
    if let Some(authorization) = &upstream.target().rewrite.authorization {
        request.headers_mut().insert(AUTHORIZATION, authorization.clone());
    }
    *request.uri_mut() = uri(http2.then_some(authority), node.node.tls, path)?;
    Ok(request)
}

fn uri(
    authority: Option<Authority>,
    tls: bool,
    path: &PathAndQuery,
) -> Result<Uri, http::uri::InvalidUriParts> {
    let mut parts = http::uri::Parts::default();
    parts.scheme = authority.as_ref().map(|_| if tls { Scheme::HTTPS } else { Scheme::HTTP });
    parts.authority = authority;
    parts.path_and_query = Some(path.clone());
    Uri::from_parts(parts)
}

/// Sends a question on a connection of its own, which ends with the answer.
async fn send(
    upstream: &Upstream,
    node: &NodeState,
    request: Request<Full<Bytes>>,
    http2: bool,
) -> Result<Response<Incoming>, Fault> {
    let (stream, _, _) = upstream.dial(node, http2).await?;
    let stream = TokioIo::new(stream);
    if http2 {
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
        // How it ended is told to whoever waits for the answer on it.
        tokio::spawn(connection);
        Ok(sender.send_request(request).await?)
    } else {
        let (mut sender, connection) = http1::handshake(stream).await?;
        tokio::spawn(connection);
        Ok(sender.send_request(request).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_taken_from_its_frame() {
        let framed = |bytes: &[u8]| message(Bytes::copy_from_slice(bytes));
        assert_eq!(framed(&[0, 0, 0, 0, 2, 8, 9, 7]).unwrap(), Bytes::from_static(&[8, 9]));
        for cut in [&[][..], &[0, 0, 0, 0], &[0, 0, 0, 0, 1], &[1, 0, 0, 0, 0], &[0, 255, 255, 255, 255, 1]] {
            assert!(framed(cut).is_err(), "{cut:?}");
        }
    }

    #[test]
    fn labels_that_an_answer_lacks_are_left_out() {
        let answer = br#"{"name": "triton", "version": "", "device": {"gpus": [{"name": "L4"}]}}"#;
        let wanted =
            [("server", "/name"), ("version", "/version"), ("gpu", "/device/gpus/0/name"), ("x", "/x")];
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(at(answer, wanted), [pair("server", "triton"), pair("gpu", "L4")]);
    }
}
