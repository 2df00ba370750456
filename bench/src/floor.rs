//! A bare proxy on hyper: one current-thread runtime, the library's own pool, and, where it mirrors, bodies that are collected and sent to both. It keeps no
//! record, counts nothing and bounds nothing: the distance to it is what the product costs.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpListener;

use crate::upstream::announce;

/// Settings of the bare proxy.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Where requests go.
    #[arg(long)]
    primary: SocketAddr,
    /// Where copies go; none: nothing is mirrored and bodies stream.
    #[arg(long)]
    candidate: Option<SocketAddr>,
}

type Body = BoxBody<Bytes, hyper::Error>;
type Bare = Client<HttpConnector, Body>;

/// Serves until it is killed.
///
/// # Errors
/// When no port can be had.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let client = || {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).set_host(false).build(connector)
    };
    let (primary, shadow): (Bare, Bare) = (client(), client());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    announce(&format!("listening addr={}", listener.local_addr()?));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (args, primary, shadow) = (args.clone(), primary.clone(), shadow.clone());
        let service = service_fn(move |request| {
            let (args, primary, shadow) = (args.clone(), primary.clone(), shadow.clone());
            async move { Ok::<_, Infallible>(forward(&args, &primary, shadow, request).await) }
        });
        tokio::spawn(async move {
            let http = hyper::server::conn::http1::Builder::new();
            // A client that breaks off is no matter of the proxy's.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn forward(args: &Args, primary: &Bare, shadow: Bare, request: Request<Incoming>) -> Response<Body> {
    let answered = match args.candidate {
        None => primary.request(towards(args.primary, request.map(BodyExt::boxed))).await,
        Some(candidate) => {
            let (parts, body) = request.into_parts();
            let Ok(body) = body.collect().await else { return failed(StatusCode::BAD_REQUEST) };
            let body = body.to_bytes();
            let whole = || Full::new(body.clone()).map_err(|never: Infallible| match never {}).boxed();
            let copy = towards(candidate, Request::from_parts(parts.clone(), whole()));
            tokio::spawn(async move {
                if let Ok(answer) = shadow.request(copy).await {
                    drop(answer.into_body().collect().await);
                }
            });
            primary.request(towards(args.primary, Request::from_parts(parts, whole()))).await
        }
    };
    answered.map_or_else(|_| failed(StatusCode::BAD_GATEWAY), |answer| answer.map(BodyExt::boxed))
}

fn towards(node: SocketAddr, mut request: Request<Body>) -> Request<Body> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    // A socket address and a path that was parsed make a URI.
    let uri = Uri::builder().scheme("http").authority(node.to_string()).path_and_query(path).build();
    *request.uri_mut() = uri.unwrap_or_default();
    request
}

fn failed(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Full::default().map_err(|never: Infallible| match never {}).boxed());
    *response.status_mut() = status;
    response
}
