//! Rows of `dead_letters`.

use super::{Cell, Origin, Rows};

/// How much of the raw bytes is kept.
const PAYLOAD_CAP: usize = 1 << 20;

/// A message that could not be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeadLetter<'a> {
    /// Kafka's time of the message, microseconds since the Unix epoch.
    pub(crate) at_us: Option<i64>,
    /// Why it could not be read.
    pub(crate) reason: &'a str,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) payload: Option<&'a [u8]>,
    /// Whether the payload, which may hold bodies, is kept.
    pub(crate) keep: bool,
}

/// Appends the row of a dead letter.
pub(crate) fn put_dead_letter(rows: &mut Rows, origin: Origin<'_>, letter: &DeadLetter<'_>) {
    let cap = |bytes: &'_ [u8]| bytes.len().min(PAYLOAD_CAP);
    let length = letter.payload.map_or(0, <[u8]>::len);
    let mut reason = letter.reason.to_owned();
    if !letter.keep {
        reason = format!("{reason} (payload of {length} bytes not kept: bodies are not)");
    } else if length > PAYLOAD_CAP {
        reason = format!("{reason} (payload of {length} bytes, the first {PAYLOAD_CAP} kept)");
    }
    rows.put("topic", origin.topic);
    rows.put("partition", origin.partition);
    rows.put("offset", origin.offset);
    rows.put("at", letter.at_us);
    rows.put("reason", reason.as_str());
    rows.put("key", letter.key.map(|key| Cell::Bytes(&key[..cap(key)])));
    rows.put(
        "payload",
        letter.payload.filter(|_| letter.keep).map(|payload| Cell::Bytes(&payload[..cap(payload)])),
    );
}
