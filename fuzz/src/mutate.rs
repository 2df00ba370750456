//! Mutations that know the formats a little.

use crate::capture::Capture;
use crate::random::Random;

/// Pieces of the formats, and numbers at the edges of their types.
const WORDS: &[&[u8]] = &[
    b"null",
    b"NaN",
    b"-Infinity",
    b"1e400",
    b"-1",
    b"0",
    b"18446744073709551616",
    b"9223372036854775807",
    b"0.1",
    b"true",
    b"{}",
    b"[]",
    b"[[",
    b"]]",
    b"\"\"",
    b",",
    b":",
    b"\"\\ud800\"",
    b"\\u0000",
    b"\xff",
    b"\xf0\x9f\x98\x80",
    b"\"shape\":[4294967296,4294967296]",
    b"\"data\":null",
    b"\"datatype\":\"BYTES\"",
    b"\"datatype\":\"BF16\"",
    b"\"binary_data_size\":4",
    b"\"index\":18446744073709551615",
    b"\"index\":0",
    b"\"b64\":\"AA==\"",
    b"\"choices\":[",
    b"\"logprobs\":null",
    b"\"error\":{}",
    b"\"predictions\":",
    b"\"outputs\":",
    b"\r\n",
    b"\n\n",
    b"data: ",
    b"data: [DONE]\n\n",
    b": x\n",
    b"\0\0\0\0\0",
    b"\x01\0\0\0\x05",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x2a\x00",
    b"\x32\x04\0\0\0\0",
    b"\x0a\xff\x01",
    b"\0\0\xc0\x7f",
    b"\0\0\x80\xff",
];

const CODINGS: [&str; 6] = ["gzip", "deflate", "br", "zstd", "identity", "gzip, gzip"];

/// Bytes that a body does not grow past.
const MOST: usize = 64 << 10;

/// A capture with one or more changes, now and then crossed with another.
pub(crate) fn mutated(corpus: &[&Capture], random: &mut Random) -> Capture {
    let mut input = random.of(corpus).clone();
    if random.once_in(8) {
        let other = random.of(corpus);
        let (cut, from) = (random.below(input.body.len()), random.below(other.body.len()));
        input.body.truncate(cut);
        input.body.extend_from_slice(&other.body[from..]);
    }
    let mut changes = 1 + random.below(4);
    if random.once_in(16) {
        changes = 0;
    }
    for _ in 0..changes {
        change(&mut input.body, random);
    }
    input.body.truncate(MOST);
    if random.once_in(16) {
        head(&mut input, random);
    }
    // A binary body stays readable more often when the length in its head is right.
    if !random.once_in(4) {
        lengths(&mut input);
    }
    input
}

fn change(body: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(body.len() + 1);
    match random.below(8) {
        0 if at < body.len() => body[at] ^= 1 << random.below(8),
        1 if at < body.len() => body[at] = random.next() as u8,
        2 => drop(body.splice(at..at, random.of(WORDS).iter().copied())),
        3 if at < body.len() => {
            let end = (at + random.of(WORDS).len()).min(body.len());
            drop(body.splice(at..end, random.of(WORDS).iter().copied()));
        }
        4 if at < body.len() => {
            let end = (at + 1 + random.below(16)).min(body.len());
            drop(body.drain(at..end));
        }
        5 if at < body.len() => {
            let end = (at + 1 + random.below(64)).min(body.len());
            let piece = body[at..end].repeat(1 + random.below(8));
            drop(body.splice(at..at, piece));
        }
        6 => body.truncate(at),
        _ => number(body, random),
    }
}

/// Changes a number that is written in the text.
fn number(body: &mut Vec<u8>, random: &mut Random) {
    let digits: Vec<usize> = (0..body.len()).filter(|at| body[*at].is_ascii_digit()).collect();
    if digits.is_empty() {
        return;
    }
    let start = random.of(&digits);
    let run = body[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = random.next() >> random.below(64);
    drop(body.splice(start..start + run, value.to_string().into_bytes()));
}

fn head(input: &mut Capture, random: &mut Random) {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    match random.below(5) {
        0 => input.headers.push(pair("content-encoding", random.of(&CODINGS))),
        1 => input.headers.push(pair("grpc-encoding", random.of(&CODINGS))),
        2 => {
            let length = random.below(input.body.len() + 2).to_string();
            input.headers.push(pair("inference-header-content-length", &length));
        }
        3 => input.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type")),
        _ => input
            .headers
            .push(pair("content-type", random.of(&["text/csv", "text/plain", "text/event-stream"]))),
    }
}

/// Sets the length of the JSON before binary tensors, and of the first message of a gRPC body, to what they are.
fn lengths(input: &mut Capture) {
    let end = input.body.windows(3).position(|three| three == b"}]}").map(|end| (end + 3).to_string());
    let named = |name: &str| name.eq_ignore_ascii_case("inference-header-content-length");
    if let Some(end) = end {
        input
            .headers
            .iter_mut()
            .filter(|(name, _)| named(name))
            .for_each(|(_, value)| value.clone_from(&end));
    }
    let grpc = input.headers.iter().any(|(_, value)| value.starts_with("application/grpc"));
    if grpc && input.body.len() >= 5 {
        let length = u32::try_from(input.body.len() - 5).unwrap_or(u32::MAX);
        input.body[1..5].copy_from_slice(&length.to_be_bytes());
    }
}
