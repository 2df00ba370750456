//! A captured body: the bytes kept, and the length and digest of the whole.

use bytes::Bytes;
use xxhash_rust::xxh3::Xxh3;

/// The part of a body that was kept, with facts about the whole of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Body {
    /// Kept bytes; the whole body unless [`truncated`](Self::truncated).
    pub bytes: Bytes,
    /// Length in bytes of the whole body as it crossed the wire (0 when nothing came).
    pub length: u64,
    /// XXH3 (128 bits, seed 0) of the whole body, also of one that is too large to keep; `None` when the end was not seen.
    pub digest: Option<u128>,
    /// Whether `bytes` holds only the first part, or nothing, of the body.
    pub truncated: bool,
}

impl Body {
    /// A body that is here as a whole.
    #[must_use]
    pub fn whole(bytes: Bytes) -> Self {
        let digest = Some(xxhash_rust::xxh3::xxh3_128(&bytes));
        Self { length: bytes.len() as u64, digest, truncated: false, bytes }
    }

    /// Joins captured chunks. `complete` says whether the end of the body was seen, `length` how many
    /// bytes came by in all: chunks beyond a cap may be missing, in which case the body is truncated
    /// and has no digest.
    #[must_use]
    pub fn from_chunks(chunks: Vec<Bytes>, length: u64, complete: bool) -> Self {
        let kept: usize = chunks.iter().map(Bytes::len).sum();
        let truncated = !complete || kept as u64 != length;
        let digest = (!truncated).then(|| {
            let mut hasher = Xxh3::new();
            chunks.iter().for_each(|chunk| hasher.update(chunk));
            hasher.digest128()
        });
        let bytes = match <[Bytes; 1]>::try_from(chunks) {
            Ok([only]) => only,
            Err(chunks) => chunks.concat().into(),
        };
        Self { bytes, length, digest, truncated }
    }

    /// Cuts the kept bytes to at most `limit`; length and digest stay those of the whole.
    pub fn cut(&mut self, limit: usize) {
        if self.bytes.len() > limit {
            self.bytes = self.bytes.slice(..limit);
            self.truncated = true;
        }
    }

    /// The digest as 32 hex digits.
    #[must_use]
    pub fn digest_hex(&self) -> Option<String> {
        self.digest.map(|digest| format!("{digest:032x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_join_to_the_same_digest_as_the_whole() {
        let joined = Body::from_chunks(vec![Bytes::from_static(b"ab"), Bytes::from_static(b"c")], 3, true);
        assert_eq!(joined, Body::whole(Bytes::from_static(b"abc")));
    }

    #[test]
    fn one_chunk_is_not_copied() {
        let chunk = Bytes::from_static(b"abc");
        let joined = Body::from_chunks(vec![chunk.clone()], 3, true);
        assert_eq!(joined.bytes.as_ptr(), chunk.as_ptr());
    }

    #[test]
    fn a_body_past_its_cap_or_without_its_end_is_truncated_and_has_no_digest() {
        let capped = Body::from_chunks(vec![Bytes::from_static(b"ab")], 9, true);
        assert!(capped.truncated && capped.digest.is_none() && capped.length == 9);
        let broken = Body::from_chunks(vec![Bytes::from_static(b"ab")], 2, false);
        assert!(broken.truncated && broken.digest.is_none());
    }

    #[test]
    fn cutting_keeps_the_facts_of_the_whole() {
        let mut body = Body::whole(Bytes::from_static(b"abcdef"));
        let digest = body.digest;
        body.cut(2);
        assert_eq!((&body.bytes[..], body.length, body.truncated), (&b"ab"[..], 6, true));
        assert_eq!(body.digest, digest);
    }
}
