//! HTTP servers that do as a test says, inside the test's own process: HTTP/1.1 and HTTP/2 by prior knowledge on one
//! port.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::OnceLock;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::{AbortHandle, JoinSet};

/// The body of an answer.
pub type Body = BoxBody<Bytes, std::io::Error>;

/// What runs the servers and clients of all tests of a binary.
///
/// # Panics
/// When threads cannot be started.
pub fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(2).enable_all().build().expect("a test may start threads")
    })
}

/// A body that is known as a whole.
pub fn full(body: impl Into<Bytes>) -> Body {
    Full::new(body.into()).map_err(|never| match never {}).boxed()
}

/// A running server; it and its connections end when dropped.
#[derive(Debug)]
pub struct Scripted {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its base address.
    pub url: String,
    accepting: AbortHandle,
}

impl Scripted {
    /// Starts a server that answers with `handler`.
    ///
    /// # Panics
    /// When it cannot listen.
    pub fn started<H, F>(handler: H) -> Self
    where
        H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        Self::raw(move |stream, _| {
            let handler = handler.clone();
            async move {
                // Small frames must not wait for more of them.
                let _ = stream.set_nodelay(true);
                let service = service_fn(move |request| {
                    let answer = handler(request);
                    async move { Ok::<_, Infallible>(answer.await) }
                });
                let server = auto::Builder::new(TokioExecutor::new());
                // A peer that breaks off is no concern of the server's.
                let _ = server.serve_connection(TokioIo::new(stream), service).await;
            }
        })
    }

    /// Starts a server that speaks bytes: `script` gets each connection with its number, from 0.
    ///
    /// # Panics
    /// When it cannot listen.
    pub fn raw<S, F>(script: S) -> Self
    where
        S: Fn(TcpStream, usize) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener =
            runtime().block_on(TcpListener::bind("127.0.0.1:0")).expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let accepting = runtime().spawn(async move {
            // Dropped with this task, which ends the connections.
            let mut connections = JoinSet::new();
            let mut number = 0;
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let Ok((stream, _)) = accepted else { return };
                        connections.spawn(script(stream, number));
                        number += 1;
                    }
                    Some(_) = connections.join_next() => {}
                }
            }
        });
        Self { address, url: format!("http://{address}"), accepting: accepting.abort_handle() }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
