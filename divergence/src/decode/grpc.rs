//! gRPC over HTTP/2 (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>): a body is messages, each after a byte that
//! says whether it is compressed and its length in four, big-endian; the status is in the trailers, or in the only head there is.

use std::borrow::Cow;

use super::encoding::{self, MAX_BODY};
use super::fault::{Undecodable, shortened};
use super::parts::header_values;

/// Most messages of one answer.
const MAX_MESSAGES: usize = 1 << 16;

/// Whether an answer is gRPC.
pub(super) fn is_grpc(headers: &[(String, String)]) -> bool {
    header_values(headers, "content-type")
        .any(|media_type| media_type.trim_start().starts_with("application/grpc"))
}

/// Refuses an answer whose status says that the call failed. Trailers that were not recorded say nothing.
pub(super) fn check_status(
    headers: &[(String, String)],
    trailers: &[(String, String)],
) -> Result<(), Undecodable> {
    let status = header_values(trailers, "grpc-status").chain(header_values(headers, "grpc-status")).next();
    match status.map(str::trim) {
        None | Some("0") => Ok(()),
        Some(status) => Err(Undecodable::GrpcStatus(shortened(status))),
    }
}

/// The messages of a body, decompressed; together at most [`MAX_BODY`] bytes more than they came as.
pub(super) fn messages<'b>(
    headers: &[(String, String)],
    mut body: &'b [u8],
) -> Result<Vec<Cow<'b, [u8]>>, Undecodable> {
    let mut messages = Vec::new();
    let mut room = MAX_BODY;
    while !body.is_empty() {
        let (message, rest) = frame(body).ok_or(Undecodable::Frame(body.len()))?;
        body = rest;
        if messages.len() == MAX_MESSAGES {
            return Err(Undecodable::TooMany { what: "messages", limit: MAX_MESSAGES });
        }
        messages.push(whole(headers, message, &mut room)?);
    }
    Ok(messages)
}

/// The first message of a body, decompressed; what follows it may be missing.
pub(super) fn first<'b>(headers: &[(String, String)], body: &'b [u8]) -> Option<Cow<'b, [u8]>> {
    let (message, _) = frame(body)?;
    whole(headers, message, &mut { MAX_BODY }).ok()
}

/// The bytes of a message, of which the flag says whether they are compressed.
fn whole<'b>(
    headers: &[(String, String)],
    (compressed, bytes): (bool, &'b [u8]),
    room: &mut usize,
) -> Result<Cow<'b, [u8]>, Undecodable> {
    if !compressed {
        return Ok(Cow::Borrowed(bytes));
    }
    let coding =
        header_values(headers, "grpc-encoding").next().unwrap_or_default().trim().to_ascii_lowercase();
    if matches!(coding.as_str(), "" | "identity") {
        return Err(Undecodable::Encoding("identity".into()));
    }
    let whole = encoding::undone(&coding, bytes, *room)?;
    *room -= whole.len();
    Ok(Cow::Owned(whole))
}

/// The first message with its flag, and what follows it.
#[expect(clippy::type_complexity, reason = "two pairs, taken apart at once")]
fn frame(body: &[u8]) -> Option<((bool, &[u8]), &[u8])> {
    let (flag, rest) = body.split_first()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (message, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    match flag {
        0 => Some(((false, message), rest)),
        1 => Some(((true, message), rest)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        [&[flag][..], &length, message].concat()
    }

    #[test]
    fn each_message_says_for_itself_whether_it_is_compressed() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&[0; 1000]).unwrap();
        let body = [framed(0, b"plain"), framed(1, &gzip.finish().unwrap()), framed(0, b"")].concat();
        let found = messages(&pairs(&[("grpc-encoding", "gzip")]), &body).unwrap();
        assert_eq!(found, [Cow::Borrowed(&b"plain"[..]), Cow::Owned(vec![0; 1000]), Cow::Borrowed(b"")]);
    }

    #[test]
    fn a_cut_message_and_an_unknown_flag_are_named() {
        for body in [&b"\0"[..], b"\0\0\0\0\x05abc", b"\x02\0\0\0\0"] {
            assert_eq!(messages(&[], body), Err(Undecodable::Frame(body.len())), "{body:?}");
        }
        let compressed = framed(1, b"abc");
        assert_eq!(messages(&[], &compressed), Err(Undecodable::Encoding("identity".into())));
        let found = messages(&pairs(&[("grpc-encoding", "snappy")]), &compressed);
        assert_eq!(found, Err(Undecodable::Encoding("snappy".into())));
    }

    #[test]
    fn a_status_that_is_not_0_fails_the_answer_wherever_it_stands() {
        let (ok, failed) =
            (pairs(&[("grpc-status", "0")]), pairs(&[("grpc-status", "13"), ("grpc-message", "x")]));
        assert_eq!(check_status(&[], &ok), Ok(()));
        assert_eq!(check_status(&[], &[]), Ok(()));
        for (headers, trailers) in [(&[][..], &failed[..]), (&failed, &[])] {
            assert_eq!(check_status(headers, trailers), Err(Undecodable::GrpcStatus("13".into())));
        }
    }

    #[test]
    fn messages_that_grow_past_the_bound_together_are_refused() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&vec![0; MAX_BODY / 2 + 1]).unwrap();
        let half = framed(1, &gzip.finish().unwrap());
        let headers = pairs(&[("grpc-encoding", "gzip")]);
        assert_eq!(messages(&headers, &half).unwrap().len(), 1);
        let limit = Err(Undecodable::TooLarge(MAX_BODY));
        assert_eq!(messages(&headers, &[half.clone(), half].concat()), limit);
    }
}
