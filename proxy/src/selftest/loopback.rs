//! A loop-back address that stands in for a target, to see what arrives there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;

use super::{Ask, Received};
use crate::config::{Target, TlsError};
use crate::redact::{REDACTED, Redaction};
use crate::resolve::Resolve;
use crate::tee::{Chunks, UpstreamBody};
use crate::upstream::Upstream;

/// Longest time for a request to itself.
const WITHIN: Duration = Duration::from_secs(5);

/// Shortest value that is looked for in answers: shorter ones would be found everywhere.
const SHORTEST: usize = 4;

/// A request as it arrived.
#[derive(Debug)]
pub(super) struct Arrived {
    parts: Parts,
    body_bytes: usize,
}

/// Sends a request as the target would get it, only not over TLS; `None` when there is no loop-back address or no node.
pub(super) async fn arrived(
    target: &Target,
    resolver: Arc<dyn Resolve>,
    ask: &Ask,
) -> Result<Option<Arrived>, TlsError> {
    let Some(first) = target.nodes.first() else { return Ok(None) };
    let Ok(listener) = TcpListener::bind(("127.0.0.1", 0)).await else { return Ok(None) };
    let Ok(address) = listener.local_addr() else { return Ok(None) };
    let Ok(authority) = address.to_string().parse() else { return Ok(None) };
    let mut target = target.clone();
    let node = crate::config::Node { authority, tls: false, expand: false, ..first.clone() };
    target.nodes = vec![node];
    let upstream = Upstream::new(target, 1, resolver)?;
    let head = ask.head();
    let Some(dispatch) = upstream.dispatch(0, &head.headers) else { return Ok(None) };
    let body = UpstreamBody::Again(Chunks::of(ask.body.clone()));
    let seen = Arc::new(Mutex::new(None));
    let serving = tokio::spawn(serve(listener, seen.clone()));
    // What arrived is there before the answer is.
    let _ = tokio::time::timeout(WITHIN, upstream.send(&dispatch, &head, body, None)).await;
    serving.abort();
    let arrived = seen.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok(arrived)
}

async fn serve(listener: TcpListener, seen: Arc<Mutex<Option<Arrived>>>) {
    let Ok((stream, _)) = listener.accept().await else { return };
    let service = service_fn(move |request: Request<Incoming>| {
        let seen = seen.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let arrived = Arrived { parts, body_bytes: body.len() };
            *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(arrived);
            Ok::<_, hyper::Error>(Response::new(Full::new(Bytes::new())))
        }
    });
    // How it ended is seen by whether anything arrived.
    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
}

impl Arrived {
    /// What may be told of it.
    pub(super) fn told(&self, redaction: &Redaction) -> Received {
        let uri = &self.parts.uri;
        let path = match uri.query().and_then(|query| redaction.query(query)) {
            Some(query) => format!("{}?{query}", uri.path()),
            None => uri.path().to_owned(),
        };
        let mut headers = redaction.headers(&self.parts.headers);
        if let Some(authority) = uri.authority() {
            headers.insert(0, (":authority".to_owned(), authority.to_string()));
        }
        Received {
            method: self.parts.method.to_string(),
            path,
            http: format!("{:?}", self.parts.version),
            headers,
            body_bytes: self.body_bytes,
        }
    }

    /// The values that may not be told, for a server may send them back.
    pub(super) fn secrets(&self, redaction: &Redaction) -> Vec<String> {
        let mut secrets = Vec::new();
        for (name, value) in &self.parts.headers {
            let mut one = http::HeaderMap::new();
            one.insert(name, value.clone());
            let told = redaction.headers(&one);
            let hidden = told.first().is_none_or(|(_, told)| told == REDACTED || told.starts_with("hash:"));
            if let Ok(value) = value.to_str()
                && hidden
            {
                let token = value.rsplit(' ').next().unwrap_or(value);
                secrets.extend(
                    [value, token].into_iter().filter(|text| text.len() >= SHORTEST).map(str::to_owned),
                );
            }
        }
        secrets
    }
}
