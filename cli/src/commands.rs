//! One file per sub-command.

pub(crate) mod analyze;
pub(crate) mod calibrate;
pub(crate) mod completions;
pub(crate) mod decode;
pub(crate) mod demo;
pub(crate) mod demo_server;
pub(crate) mod diff;
pub(crate) mod proxy;
pub(crate) mod record;
mod saved;
mod shown;

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::Context;
use socket2::{Domain, Socket, Type};

use crate::config::resolve::Threads;

/// Binds an address: before anything else is made, so that a port in use leaves nothing behind.
fn bind(address: SocketAddr, what: &str) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listener
        .with_context(|| format!("cannot listen on {address} ({what}); choose another address with --{what}"))
}

/// Binds the listeners of the proxy: one for each worker, between which the kernel shares out connections.
fn listeners(address: SocketAddr, threads: Threads) -> anyhow::Result<Vec<TcpListener>> {
    let first = bind(address, "listen")?;
    let Threads::PerCore(workers @ 2..) = threads else { return Ok(vec![first]) };
    // It has shown that nobody else listens there, which sockets that share a port would not be told.
    let address = first.local_addr().context("the listener has no address")?;
    drop(first);
    let one = |_| -> std::io::Result<TcpListener> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(socket.into())
    };
    (0..workers).map(one).collect::<Result<_, _>>().with_context(|| {
        format!("cannot listen on {address} with {workers} workers; try runtime = \"shared\" in [proxy]")
    })
}

/// Connections that wait to be accepted.
const BACKLOG: i32 = 4096;

/// The runtime of a command.
fn runtime(threads: Option<usize>) -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = threads {
        builder.worker_threads(threads.max(1));
    }
    builder.enable_all().build().context("the runtime cannot be made")
}

/// The name of this machine, for names of proxies and nodes.
fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("HOSTNAME").ok())
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty());
    name.unwrap_or_else(|| "localhost".into())
}

/// How often progress on long work is told in a log.
const TELL_EVERY: Duration = Duration::from_secs(10);
