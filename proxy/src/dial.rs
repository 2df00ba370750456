//! Making a connection to a node: TCP, then TLS where the node asks for it.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::ProtocolVersion;
use rustls::pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A node that is switched off in the middle of an answer says nothing more: TCP finds it out, in a minute, and frees what waits.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Probes without an answer after which a node is gone.
const KEEPALIVE_PROBES: u32 = 3;

/// A connection to a node.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// How a connection is secured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Secured {
    pub(crate) version: Option<ProtocolVersion>,
    /// The protocol agreed on.
    pub(crate) alpn: Option<&'static str>,
}

impl Stream {
    /// How it is secured, if it is.
    pub(crate) fn secured(&self) -> Option<Secured> {
        let Self::Tls(stream) = self else { return None };
        let session = stream.get_ref().1;
        let alpn = session.alpn_protocol().map(|protocol| if protocol == b"h2" { "h2" } else { "http/1.1" });
        Some(Secured { version: session.protocol_version(), alpn })
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    #[error("{0} resolves to no address")]
    NoAddress(String),
    #[error("connecting to {0}: {1}")]
    Connect(SocketAddr, io::Error),
    #[error("no connection within {} ms", .0.as_millis())]
    TimedOut(Duration),
    #[error("tls with {0}: {1}")]
    Tls(SocketAddr, io::Error),
    #[error("tls with {0}: the node does not speak HTTP/2 (ALPN)")]
    NoHttp2(SocketAddr),
    #[error("`{0}` is no name that a certificate can bear: give server_name")]
    ServerName(String),
    #[error("HTTP handshake: {0}")]
    Handshake(hyper::Error),
}

/// Where and how to connect.
pub(crate) struct Dial<'a> {
    pub(crate) addresses: &'a [SocketAddr],
    pub(crate) tls: Option<(TlsConnector, ServerName<'static>)>,
    pub(crate) http2: bool,
    pub(crate) within: Duration,
}

impl Dial<'_> {
    /// Tries the addresses in turn; all of them together have the time of one connection.
    ///
    /// # Errors
    /// What the last address said.
    pub(crate) async fn connect(self) -> Result<(Stream, SocketAddr, SocketAddr), DialError> {
        let within = self.within;
        tokio::time::timeout(within, self.attempt()).await.unwrap_or(Err(DialError::TimedOut(within)))
    }

    async fn attempt(self) -> Result<(Stream, SocketAddr, SocketAddr), DialError> {
        let mut left = self.addresses.len() as u32;
        let mut last = None;
        for address in self.addresses {
            // A share of the time each: one that swallows everything must not keep the next from being tried.
            let share = self.within / left.max(1);
            left = left.saturating_sub(1);
            match tokio::time::timeout(share, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return self.finish(stream, *address).await,
                Ok(Err(error)) => last = Some(DialError::Connect(*address, error)),
                Err(_) => last = Some(DialError::TimedOut(share)),
            }
        }
        Err(last.unwrap_or_else(|| DialError::NoAddress("the node".into())))
    }

    async fn finish(
        self,
        stream: TcpStream,
        peer: SocketAddr,
    ) -> Result<(Stream, SocketAddr, SocketAddr), DialError> {
        let _ = stream.set_nodelay(true);
        let keepalive =
            TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE).with_retries(KEEPALIVE_PROBES);
        let _ = SockRef::from(&stream).set_tcp_keepalive(&keepalive);
        let local = stream.local_addr().map_err(|error| DialError::Connect(peer, error))?;
        let Some((connector, name)) = self.tls else { return Ok((Stream::Plain(stream), local, peer)) };
        let stream = connector.connect(name, stream).await.map_err(|error| DialError::Tls(peer, error))?;
        if self.http2 && stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Err(DialError::NoHttp2(peer));
        }
        Ok((Stream::Tls(Box::new(stream)), local, peer))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bytes),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }
}

/// The TLS side of a target: one configuration per protocol, as each asks for its own by ALPN.
#[derive(Clone)]
pub(crate) struct TargetTls {
    pub(crate) http1: TlsConnector,
    pub(crate) http2: TlsConnector,
}

impl TargetTls {
    pub(crate) fn connector(&self, http2: bool) -> TlsConnector {
        if http2 { self.http2.clone() } else { self.http1.clone() }
    }
}

impl std::fmt::Debug for TargetTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TargetTls")
    }
}

impl TargetTls {
    /// Reads the files of a target's settings.
    ///
    /// # Errors
    /// When a file is not what it should be.
    pub(crate) fn new(target: &crate::config::Target) -> Result<Self, crate::config::TlsError> {
        let connector =
            |alpn: &[u8]| Ok(TlsConnector::from(Arc::clone(&target.tls.build(&target.name, alpn)?)));
        Ok(Self { http1: connector(b"http/1.1")?, http2: connector(b"h2")? })
    }
}
