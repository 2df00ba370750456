//! A server that gives the same bytes to every request, good HTTP or not.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

/// Starts it for the rest of the test run; gives its base address.
pub(crate) fn server(answer: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = answer.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A peer that breaks off is no concern of the test's.
            let _ = serve(&stream, &answer);
        }
    });
    url
}

fn serve(mut stream: &TcpStream, answer: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    stream.write_all(answer.as_bytes())
}

/// A whole answer with this body.
pub(crate) fn ok(content_type: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}
