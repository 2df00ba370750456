//! Closed loop: each connection sends its next request when it has the whole answer to the last one. HTTP/1.1 by hand, which takes less of the cores
//! than a client library would.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::ensure;
use bytes::{Buf, BytesMut};
use hdrhistogram::Histogram;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::grpc;
use crate::upstream::{content_length, head};

/// How long one answer may take before it counts as an error, which ends its connection's loop.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) connections: usize,
    /// Requests of one connection at a time; HTTP/1.1 has one.
    pub(crate) streams: usize,
    /// Bytes of a request's body.
    pub(crate) body: usize,
    pub(crate) grpc: bool,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Latencies of whole answers, µs.
    pub(crate) latencies: Histogram<u64>,
    pub(crate) errors: u64,
    /// The first error, for people.
    pub(crate) error: Option<String>,
    pub(crate) elapsed: Duration,
}

impl Tally {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let latencies = Histogram::new_with_bounds(1, 60_000_000, 3)?;
        Ok(Self { latencies, errors: 0, error: None, elapsed: Duration::ZERO })
    }

    /// Notes how one request ended.
    pub(crate) fn note(&mut self, begun: Instant, ended: &anyhow::Result<()>) {
        match ended {
            Ok(()) => {
                let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
                self.latencies.saturating_record(micros.max(1));
            }
            Err(error) => {
                self.errors += 1;
                self.error.get_or_insert_with(|| format!("{error:#}"));
            }
        }
    }

    pub(crate) fn add(&mut self, other: Self) -> anyhow::Result<()> {
        self.latencies.add(&other.latencies)?;
        self.errors += other.errors;
        if self.error.is_none() {
            self.error = other.error;
        }
        Ok(())
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.elapsed.as_secs_f64()
    }

    /// A percentile in ms.
    pub(crate) fn percentile(&self, percent: f64) -> f64 {
        self.latencies.value_at_percentile(percent) as f64 / 1e3
    }
}

/// Drives `address` for so long.
///
/// # Errors
/// When a task of the load itself fails; what the server does wrong is counted.
pub(crate) fn run(address: SocketAddr, load: Load, lasting: Duration) -> anyhow::Result<Tally> {
    crate::runtime()?.block_on(async move {
        let begun = Instant::now();
        let until = begun + lasting;
        let mut tasks = JoinSet::new();
        for number in 0..load.connections {
            if load.grpc {
                tasks.spawn(grpc::drive(address, load, until));
            } else {
                tasks.spawn(connection(address, load, number, until));
            }
        }
        let mut tally = Tally::new()?;
        while let Some(ended) = tasks.join_next().await {
            tally.add(ended??)?;
        }
        tally.elapsed = begun.elapsed();
        Ok(tally)
    })
}

async fn connection(address: SocketAddr, load: Load, number: usize, until: Instant) -> anyhow::Result<Tally> {
    let mut tally = Tally::new()?;
    let request = request(address, load.body, number);
    let mut buffer = BytesMut::with_capacity(32 << 10);
    let mut stream = None;
    while Instant::now() < until {
        let begun = Instant::now();
        let ended =
            tokio::time::timeout(PATIENCE, exchange(&mut stream, address, &request, &mut buffer)).await;
        let ended = ended.map_err(anyhow::Error::from).flatten();
        tally.note(begun, &ended);
        if ended.is_err() {
            stream = None;
            buffer.clear();
        }
    }
    Ok(tally)
}

/// One request as it is on the wire; each connection's bodies differ.
fn request(address: SocketAddr, body: usize, number: usize) -> Vec<u8> {
    let start = format!(r#"{{"model":"m","id":"request-{number:04}","inputs":["#);
    let mut json = start.into_bytes();
    let mut seed = number as u64 * 7919 + 1;
    while json.len() + 16 < body {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        json.extend(format!("0.{:06},", seed >> 44).bytes());
    }
    json.extend_from_slice(b"0]}");
    json.resize(body.max(json.len()), b' ');
    let mut request = format!(
        "POST /v2/models/ranker/infer?case={number} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        json.len()
    )
    .into_bytes();
    request.extend(json);
    request
}

async fn exchange(
    stream: &mut Option<TcpStream>,
    address: SocketAddr,
    request: &[u8],
    buffer: &mut BytesMut,
) -> anyhow::Result<()> {
    let stream = match stream {
        Some(stream) => stream,
        None => {
            let made = TcpStream::connect(address).await?;
            made.set_nodelay(true)?;
            stream.insert(made)
        }
    };
    stream.write_all(request).await?;
    let end = head(stream, buffer).await?;
    let end = end.ok_or_else(|| anyhow::anyhow!("closed before an answer"))?;
    let status = buffer.get(9..12).unwrap_or_default();
    ensure!(status == b"200", "status {}", String::from_utf8_lossy(status));
    let mut left = content_length(&buffer[..end])?;
    ensure!(left > 0, "an answer without a body");
    buffer.advance(end);
    loop {
        let here = left.min(buffer.len());
        buffer.advance(here);
        left -= here;
        if left == 0 {
            return Ok(());
        }
        buffer.clear();
        buffer.reserve(32 << 10);
        ensure!(stream.read_buf(buffer).await? > 0, "closed in the middle of an answer");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_asked_length_and_each_connection_its_own_body() {
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        let one = request(address, 1024, 1);
        let head = one.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        assert_eq!((one.len() - head, content_length(&one[..head]).unwrap()), (1024, 1024));
        assert_ne!(one[head..], request(address, 1024, 2)[head..]);
    }
}
