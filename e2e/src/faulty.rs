//! Deployments that are well, slow or broken in the ways a mirror must stand, and remember what they were asked.
//!
//! Requests are numbered by their `x-request-id` (`request-7`); the answer to a number is the same on every server
//! that answers, so that a client can check each byte of its own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};
use xxhash_rust::xxh3::xxh3_128;

use crate::scripted::{Scripted, full, runtime};

/// What is wrong with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Answers each request after this long, any number at a time.
    Slow(Duration),
    /// Answers after `each`, at most `at_once` at a time; the others wait their turn in order.
    Capacity {
        /// Requests at a time.
        at_once: usize,
        /// Time that each takes.
        each: Duration,
    },
    /// Reads requests and answers none until it is [healed](Faulty::heal); then all, those that wait too.
    Hang,
    /// Sends half an answer, then resets the connection.
    ResetMidBody,
    /// Accepts and reads nothing.
    ReadsNothing,
    /// Listens, with room for one connection in its backlog, and never accepts.
    NeverAccepts,
}

/// What a server was asked.
#[derive(Debug, Default)]
struct Seen {
    requests: Mutex<Vec<Asked>>,
    connections: AtomicUsize,
    under_way: AtomicUsize,
    most: AtomicUsize,
}

/// A request as a server got it, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Its number; none when it has none.
    pub number: Option<u64>,
    /// Length of its body.
    pub bytes: usize,
    /// XXH3-128 of its body.
    pub digest: u128,
}

/// A running deployment of one node.
#[derive(Debug)]
pub struct Faulty {
    /// Base address.
    pub url: String,
    seen: Arc<Seen>,
    well: watch::Sender<bool>,
    _server: Server,
}

#[derive(Debug)]
enum Server {
    Scripted { _server: Scripted },
    Listener { _listener: tokio::net::TcpListener },
}

impl Faulty {
    /// Starts a server with this fault.
    ///
    /// # Panics
    /// When it cannot listen.
    #[must_use]
    pub fn started(fault: Fault) -> Self {
        let seen = Arc::new(Seen::default());
        let (well, healed) = watch::channel(false);
        let (url, server) = match fault {
            Fault::NeverAccepts => {
                let _guard = runtime().enter();
                let socket = TcpSocket::new_v4().expect("a process may open sockets");
                socket.bind(([127, 0, 0, 1], 0).into()).expect("loopback has a free port");
                let listener = socket.listen(1).expect("a bound socket can listen");
                let address = listener.local_addr().expect("a bound socket has an address");
                (format!("http://{address}"), Server::Listener { _listener: listener })
            }
            Fault::ResetMidBody | Fault::ReadsNothing => {
                let count = seen.clone();
                let server = Scripted::raw(move |stream, _| {
                    count.connections.fetch_add(1, Ordering::Relaxed);
                    break_off(stream, fault)
                });
                (server.url.clone(), Server::Scripted { _server: server })
            }
            Fault::Slow(_) | Fault::Capacity { .. } | Fault::Hang => {
                let (seen, at_once) = (seen.clone(), permits(fault));
                let server = Scripted::started(move |request| {
                    answer(fault, request, seen.clone(), at_once.clone(), healed.clone())
                });
                (server.url.clone(), Server::Scripted { _server: server })
            }
        };
        Self { url, seen, well, _server: server }
    }

    /// Makes a server that hangs answer.
    pub fn heal(&self) {
        self.well.send_replace(true);
    }

    /// The requests that it has read whole, in the order in which their heads came.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.seen.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The most requests that were under way at once.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        self.seen.most.load(Ordering::Relaxed)
    }
}

fn permits(fault: Fault) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(match fault {
        Fault::Capacity { at_once, .. } => at_once,
        _ => Semaphore::MAX_PERMITS,
    }))
}

/// The number of a request, from its `x-request-id`.
fn number<B>(request: &Request<B>) -> Option<u64> {
    request.headers().get("x-request-id")?.to_str().ok()?.strip_prefix("request-")?.parse().ok()
}

/// The answer that every server gives to the request of this number: a score and a kilobyte of other things.
#[must_use]
pub fn answer_to(number: u64) -> Bytes {
    let score = f64::from(u32::try_from(number % 1000).unwrap_or(0)) / 1000.0;
    format!(r#"{{"predictions":[{score}],"note":"{number:0>1000}"}}"#).into()
}

async fn answer(
    fault: Fault,
    request: Request<Incoming>,
    seen: Arc<Seen>,
    at_once: Arc<Semaphore>,
    mut healed: watch::Receiver<bool>,
) -> Response<crate::scripted::Body> {
    let number = number(&request);
    let most = seen.under_way.fetch_add(1, Ordering::Relaxed) + 1;
    seen.most.fetch_max(most, Ordering::Relaxed);
    // Also when the peer goes away and this future is dropped.
    let _under_way = Leaving(seen.clone());
    let turn = at_once.acquire().await;
    if let Ok(body) = request.into_body().collect().await.map(|body| body.to_bytes()) {
        let asked = Asked { number, bytes: body.len(), digest: xxh3_128(&body) };
        seen.requests.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
    }
    match fault {
        Fault::Slow(time) | Fault::Capacity { each: time, .. } => tokio::time::sleep(time).await,
        // The sender lives as long as the server.
        _ => drop(healed.wait_for(|well| *well).await),
    }
    drop(turn);
    let mut response = Response::new(full(answer_to(number.unwrap_or(0))));
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    response
}

struct Leaving(Arc<Seen>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn break_off(mut stream: TcpStream, fault: Fault) {
    if fault == Fault::ReadsNothing {
        return std::future::pending().await;
    }
    let mut buffer = [0; 16 << 10];
    // The head and, for small requests, the body.
    if !matches!(stream.read(&mut buffer).await, Ok(1..)) {
        return;
    }
    let half = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{\"predictions\":[";
    let _ = stream.write_all(half).await;
    // Closed at once with a reset instead of an end.
    let _ = stream.set_zero_linger();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Client;

    fn ask(client: &Client, server: &Faulty, number: u64) -> Result<crate::http::Answer, String> {
        client.try_post(&server.url, &[("x-request-id", &format!("request-{number}"))], b"body")
    }

    #[test]
    fn a_slow_server_answers_with_what_is_promised_and_remembers() {
        let server = Faulty::started(Fault::Slow(Duration::from_millis(1)));
        let answer = ask(&Client::default(), &server, 7).unwrap();
        assert_eq!(answer.body, answer_to(7));
        assert_eq!(server.asked(), [Asked { number: Some(7), bytes: 4, digest: xxh3_128(b"body") }]);
        assert_ne!(answer_to(7), answer_to(8));
    }

    #[test]
    fn a_server_that_hangs_answers_once_healed() {
        let server = Faulty::started(Fault::Hang);
        let impatient = Client::new(Duration::from_millis(200));
        assert!(ask(&impatient, &server, 1).is_err());
        server.heal();
        assert_eq!(ask(&Client::default(), &server, 2).unwrap().status, 200);
    }

    #[test]
    fn broken_servers_give_no_whole_answer() {
        for fault in [Fault::ResetMidBody, Fault::ReadsNothing, Fault::NeverAccepts] {
            let server = Faulty::started(fault);
            assert!(ask(&Client::new(Duration::from_millis(300)), &server, 1).is_err(), "{fault:?}");
        }
    }
}
