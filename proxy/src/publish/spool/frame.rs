//! The bytes of a segment.
//!
//! A segment is a header and frames, all integers little-endian. Header, 32 bytes: the magic, the version (u32), four
//! bytes that are zero, where the first frame begins that is not acknowledged (u64), and where the first one begins that was never sent (u64). Frame: length of the body (u32), CRC-32 (ISO-HDLC, as in gzip)
//! of the body (u32), body. Body: kind (u8; plus 128 where it may have been delivered before), length of the key (u16), key, payload.

use bytes::Bytes;

use crate::publish::Kind;

/// Bytes of the header.
pub(super) const HEADER: u64 = 32;

/// Where in the header the acknowledged position is.
pub(super) const MARK: u64 = 16;

/// Where in the header the position is up to which frames were sent.
pub(super) const SENT: u64 = 24;

/// Added to the kind.
const AGAIN: u8 = 128;

/// Largest body: a length beyond is damage.
const LARGEST: usize = 1 << 30;

/// Length and checksum.
const PREFIX: usize = 8;

/// Kind and length of the key.
const HEAD: usize = 3;

const MAGIC: [u8; 8] = *b"sdspool\n";

const VERSION: u32 = 1;

/// A message as it lies in a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    /// It may have been delivered before.
    pub(super) again: bool,
    pub(super) key: Bytes,
    pub(super) payload: Bytes,
}

/// What the bytes at some position are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A frame, and the position after it.
    Frame(Frame, usize),
    /// The beginning of one that takes so many bytes.
    Needs(usize),
    /// None: cut off or overwritten.
    Damaged,
}

/// A header with nothing acknowledged.
pub(super) fn header() -> Vec<u8> {
    let position = HEADER.to_le_bytes();
    [&MAGIC[..], &VERSION.to_le_bytes(), &[0; 4], &position, &position].concat()
}

/// Where the first frame begins that is not acknowledged, and the first that was never sent.
///
/// # Errors
/// When these bytes are no header of this version.
pub(super) fn read_header(bytes: &[u8]) -> Result<(u64, u64), String> {
    if bytes.get(..8) != Some(&MAGIC[..]) {
        return Err("is not a segment of a spool".into());
    }
    let version = bytes.get(8..).and_then(number).unwrap_or_default();
    if version != VERSION {
        return Err(format!("has the version {version}, this release reads {VERSION}"));
    }
    let position = |at: u64| {
        let bytes = bytes.get(usize::try_from(at).ok()?..)?;
        bytes.first_chunk().copied().map(u64::from_le_bytes)
    };
    position(MARK).zip(position(SENT)).ok_or_else(|| "has no whole header".into())
}

/// Bytes that a message takes.
pub(super) fn size(key: &[u8], payload: &[u8]) -> usize {
    PREFIX + HEAD + key.len() + payload.len()
}

/// Appends a message; one whose key or payload is beyond what a frame holds is left out. Says whether it was taken.
pub(super) fn put(kind: Kind, again: bool, key: &[u8], payload: &[u8], out: &mut Vec<u8>) -> bool {
    let length = size(key, payload) - PREFIX;
    let (Ok(key_length), Ok(body_length)) = (u16::try_from(key.len()), u32::try_from(length)) else {
        return false;
    };
    if length > LARGEST {
        return false;
    }
    let code = match kind {
        Kind::Exchange => 0_u8,
        Kind::Ledger => 1,
    };
    let mut head = [code | if again { AGAIN } else { 0 }, 0, 0];
    head[1..].copy_from_slice(&key_length.to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    for part in [&head[..], key, payload] {
        hasher.update(part);
    }
    for part in [&body_length.to_le_bytes()[..], &hasher.finalize().to_le_bytes(), &head, key, payload] {
        out.extend_from_slice(part);
    }
    true
}

/// Reads what is at `at`; the parts of a frame share the bytes.
pub(super) fn take(bytes: &Bytes, at: usize) -> Next {
    let rest = bytes.get(at..).unwrap_or_default();
    let (Some(length), Some(sum)) = (number(rest), rest.get(4..).and_then(number)) else {
        return Next::Needs(PREFIX);
    };
    let length = length as usize;
    if !(HEAD..=LARGEST).contains(&length) {
        return Next::Damaged;
    }
    let Some(body) = rest.get(PREFIX..PREFIX + length) else { return Next::Needs(PREFIX + length) };
    let again = body[0] & AGAIN != 0;
    let kind = match body[0] & !AGAIN {
        0 => Kind::Exchange,
        1 => Kind::Ledger,
        _ => return Next::Damaged,
    };
    let key = HEAD + usize::from(u16::from_le_bytes([body[1], body[2]]));
    if key > length || crc32fast::hash(body) != sum {
        return Next::Damaged;
    }
    let body = bytes.slice(at + PREFIX..at + PREFIX + length);
    let frame = Frame { kind, again, key: body.slice(HEAD..key), payload: body.slice(key..) };
    Next::Frame(frame, at + PREFIX + length)
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().copied().map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> (Bytes, usize) {
        let mut bytes = Vec::new();
        assert!(put(Kind::Exchange, true, b"key", b"payload", &mut bytes));
        let first = bytes.len();
        assert!(put(Kind::Ledger, false, b"", b"", &mut bytes));
        (bytes.into(), first)
    }

    #[test]
    fn frames_lead_back_to_their_messages() {
        let (bytes, first) = two();
        let frame = Frame { kind: Kind::Exchange, again: true, key: "key".into(), payload: "payload".into() };
        assert_eq!(take(&bytes, 0), Next::Frame(frame, first));
        let empty = Frame { kind: Kind::Ledger, again: false, key: Bytes::new(), payload: Bytes::new() };
        assert_eq!(take(&bytes, first), Next::Frame(empty, bytes.len()));
        assert_eq!(take(&bytes, bytes.len()), Next::Needs(PREFIX));
        assert_eq!(first, size(b"key", b"payload"));
    }

    #[test]
    fn a_frame_that_is_cut_off_anywhere_needs_more_bytes() {
        let (bytes, first) = two();
        for length in 0..first {
            let needs = if length < PREFIX { PREFIX } else { first };
            assert_eq!(take(&bytes.slice(..length), 0), Next::Needs(needs), "{length} bytes");
        }
    }

    #[test]
    fn a_changed_byte_never_gives_a_frame() {
        let (bytes, first) = two();
        for at in 0..first {
            for bit in 0..8 {
                let mut changed = bytes.to_vec();
                changed[at] ^= 1 << bit;
                let next = take(&Bytes::from(changed), 0);
                assert!(!matches!(next, Next::Frame(..)), "byte {at}, bit {bit}: {next:?}");
            }
        }
    }

    #[test]
    fn a_key_that_is_too_long_is_refused() {
        let mut bytes = Vec::new();
        assert!(!put(Kind::Exchange, false, &[0; 70_000], b"", &mut bytes));
        assert!(bytes.is_empty());
    }

    #[test]
    fn a_header_of_another_file_or_version_is_named() {
        assert_eq!(read_header(&header()), Ok((HEADER, HEADER)));
        assert_eq!(header().len() as u64, HEADER);
        assert!(read_header(b"PAR1").unwrap_err().contains("not a segment"));
        let mut newer = header();
        newer[8] = 9;
        assert!(read_header(&newer).unwrap_err().contains("version 9"));
        assert!(read_header(&header()[..20]).unwrap_err().contains("whole header"));
    }
}
