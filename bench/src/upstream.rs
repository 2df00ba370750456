//! A server that answers every request with the same body: HTTP/1.1 by hand, so that it takes little of the cores that it shares with what is
//! measured, or gRPC over HTTP/2 by prior knowledge.
//!
//! Standard input steers it, a word a line: `hang` (read everything, answer nothing), `ok`, and `count`, which prints the requests so far.

use std::cell::Cell;
use std::io::BufRead;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context;
use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use crate::grpc;

/// Bytes of a head at most.
const HEAD: usize = 64 << 10;

/// Settings of the server.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// gRPC over HTTP/2 instead of HTTP/1.1.
    #[arg(long)]
    grpc: bool,
    /// Time before each answer, µs.
    #[arg(long, default_value_t = 0)]
    delay_us: u64,
    /// Bytes of each answer's body.
    #[arg(long, default_value_t = 1024)]
    body: usize,
}

/// What the connections share: one thread serves them all.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) delay: Duration,
    pub(crate) body: usize,
    pub(crate) requests: Cell<u64>,
    hangs: watch::Receiver<bool>,
}

impl Shared {
    /// Takes the time that an answer takes: for ever while the server is told to hang.
    pub(crate) async fn think(&self) {
        self.requests.set(self.requests.get() + 1);
        if *self.hangs.borrow() {
            let mut hangs = self.hangs.clone();
            // The sender lives as long as the process.
            let _ = hangs.wait_for(|hangs| !hangs).await;
        }
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
    }
}

/// Serves until standard input ends.
///
/// # Errors
/// When no port can be had.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (hang, hangs) = watch::channel(false);
    let shared = Rc::new(Shared {
        delay: Duration::from_micros(args.delay_us),
        body: args.body,
        requests: Cell::new(0),
        hangs,
    });
    let (words, mut word) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if words.blocking_send(line).is_err() {
                break;
            }
        }
    });
    let local = tokio::task::LocalSet::new();
    local
        .run_until(async move {
            announce(&format!("listening addr={address}"));
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let (stream, _) = accepted?;
                        stream.set_nodelay(true)?;
                        let shared = shared.clone();
                        if args.grpc {
                            tokio::task::spawn_local(grpc::serve(stream, shared));
                        } else {
                            // A client that breaks off is no matter of the server's.
                            tokio::task::spawn_local(async move { drop(serve(stream, shared).await) });
                        }
                    }
                    word = word.recv() => match word.as_deref() {
                        None => return Ok(()),
                        Some("count") => println!("{}", shared.requests.get()),
                        Some(word) => drop(hang.send(word == "hang")),
                    }
                }
            }
        })
        .await
}

/// Tells the parent, which reads standard error.
#[allow(clippy::print_stderr, reason = "how a process that the benchmark starts tells its address")]
pub(crate) fn announce(line: &str) {
    eprintln!("{line}");
}

async fn serve(mut stream: TcpStream, shared: Rc<Shared>) -> anyhow::Result<()> {
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        shared.body
    )
    .into_bytes();
    answer.resize(answer.len() + shared.body, b' ');
    let mut buffer = BytesMut::with_capacity(32 << 10);
    loop {
        let Some(head) = head(&mut stream, &mut buffer).await? else { return Ok(()) };
        let mut left = content_length(&buffer[..head])?;
        buffer.advance(head);
        loop {
            let here = left.min(buffer.len());
            buffer.advance(here);
            left -= here;
            if left == 0 {
                break;
            }
            buffer.clear();
            buffer.reserve(32 << 10);
            anyhow::ensure!(stream.read_buf(&mut buffer).await? > 0, "the body broke off");
        }
        shared.think().await;
        stream.write_all(&answer).await?;
    }
}

/// Reads until a head is whole; gives its length, or `None` when the connection has ended before it.
pub(crate) async fn head(stream: &mut TcpStream, buffer: &mut BytesMut) -> anyhow::Result<Option<usize>> {
    let mut seen = 0_usize;
    loop {
        let from = seen.saturating_sub(3);
        if let Some(at) = buffer[from..].windows(4).position(|four| four == b"\r\n\r\n") {
            return Ok(Some(from + at + 4));
        }
        seen = buffer.len();
        anyhow::ensure!(seen < HEAD, "a head of more than {HEAD} bytes");
        buffer.reserve(16 << 10);
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// The `Content-Length` of a head, 0 without one.
pub(crate) fn content_length(head: &[u8]) -> anyhow::Result<usize> {
    for line in head.split(|byte| *byte == b'\n') {
        if let Some((name, value)) = line.split_at_checked(15)
            && name.eq_ignore_ascii_case(b"content-length:")
        {
            return Ok(std::str::from_utf8(value)?.trim().parse()?);
        }
        anyhow::ensure!(
            !line.to_ascii_lowercase().starts_with(b"transfer-encoding:"),
            "chunked bodies are not measured"
        );
    }
    Ok(0)
}

/// What the parent does with the running server.
#[derive(Debug)]
pub(crate) struct Steering {
    pub(crate) process: crate::process::Server,
}

impl Steering {
    /// Starts a server of this binary.
    pub(crate) fn start(grpc: bool, delay_us: u64, body: usize) -> anyhow::Result<Self> {
        let this = std::env::current_exe()?;
        let (delay, body) = (delay_us.to_string(), body.to_string());
        let mut args = vec!["upstream", "--delay-us", &delay, "--body", &body];
        args.extend(grpc.then_some("--grpc"));
        Ok(Self { process: crate::process::Server::start(&this, &args)? })
    }

    /// Requests so far.
    pub(crate) fn count(&mut self) -> anyhow::Result<u64> {
        self.process.say("count")?;
        self.process.line()?.trim().parse().context("a count")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_found_in_any_spelling_and_a_chunked_body_is_refused() {
        assert_eq!(content_length(b"POST / HTTP/1.1\r\nContent-Length: 12\r\n\r\n").unwrap(), 12);
        assert_eq!(content_length(b"POST / HTTP/1.1\r\ncontent-length:7\r\n\r\n").unwrap(), 7);
        assert_eq!(content_length(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap(), 0);
        assert!(content_length(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").is_err());
    }
}
