//! One keep-alive HTTP/1.1 connection to a server, with answers of bounded size. It makes no second attempts.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// Largest answer read, bytes.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Path at which the shipped model answers.
pub const INFER_PATH: &str = "/v2/models/ranker/infer";

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server could not be reached.
    #[error("no connection to {target}: {source}")]
    Connect {
        /// Address dialled.
        target: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The request cannot be put on the wire: an id with characters no header may have.
    #[error("not a request: {0}")]
    Request(#[from] http::Error),
    /// The connection broke before or within the answer.
    #[error("the connection broke: {0}")]
    Broken(#[from] hyper::Error),
    /// The body broke off or is larger than [`MAX_ANSWER_BYTES`].
    #[error("the answer could not be read: {0}")]
    Body(Box<dyn std::error::Error + Send + Sync>),
    /// No complete answer in time.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
}

/// A connection that carries one request at a time. After an error it is of no more use.
#[derive(Debug)]
pub struct Connection {
    target: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Connection {
    /// Connects within `patience`.
    ///
    /// # Errors
    /// When the server cannot be reached or does not accept in time.
    pub async fn open(target: SocketAddr, patience: Duration) -> Result<Self, ClientError> {
        let connected = tokio::time::timeout(patience, TcpStream::connect(target)).await;
        let stream = connected
            .map_err(|_| ClientError::Timeout(patience))?
            .and_then(|stream| stream.set_nodelay(true).map(|()| stream))
            .map_err(|source| ClientError::Connect { target, source })?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
        Ok(Self { target, sender, driver })
    }

    /// Status and body of `GET path`.
    ///
    /// # Errors
    /// When no complete answer comes within `patience`.
    pub async fn get(&mut self, path: &str, patience: Duration) -> Result<(StatusCode, Bytes), ClientError> {
        let request = Request::builder().method(Method::GET).uri(path).header(HOST, self.target.to_string());
        self.exchange(request.body(Full::default())?, patience).await
    }

    /// Status and body of `POST path` with a JSON body and an `x-request-id`.
    ///
    /// # Errors
    /// When `id` cannot be a header's value, or no complete answer comes within `patience`.
    pub async fn post(
        &mut self,
        path: &str,
        id: &str,
        body: Bytes,
        patience: Duration,
    ) -> Result<(StatusCode, Bytes), ClientError> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(HOST, self.target.to_string())
            .header(CONTENT_TYPE, "application/json")
            .header("x-request-id", id);
        self.exchange(request.body(Full::new(body))?, patience).await
    }

    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        patience: Duration,
    ) -> Result<(StatusCode, Bytes), ClientError> {
        let answered = async {
            self.sender.ready().await?;
            let answer = self.sender.send_request(request).await?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), MAX_ANSWER_BYTES)
                .collect()
                .await
                .map_err(ClientError::Body)?;
            Ok((status, body.to_bytes()))
        };
        tokio::time::timeout(patience, answered).await.unwrap_or(Err(ClientError::Timeout(patience)))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
