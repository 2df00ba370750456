//! Servers and clients of HTTP/2 and gRPC.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, Request, Response, Version};
use http_body_util::channel::{Channel, Sender};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Body, full};

pub(crate) const INFER: &str = "/inference.GRPCInferenceService/ModelInfer";

/// A gRPC message in its frame.
pub(crate) fn message(payload: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(payload.len() + 5);
    framed.put_u8(0);
    framed.put_u32(payload.len() as u32);
    framed.extend_from_slice(payload);
    framed.freeze()
}

/// Trailers that end a call well.
pub(crate) fn ok() -> HeaderMap {
    HeaderMap::from_iter([(http::HeaderName::from_static("grpc-status"), "0".parse().unwrap())])
}

/// Starts an HTTP/2 server; the second value counts its connections.
pub(crate) async fn serve<H, F>(handler: H) -> (SocketAddr, Arc<AtomicUsize>)
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            let handler = handler.clone();
            let service = service_fn(move |request| {
                let answer = handler(request);
                async move { Ok::<_, std::convert::Infallible>(answer.await) }
            });
            let http2 = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(http2.serve_connection(TokioIo::new(stream), service));
        }
    });
    (address, connections)
}

/// A gRPC server that gives back what it was sent, message by message, and ends well.
pub(crate) async fn echo() -> SocketAddr {
    serve(|request| async move { streamed(request.into_body(), ok()) }).await.0
}

/// An answer whose body is another body, with trailers after it.
pub(crate) fn streamed(body: Incoming, trailers: HeaderMap) -> Response<Body> {
    let frames = futures(body, trailers);
    let mut response = Response::new(BodyExt::boxed(StreamBody::new(frames)));
    response.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
    response
}

/// The data frames of a body, then the trailers.
fn futures(
    body: Incoming,
    trailers: HeaderMap,
) -> impl futures_util::Stream<Item = Result<Frame<Bytes>, std::io::Error>> {
    futures_util::stream::unfold((body, Some(trailers)), |(mut body, trailers)| async move {
        match body.frame().await {
            Some(Ok(frame)) => Some((Ok(frame), (body, trailers))),
            Some(Err(error)) => Some((Err(std::io::Error::other(error)), (body, None))),
            None => trailers.map(|trailers| (Ok(Frame::trailers(trailers)), (body, None))),
        }
    })
}

/// An HTTP/2 connection to an address.
pub(crate) async fn connect(address: SocketAddr) -> SendRequest<Body> {
    let stream = TcpStream::connect(address).await.unwrap();
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

/// The request of a call.
pub(crate) fn call(address: SocketAddr, path: &str, body: Body) -> Request<Body> {
    Request::post(format!("http://{address}{path}"))
        .version(Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(body)
        .unwrap()
}

/// The request of a call with one message.
pub(crate) fn unary(address: SocketAddr, payload: &[u8]) -> Request<Body> {
    call(address, INFER, full(message(payload)))
}

/// A body that is sent piece by piece.
pub(crate) fn pieces() -> (Sender<Bytes, std::io::Error>, Body) {
    let (sender, body) = Channel::new(8);
    (sender, body.boxed())
}

/// How a call ended: `grpc-status` of the trailers or, where there are none, of the head; and the bytes before it.
pub(crate) async fn outcome(response: Response<Incoming>) -> (String, Bytes) {
    let head = response.headers().get("grpc-status").cloned();
    let body = response.into_body().collect().await.unwrap();
    let status = body.trailers().and_then(|trailers| trailers.get("grpc-status")).cloned().or(head);
    (status.map(|status| status.to_str().unwrap().to_owned()).unwrap_or_default(), body.to_bytes())
}
