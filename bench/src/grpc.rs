//! gRPC, both ends: a server that answers every call with one message, and the load of unary calls. HTTP/2 by prior knowledge.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context, ensure};
use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::combinators::WithTrailers;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::load::{Load, Tally};
use crate::upstream::Shared;

/// Path of the calls; the method of the Open Inference Protocol.
const PATH: &str = "/inference.GRPCInferenceService/ModelInfer";

type Trailers = std::future::Ready<Option<Result<HeaderMap, Infallible>>>;

/// One message with its five bytes of framing.
fn message(length: usize) -> Bytes {
    let mut framed = BytesMut::with_capacity(length + 5);
    framed.put_u8(0);
    framed.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    framed.put_bytes(b'x', length);
    framed.freeze()
}

/// Runs what is not `Send` on the thread it was made on.
#[derive(Debug, Clone, Copy)]
struct Local;

impl<F: Future + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(async move { drop(future.await) });
    }
}

/// Serves one connection.
pub(crate) async fn serve(stream: TcpStream, shared: Rc<Shared>) {
    let framed = message(shared.body);
    let service = service_fn(move |request: Request<Incoming>| {
        let (shared, framed) = (shared.clone(), framed.clone());
        async move {
            let mut body = request.into_body();
            while let Some(frame) = body.frame().await {
                if frame.is_err() {
                    break;
                }
            }
            shared.think().await;
            Ok::<_, Infallible>(answer(framed))
        }
    });
    // A client that breaks off is no matter of the server's.
    let _ = hyper::server::conn::http2::Builder::new(Local)
        .timer(TokioTimer::new())
        .max_concurrent_streams(1024)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

fn answer(framed: Bytes) -> Response<WithTrailers<Full<Bytes>, Trailers>> {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    let body = Full::new(framed).with_trailers(std::future::ready(Some(Ok(trailers))));
    let mut response = Response::new(body);
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    response
}

/// Makes calls on one connection until then.
pub(crate) async fn drive(address: SocketAddr, load: Load, until: Instant) -> anyhow::Result<Tally> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .handshake(TokioIo::new(stream))
        .await?;
    let connection = tokio::spawn(connection);
    let framed = message(load.body);
    let mut streams = JoinSet::new();
    for _ in 0..load.streams {
        let (mut sender, framed) = (sender.clone(), framed.clone());
        streams.spawn(async move {
            let mut tally = Tally::new()?;
            while Instant::now() < until {
                let begun = Instant::now();
                let ended = call(&mut sender, address, framed.clone()).await;
                tally.note(begun, &ended);
                if ended.is_err() {
                    break;
                }
            }
            Ok::<_, anyhow::Error>(tally)
        });
    }
    let mut tally = Tally::new()?;
    while let Some(ended) = streams.join_next().await {
        tally.add(ended??)?;
    }
    drop(sender);
    connection.abort();
    Ok(tally)
}

async fn call(
    sender: &mut SendRequest<Full<Bytes>>,
    address: SocketAddr,
    framed: Bytes,
) -> anyhow::Result<()> {
    let request = Request::post(format!("http://{address}{PATH}"))
        .version(http::Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Full::new(framed))?;
    sender.ready().await?;
    let answer = sender.send_request(request).await?;
    ensure!(answer.status() == 200, "status {}", answer.status());
    let body = answer.into_body().collect().await?;
    let status = body.trailers().and_then(|trailers| trailers.get("grpc-status")).context("no trailers")?;
    ensure!(status == "0", "grpc-status {status:?}");
    ensure!(!body.to_bytes().is_empty(), "an answer without a message");
    Ok(())
}
