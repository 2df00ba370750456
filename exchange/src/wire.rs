//! The versioned wire form: one protobuf [`generated::Envelope`] per Kafka message.
//!
//! `proto/exchange.proto` is the contract; `generated.rs` is made from it and a test keeps it current.
//! Decoding trusts nothing: an unknown version, a missing part or an unknown enum number is a
//! [`DecodeError`], which the recorder turns into a dead letter.

mod convert;
#[allow(missing_docs, unreachable_pub, clippy::all, reason = "made by prost-build from proto/exchange.proto")]
#[rustfmt::skip]
pub mod generated;

use bytes::Bytes;
use prost::Message;

use crate::{Exchange, Ledger};
use generated::{Envelope, envelope::Payload};

/// The newest version this code writes and reads: 2 has answers of the same bytes once.
pub const VERSION: u32 = 2;

/// The version of a message that needs nothing newer.
const FIRST_VERSION: u32 = 1;

/// Name of the Kafka header, without a value, of a message that may be in the topic already: one that a proxy's spool sends
/// for want of an acknowledgement.
pub const AGAIN: &str = "shadowdiff-again";

/// What a message holds.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "exchanges are the rule, ledgers come once in ten seconds")]
pub enum Record {
    /// An exchange.
    Exchange(Exchange),
    /// A proxy's account.
    Ledger(Ledger),
}

/// Why a message could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DecodeError {
    /// Not protobuf, or not this schema.
    #[error("not a shadowdiff envelope: {0}")]
    Protobuf(String),
    /// Written by a newer release.
    #[error("envelope version {0} is newer than {VERSION}: upgrade this reader")]
    Version(u32),
    /// A part that must be there is missing.
    #[error("envelope without {0}")]
    Missing(&'static str),
    /// A value outside its set.
    #[error("{field} has the unknown value {value}")]
    Unknown {
        /// Which field.
        field: &'static str,
        /// The value found.
        value: String,
    },
}

/// Encodes an exchange in at most `limit` bytes, or in what its head alone takes where that is more.
///
/// When it would be larger, the bodies are cut, the largest first, and marked truncated; their
/// lengths and digests stay. Headers and labels are bounded by the HTTP stack and are never cut.
#[must_use]
pub fn encode_exchange(mut exchange: Exchange, limit: usize) -> Bytes {
    let size = exchange_size(&exchange);
    let shared = if convert::shares_bytes(&exchange) { exchange.shadow.body.bytes.len() } else { 0 };
    if size - shared > limit {
        // Cut, they may differ: then both count.
        cut_bodies(&mut exchange, size - limit);
    }
    let exchange = generated::Exchange::from(exchange);
    let shares =
        exchange.shadow.as_ref().and_then(|leg| leg.body.as_ref()).is_some_and(|body| body.as_primary);
    encode(if shares { VERSION } else { FIRST_VERSION }, Payload::Exchange(exchange))
}

/// Encodes a ledger.
#[must_use]
pub fn encode_ledger(ledger: Ledger) -> Bytes {
    encode(FIRST_VERSION, Payload::Ledger(ledger.into()))
}

/// Decodes a message.
///
/// # Errors
/// When the bytes are not an envelope of a known version with all its parts.
pub fn decode(message: Bytes) -> Result<Record, DecodeError> {
    let envelope = Envelope::decode(message).map_err(|error| DecodeError::Protobuf(error.to_string()))?;
    if envelope.version == 0 {
        return Err(DecodeError::Missing("a version"));
    }
    if envelope.version > VERSION {
        return Err(DecodeError::Version(envelope.version));
    }
    match envelope.payload.ok_or(DecodeError::Missing("a payload"))? {
        Payload::Exchange(exchange) => exchange.try_into().map(Record::Exchange),
        Payload::Ledger(ledger) => ledger.try_into().map(Record::Ledger),
    }
}

fn encode(version: u32, payload: Payload) -> Bytes {
    Envelope { version, payload: Some(payload) }.encode_to_vec().into()
}

/// Upper bound of the encoded size, without encoding the bodies.
fn exchange_size(exchange: &Exchange) -> usize {
    const FRAMING: usize = 64;
    let pairs = |pairs: &crate::Pairs| pairs.iter().map(|(k, v)| k.len() + v.len() + 16).sum::<usize>();
    let leg = |leg: &crate::Leg| {
        let text = leg.node.len() + leg.reason.len() + leg.reported_load.as_ref().map_or(0, String::len);
        pairs(&leg.headers)
            + pairs(&leg.trailers)
            + pairs(&leg.labels)
            + leg.body.bytes.len()
            + text
            + 4 * FRAMING
    };
    let request = &exchange.request;
    let text = request.method.len()
        + request.path.len()
        + request.query.as_ref().map_or(0, String::len)
        + request.route.len();
    let names = exchange.run.len() + exchange.proxy.len() + exchange.shadow_target.len();
    let ids = request.id.as_ref().map_or(0, String::len) + request.trace_id.as_ref().map_or(0, String::len);
    let head = pairs(&request.headers) + text + names + ids + 4 * FRAMING;
    head + request.body.bytes.len() + leg(&exchange.primary) + leg(&exchange.shadow)
}

/// Takes at least `excess` bytes from the bodies, evening out the largest ones first.
fn cut_bodies(exchange: &mut Exchange, excess: usize) {
    let bodies = [&mut exchange.request.body, &mut exchange.primary.body, &mut exchange.shadow.body];
    let total: usize = bodies.iter().map(|body| body.bytes.len()).sum();
    let target = total.saturating_sub(excess);
    let mut lengths = bodies.each_ref().map(|body| body.bytes.len());
    lengths.sort_unstable();
    // The level at which Σ min(length, level) = target: small bodies stay whole.
    let mut left = target;
    let mut level = 0;
    for (index, length) in lengths.iter().enumerate() {
        level = left / (lengths.len() - index);
        if *length > level {
            break;
        }
        left -= length;
    }
    for body in bodies {
        body.cut(level);
    }
}

#[cfg(test)]
mod tests;
