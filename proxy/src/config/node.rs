//! One serving node: where to dial it, what to call it and what is known of it.

use std::str::FromStr;

use exchange::Pairs;
use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};

/// A node of a target.
#[derive(Debug, Clone)]
pub struct Node {
    /// Identity in records: the address dialled, unless the operator named it.
    pub name: String,
    /// `host:port`, port included.
    pub authority: Authority,
    /// The authority as a `Host` header.
    pub host: HeaderValue,
    /// Whether it is spoken to over TLS.
    pub tls: bool,
    /// Whether the host is a name that stands for several nodes, one per address it resolves to.
    pub expand: bool,
    /// What is known of it (GPU, driver, …), sorted by name.
    pub labels: Pairs,
}

/// Why a URL names no node.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NodeError {
    /// Not a URL.
    #[error(
        "`{0}` is no URL: write http://HOST:PORT, https://HOST:PORT, or dns+http://NAME:PORT for a node per address"
    )]
    NotUrl(String),
    /// A scheme of another protocol.
    #[error(
        "`{0}`: a node is spoken to in http:// or https://, with dns+ before it for a node per address of the name"
    )]
    Scheme(String),
    /// More than scheme, host and port.
    #[error("`{0}`: a node is a host and a port; the client's own path is sent on")]
    Path(String),
}

impl FromStr for Node {
    type Err = NodeError;

    fn from_str(text: &str) -> Result<Self, NodeError> {
        let (expand, rest) = match text.strip_prefix("dns+") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let full = if rest.contains("://") { rest.to_owned() } else { format!("http://{rest}") };
        let uri: Uri = full.parse().map_err(|_| NodeError::NotUrl(text.to_owned()))?;
        let tls = uri.scheme() == Some(&Scheme::HTTPS);
        if !tls && uri.scheme() != Some(&Scheme::HTTP) {
            return Err(NodeError::Scheme(text.to_owned()));
        }
        if uri.path_and_query().is_some_and(|path| path.as_str() != "/") {
            return Err(NodeError::Path(text.to_owned()));
        }
        let host =
            uri.host().filter(|host| !host.is_empty()).ok_or_else(|| NodeError::NotUrl(text.to_owned()))?;
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(NodeError::NotUrl(text.to_owned()));
        }
        // A port that is no 16-bit number reads as none: it must not silently become 80.
        let written = uri.authority().map_or("", Authority::as_str);
        if uri.port_u16().is_none() && written.len() != host.len() {
            return Err(NodeError::NotUrl(text.to_owned()));
        }
        let name = format!("{host}:{}", uri.port_u16().unwrap_or(if tls { 443 } else { 80 }));
        let authority: Authority = name.parse().map_err(|_| NodeError::NotUrl(text.to_owned()))?;
        let host = HeaderValue::from_str(&name).map_err(|_| NodeError::NotUrl(text.to_owned()))?;
        Ok(Self { name, authority, host, tls, expand, labels: Vec::new() })
    }
}

impl Node {
    /// The same node with labels, sorted by name.
    #[must_use]
    pub fn with_labels(mut self, mut labels: Pairs) -> Self {
        labels.sort();
        self.labels = labels;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_part_of_the_identity() {
        assert_eq!("http://10.0.0.1".parse::<Node>().unwrap().name, "10.0.0.1:80");
        assert_eq!("model-a:8000".parse::<Node>().unwrap().name, "model-a:8000");
        assert_eq!("http://[::1]:9/".parse::<Node>().unwrap().name, "[::1]:9");
    }

    #[test]
    fn the_scheme_says_how_a_node_is_reached() {
        let node = |text: &str| text.parse::<Node>().unwrap();
        assert_eq!((node("https://a").name.as_str(), node("https://a").tls), ("a:443", true));
        assert!(node("dns+http://models:8000").expand && !node("http://models:8000").expand);
        assert!(node("dns+https://models").tls);
    }

    #[test]
    fn what_is_no_node_says_what_to_write() {
        assert_eq!("ftp://a:1".parse::<Node>().unwrap_err(), NodeError::Scheme("ftp://a:1".into()));
        assert_eq!("http://a:1/v2".parse::<Node>().unwrap_err(), NodeError::Path("http://a:1/v2".into()));
        for text in ["", "http://", "http://user:pw@a:1", "http://a:99999", "a b"] {
            assert_eq!(text.parse::<Node>().unwrap_err(), NodeError::NotUrl(text.into()), "{text}");
        }
    }
}
