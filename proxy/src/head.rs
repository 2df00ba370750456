//! What is sent on of a request besides its body.

use http::header::{CONTENT_LENGTH, COOKIE, HOST, TRANSFER_ENCODING};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Extensions, HeaderMap, HeaderValue, Method, Request, Uri, Version};

use crate::config::{HostPolicy, Node, Protocol, Target};
use crate::rewrite::{Rest, Rewrite};
use crate::tee::{Renamed, UpstreamBody};
use crate::{grpc, headers};

/// The head of a client's request.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) method: Method,
    pub(crate) path: PathAndQuery,
    /// Without the headers of the client's own connection.
    pub(crate) headers: HeaderMap,
    /// Whether the body came without a length told before.
    pub(crate) unsized_body: bool,
    /// Whether it is a gRPC call.
    pub(crate) grpc: bool,
    /// What the HTTP library knows besides, such as how the names of headers were written.
    extensions: Extensions,
}

impl Head {
    /// Takes the parts of a request. `empty` says that no body comes.
    pub(crate) fn new(parts: http::request::Parts, empty: bool) -> Self {
        let http2 = parts.version == Version::HTTP_2;
        let mut headers = parts.headers;
        let grpc = grpc::is_call(parts.version, &headers);
        let unsized_body = headers.contains_key(TRANSFER_ENCODING)
            || (http2 && !empty && !headers.contains_key(CONTENT_LENGTH));
        headers::strip_hop_by_hop(&mut headers);
        if http2 {
            join_cookies(&mut headers);
        }
        // It says whom the request is for, whatever `Host` says (RFC 9112 section 3.2.2, RFC 9113 section 8.3.1).
        if let Some(authority) = parts.uri.authority()
            && let Ok(host) = HeaderValue::from_str(authority.as_str())
        {
            headers.insert(HOST, host);
        }
        let path = parts.uri.into_parts().path_and_query;
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        let extensions = if http2 { Extensions::new() } else { parts.extensions };
        Self { method: parts.method, path, headers, unsized_body, grpc, extensions }
    }

    /// Whether a target is spoken to in HTTP/2 for it.
    pub(crate) fn http2_for(&self, target: &Target) -> bool {
        match target.protocol {
            Protocol::Auto => self.grpc,
            Protocol::Http1 => false,
            Protocol::Http2 => true,
        }
    }

    /// The head and the body with the changes for a target. The JSON of a body that still comes is not changed.
    pub(crate) fn rewritten(&self, rewrite: &Rewrite, body: UpstreamBody) -> (Self, UpstreamBody) {
        let mut head = self.clone();
        let rest = rewrite.head(&mut head.path, &mut head.headers, head.grpc);
        let body = match (rest, body) {
            (Rest::Json, UpstreamBody::Again(mut chunks)) => {
                if let Some(changed) = rewrite.json(&mut head.headers, chunks.pieces()) {
                    chunks.change(changed);
                }
                UpstreamBody::Again(chunks)
            }
            (Rest::Grpc(messages), body) => UpstreamBody::Renamed(Box::new(Renamed::new(body, messages))),
            (_, body) => body,
        };
        (head, body)
    }

    /// The request for a node.
    pub(crate) fn request(&self, target: &Target, node: &Node, body: UpstreamBody) -> Request<UpstreamBody> {
        self.clone().into_request(target, node, body)
    }

    /// The same, of a head that is not needed any more.
    pub(crate) fn into_request(
        self,
        target: &Target,
        node: &Node,
        body: UpstreamBody,
    ) -> Request<UpstreamBody> {
        let http2 = self.http2_for(target);
        // Said here for every method: left to itself the library takes a GET or HEAD to have no body.
        let framing = match &body {
            _ if http2 || !self.unsized_body => None,
            UpstreamBody::Again(copy) if !copy.has_trailers() => Some((CONTENT_LENGTH, copy.length().into())),
            _ => Some((TRANSFER_ENCODING, HeaderValue::from_static("chunked"))),
        };
        let length = match &body {
            UpstreamBody::Again(copy) if self.headers.contains_key(CONTENT_LENGTH) => Some(copy.length()),
            _ => None,
        };
        let mut request = Request::new(body);
        *request.method_mut() = self.method;
        *request.headers_mut() = self.headers;
        *request.extensions_mut() = self.extensions;
        let headers = request.headers_mut();
        headers.extend(framing);
        if let Some(length) = length {
            headers.insert(CONTENT_LENGTH, length.into());
        }
        match &target.host {
            HostPolicy::Preserve if headers.contains_key(HOST) => {}
            HostPolicy::Preserve | HostPolicy::Node => {
                headers.insert(HOST, node.host.clone());
            }
            HostPolicy::Fixed(authority) => {
                if let Ok(host) = HeaderValue::from_str(authority.as_str()) {
                    headers.insert(HOST, host);
                }
            }
        }
        let authority = if http2 {
            // HTTP/2 says the host in `:authority` alone.
            let host = headers.remove(HOST);
            *request.version_mut() = Version::HTTP_2;
            let host = host.and_then(|host| Authority::try_from(host.as_bytes()).ok());
            Some(host.unwrap_or_else(|| node.authority.clone()))
        } else {
            None
        };
        *request.uri_mut() = uri(authority, node.tls, self.path);
        request
    }
}

fn uri(authority: Option<Authority>, tls: bool, path: PathAndQuery) -> Uri {
    let mut parts = http::uri::Parts::default();
    if authority.is_some() {
        parts.scheme = Some(if tls { Scheme::HTTPS } else { Scheme::HTTP });
    }
    parts.authority = authority;
    parts.path_and_query = Some(path);
    // Scheme and authority are both there or both not, and a path is: that is what `from_parts` asks.
    Uri::from_parts(parts).unwrap_or_default()
}

/// HTTP/2 may cut a cookie header in pieces, which HTTP/1.1 must not see (RFC 9113, section 8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    if headers.get_all(COOKIE).iter().nth(1).is_none() {
        return;
    }
    let pieces: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if let Ok(mut joined) = HeaderValue::from_bytes(&pieces.join(&b"; "[..])) {
        joined.set_sensitive(true);
        headers.insert(COOKIE, joined);
    }
}
