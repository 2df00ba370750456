//! The event stream of SageMaker's `InvokeEndpointWithResponseStream`
//! (<https://docs.aws.amazon.com/lexv2/latest/dg/event-stream-encoding.html>): messages of total length, length of the headers, CRC-32 of both,
//! headers, payload, CRC-32 of all before it; numbers big-endian. A header is a name after its length in one byte, a type, and for
//! text (7) a length in two bytes and the text. The payloads of `PayloadPart` events are the body, cut anywhere.

use super::Inner;
use crate::decode::fault::{Undecodable, shortened};
use crate::decode::parts::header_values;

/// The media type.
pub(super) const MEDIA_TYPE: &str = "application/vnd.amazon.eventstream";

/// Bytes of a message without headers and payload.
const AROUND: usize = 16;

const BROKEN: Undecodable = Undecodable::Corrupt("event stream");

/// The parts joined, of the media type that the answer says the model gave.
pub(super) fn payload(headers: &[(String, String)], mut body: &[u8]) -> Result<Inner, Undecodable> {
    let mut whole = Vec::with_capacity(body.len());
    while !body.is_empty() {
        let (message, rest) = message(body).ok_or(BROKEN)?;
        body = rest;
        match message.kind.as_deref() {
            None | Some("event") if matches!(message.event.as_deref(), None | Some("PayloadPart")) => {
                whole.extend_from_slice(message.payload);
            }
            Some("event") => {}
            _ => {
                let text = String::from_utf8_lossy(message.payload);
                return Err(Undecodable::InMessage(shortened(message.event.as_deref().unwrap_or(&text))));
            }
        }
    }
    let media_type = header_values(headers, "x-amzn-sagemaker-content-type").next();
    Ok(Inner::of(media_type, whole))
}

struct Message<'b> {
    /// `event`, `exception` or `error`.
    kind: Option<String>,
    /// The event's or the exception's.
    event: Option<String>,
    payload: &'b [u8],
}

/// The first message, and what follows it.
fn message(body: &[u8]) -> Option<(Message<'_>, &[u8])> {
    let number = |at: usize| Some(u32::from_be_bytes(body.get(at..at + 4)?.try_into().ok()?));
    let (total, headers) = (number(0)? as usize, number(4)? as usize);
    let end = total.checked_sub(4)?;
    let right = headers.checked_add(AROUND)? <= total
        && number(8)? == crc32fast::hash(body.get(..8)?)
        && number(end)? == crc32fast::hash(body.get(..end)?);
    if !right {
        return None;
    }
    let (head, payload) = body.get(12..end)?.split_at_checked(headers)?;
    let (mut kind, mut event) = (None, None);
    for (name, value) in texts(head)? {
        match name {
            b":message-type" => kind = Some(value),
            b":event-type" | b":exception-type" | b":error-code" => event = Some(value),
            _ => {}
        }
    }
    Some((Message { kind, event, payload }, &body[total..]))
}

/// Names and values of the headers that are text.
fn texts(mut head: &[u8]) -> Option<Vec<(&[u8], String)>> {
    let mut found = Vec::new();
    while let Some((length, rest)) = head.split_first() {
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (kind, rest) = rest.split_first()?;
        let width = match kind {
            0 | 1 => 0,
            2 => 1,
            3 => 2,
            4 => 4,
            5 | 8 => 8,
            9 => 16,
            6 | 7 => 2 + usize::from(u16::from_be_bytes(*rest.first_chunk()?)),
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(width)?;
        if *kind == 7 {
            found.push((name, String::from_utf8_lossy(&value[2..]).into_owned()));
        }
        head = rest;
    }
    Some(found)
}
