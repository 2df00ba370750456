//! Clients that keep their connections and check every byte of their answers.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::faulty::answer_to;
use crate::scripted::runtime;
use crate::wait::DEADLINE;

/// How much is asked.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Connections, each with one request under way at a time.
    pub connections: u64,
    /// Requests on each.
    pub each: u64,
    /// Number of the first request.
    pub first: u64,
    /// Bytes of each request's body.
    pub body: usize,
}

impl Load {
    /// Requests in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.connections * self.each
    }

    /// Sends all requests to the proxy at `url`; each connection must last, and each answer be that of
    /// [`answer_to`] its number.
    ///
    /// # Panics
    /// When a request fails, a connection does not last, or an answer is another.
    pub fn run(self, url: &str) {
        let address: SocketAddr = url
            .trim_start_matches("http://")
            .parse()
            .unwrap_or_else(|error| panic!("{url} is no address: {error}"));
        runtime().block_on(async {
            let mut clients = JoinSet::new();
            for client in 0..self.connections {
                clients.spawn(self.client(address, client));
            }
            while let Some(ended) = clients.join_next().await {
                match ended {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => panic!("{error}"),
                    Err(error) => panic!("a client ended: {error}"),
                }
            }
        });
    }

    async fn client(self, address: SocketAddr, client: u64) -> Result<(), String> {
        let failed = |what: &str, error: &dyn std::fmt::Display| format!("client {client}: {what}: {error}");
        let stream = TcpStream::connect(address).await.map_err(|error| failed("connect", &error))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed("connect", &error))?;
        let connection = tokio::spawn(connection);
        for at in 0..self.each {
            let number = self.first + client * self.each + at;
            let what = format!("request {number}");
            sender.ready().await.map_err(|error| failed(&format!("{what}, connection lost"), &error))?;
            let answering = async {
                let response = sender.send_request(self.request(address, number)).await?;
                let status = response.status().as_u16();
                Ok::<_, hyper::Error>((status, response.into_body().collect().await?.to_bytes()))
            };
            let (status, body) = tokio::time::timeout(DEADLINE, answering)
                .await
                .map_err(|late| failed(&what, &late))?
                .map_err(|error| failed(&what, &error))?;
            if status != 200 || body != answer_to(number) {
                let body = String::from_utf8_lossy(&body).into_owned();
                return Err(failed(&what, &format!("status {status}, a wrong answer: {body}")));
            }
        }
        drop(sender);
        connection.await.map_err(|error| failed("end", &error))?.map_err(|error| failed("end", &error))
    }

    fn request(&self, address: SocketAddr, number: u64) -> Request<Full<Bytes>> {
        Request::post("/v1/models/m:predict")
            .header("host", address.to_string())
            .header("content-type", "application/json")
            .header("x-request-id", format!("request-{number}"))
            .body(Full::new(body_of(number, self.body)))
            .expect("all parts of the request are valid")
    }
}

/// The body of request `number`: `bytes` long, and no two numbers' alike.
#[must_use]
pub fn body_of(number: u64, bytes: usize) -> Bytes {
    let mut body = format!(r#"{{"instances":[{number}],"padding":""#).into_bytes();
    body.resize(bytes.max(body.len() + 2) - 2, b'x');
    body.extend_from_slice(b"\"}");
    body.into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::faulty::{Fault, Faulty};

    const SMALL: Load = Load { connections: 3, each: 4, first: 0, body: 100 };

    #[test]
    fn each_request_is_sent_once() {
        let server = Faulty::started(Fault::Slow(Duration::ZERO));
        SMALL.run(&server.url);
        let mut numbers: Vec<_> = server.asked().iter().filter_map(|asked| asked.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..12).collect::<Vec<_>>());
        assert!(server.asked().iter().all(|asked| asked.bytes == 100));
    }

    #[test]
    #[should_panic(expected = "client")]
    fn an_answer_that_breaks_off_is_noticed() {
        SMALL.run(&Faulty::started(Fault::ResetMidBody).url);
    }
}
