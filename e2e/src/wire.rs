//! Bytes on a connection, for what no well-behaved client would send.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::wait::DEADLINE;

/// Sends `bytes` to the server at `url` and reads until `until` is content with what came, or the server closes.
///
/// # Panics
/// When it cannot connect or write, or the server is silent beyond [`DEADLINE`].
pub fn exchange(url: &str, bytes: &[u8], mut until: impl FnMut(&str) -> bool) -> String {
    let address = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap_or_else(|error| panic!("{url}: {error}"));
    stream.set_read_timeout(Some(DEADLINE)).expect("the deadline is not 0");
    stream.write_all(bytes).unwrap_or_else(|error| panic!("{url}: {error}"));
    let (mut all, mut buffer) = (Vec::new(), [0; 16 << 10]);
    loop {
        let text = String::from_utf8_lossy(&all).into_owned();
        if until(&text) {
            return text;
        }
        match stream.read(&mut buffer) {
            Ok(0) => return text,
            Ok(read) => all.extend_from_slice(&buffer[..read]),
            Err(error) => panic!("{url}: {error}, after: {text}"),
        }
    }
}
