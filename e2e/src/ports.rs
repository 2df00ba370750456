//! Free ports for servers that must be told theirs beforehand.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the range from which the kernel takes ports for outgoing connections, so that none is taken away
/// between this call and the server's own bind, nor while a server is down.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// A port of 127.0.0.1 on which nothing listens; each call gives another one.
///
/// # Panics
/// When none of the range is free.
pub fn free_port() -> u16 {
    // Test binaries that run at the same time start at different places.
    let start = u16::try_from(std::process::id() % u32::from(COUNT)).unwrap_or(0);
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + (start.wrapping_mul(7).wrapping_add(step)) % COUNT;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no free port between {FIRST} and {}", FIRST + COUNT);
}
