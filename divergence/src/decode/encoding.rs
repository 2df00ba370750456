//! Undoing `content-encoding` (RFC 9110, section 8.4) on a copy of the body, with a bound on what comes out.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::{MultiGzDecoder, ZlibDecoder};

use super::fault::{Undecodable, shortened};
use super::parts::header_values;

/// Most bytes of a decompressed body.
pub(super) const MAX_BODY: usize = 64 << 20;

/// Most content encodings of one body: each may undo to [`MAX_BODY`] bytes.
const MAX_CODINGS: usize = 4;

/// Bytes read at a time.
const BUFFER: usize = 16 << 10;

/// RFC 9659: a window of more than 8 MiB need not be supported over HTTP.
const WINDOW_LOG: u32 = 23;

/// The body without its content encodings, which are undone in the reverse of the order they are listed in.
pub(super) fn decoded<'b>(
    headers: &[(String, String)],
    body: &'b [u8],
) -> Result<Cow<'b, [u8]>, Undecodable> {
    let mut body = Cow::Borrowed(body);
    let codings = header_values(headers, "content-encoding").flat_map(|value| value.split(','));
    let codings: Vec<String> =
        codings.map(|coding| coding.trim().to_ascii_lowercase()).take(MAX_CODINGS + 1).collect();
    if codings.len() > MAX_CODINGS {
        return Err(Undecodable::TooMany { what: "content codings", limit: MAX_CODINGS });
    }
    for coding in codings.iter().rev() {
        if !matches!(coding.as_str(), "" | "identity") {
            body = undone(coding, &body, MAX_BODY)?.into();
        }
    }
    Ok(body)
}

/// The bytes without one encoding, at most `limit` of them.
pub(super) fn undone(coding: &str, bytes: &[u8], limit: usize) -> Result<Vec<u8>, Undecodable> {
    match coding {
        "gzip" | "x-gzip" => bounded(MultiGzDecoder::new(bytes), "gzip", limit),
        // RFC 9110: the zlib format (RFC 1950), not bare deflate.
        "deflate" => bounded(ZlibDecoder::new(bytes), "deflate", limit),
        "br" => bounded(brotli_decompressor::Decompressor::new(bytes, BUFFER), "brotli", limit),
        "zstd" => {
            let mut decoder = zstd::Decoder::with_buffer(bytes).map_err(|_| Undecodable::Corrupt("zstd"))?;
            decoder.window_log_max(WINDOW_LOG).map_err(|_| Undecodable::Corrupt("zstd"))?;
            bounded(decoder, "zstd", limit)
        }
        other => Err(Undecodable::Encoding(shortened(other))),
    }
}

fn bounded(reader: impl Read, name: &'static str, limit: usize) -> Result<Vec<u8>, Undecodable> {
    let mut bytes = Vec::new();
    reader.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(|_| Undecodable::Corrupt(name))?;
    if bytes.len() > limit {
        return Err(Undecodable::TooLarge(MAX_BODY));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 1).unwrap()
    }

    /// Text in brotli, as Python's `brotli` 1.2 writes it.
    const BROTLI: &[u8] = b"\x0b\x0f\x80{\x22predictions\x22:[0.5,0.25,0.25]}\x03";

    fn with(coding: &str, body: &[u8]) -> Result<Vec<u8>, Undecodable> {
        decoded(&[("Content-Encoding".into(), coding.into())], body).map(Cow::into_owned)
    }

    #[test]
    fn gzip_deflate_identity_and_chains_are_undone() {
        assert_eq!(with("gzip", &gzip(b"abc")).unwrap(), b"abc");
        assert_eq!(with("X-GZIP", &gzip(b"abc")).unwrap(), b"abc");
        assert_eq!(with("deflate", &zlib(b"abc")).unwrap(), b"abc");
        assert_eq!(with("identity", b"abc").unwrap(), b"abc");
        assert_eq!(with("zstd", &zstd(b"abc")).unwrap(), b"abc");
        assert_eq!(with("br", BROTLI).unwrap(), br#"{"predictions":[0.5,0.25,0.25]}"#);
        assert_eq!(with("deflate, gzip", &gzip(&zlib(b"abc"))).unwrap(), b"abc");
    }

    #[test]
    fn an_unknown_coding_is_named_and_a_damaged_body_too() {
        assert_eq!(with("compress", b"abc"), Err(Undecodable::Encoding("compress".into())));
        assert_eq!(with("br", b"\xffabc"), Err(Undecodable::Corrupt("brotli")));
        assert_eq!(with("zstd", b"abc"), Err(Undecodable::Corrupt("zstd")));
        let whole = zstd(b"abcabcabc");
        assert_eq!(with("zstd", &whole[..whole.len() - 1]), Err(Undecodable::Corrupt("zstd")));
        assert_eq!(with("br", &BROTLI[..BROTLI.len() - 1]), Err(Undecodable::Corrupt("brotli")));
        assert_eq!(with("gzip", b"abc"), Err(Undecodable::Corrupt("gzip")));
        let whole = gzip(b"abcabcabc");
        assert_eq!(with("gzip", &whole[..whole.len() - 1]), Err(Undecodable::Corrupt("gzip")));
        assert_eq!(with("deflate", b"abc"), Err(Undecodable::Corrupt("deflate")));
    }

    #[test]
    fn a_body_that_grows_past_the_bound_is_refused() {
        let bomb = gzip(&vec![0; MAX_BODY + 1]);
        assert!(bomb.len() < MAX_BODY / 100);
        assert_eq!(with("gzip", &bomb), Err(Undecodable::TooLarge(MAX_BODY)));
        assert_eq!(with("zstd", &zstd(&vec![0; MAX_BODY + 1])), Err(Undecodable::TooLarge(MAX_BODY)));
    }
}
