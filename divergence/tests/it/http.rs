//! Splits captured bytes into HTTP/1.1 responses: just enough for the fixtures.

use std::path::Path;

use divergence::Answer;

/// One captured response.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn answer<'a>(&'a self, path: &'a str) -> Answer<'a> {
        Answer::new(path, self.status, &self.headers, &self.body)
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// The responses in a fixture; interim ones (1xx) are skipped.
pub(crate) fn responses(file: &str) -> Vec<Response> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
    let bytes = std::fs::read(path).expect("the fixture is in the repository");
    let mut rest = bytes.as_slice();
    let mut responses = Vec::new();
    while !rest.is_empty() {
        let mut response = head(&mut rest);
        response.body = body(&response, &mut rest);
        if response.status >= 200 {
            responses.push(response);
        }
    }
    responses
}

fn line<'a>(rest: &mut &'a [u8]) -> &'a str {
    let end = rest.windows(2).position(|pair| pair == b"\r\n").expect("a whole line");
    let line = std::str::from_utf8(&rest[..end]).expect("text in the head");
    *rest = &rest[end + 2..];
    line
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, left) = rest.split_at_checked(length).expect("a whole body");
    *rest = left;
    taken
}

fn head(rest: &mut &[u8]) -> Response {
    let status = line(rest).split(' ').nth(1).expect("a status").parse().expect("a number");
    let mut headers = Vec::new();
    loop {
        match line(rest).split_once(": ") {
            Some((key, value)) => headers.push((key.to_owned(), value.to_owned())),
            None => return Response { status, headers, body: Vec::new() },
        }
    }
}

fn body(response: &Response, rest: &mut &[u8]) -> Vec<u8> {
    if let Some(length) = response.header("content-length") {
        return take(rest, length.parse().expect("a length")).to_vec();
    }
    let mut body = Vec::new();
    while response.header("transfer-encoding").is_some() {
        let length = usize::from_str_radix(line(rest), 16).expect("a chunk size");
        body.extend_from_slice(take(rest, length));
        assert_eq!(line(rest), "");
        if length == 0 {
            break;
        }
    }
    body
}
