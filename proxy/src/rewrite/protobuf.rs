//! The fields that name a model in a protobuf message (Protocol Buffers, "Encoding"), found and changed without
//! decoding the message: it may hold tensors of any size.

use std::ops::Range;

use super::Models;
use super::pieces::{Edit, Pieces};
use crate::config::rewrite::Model;

/// Longest name of a model or version that is looked at.
const MAX_NAME: usize = 4096;

const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const LENGTH: u8 = 2;
const FIXED32: u8 = 5;

/// One field.
struct Field {
    number: u64,
    wire: u8,
    /// With its tag and length.
    whole: Range<usize>,
    value: Range<usize>,
}

/// The changes to a message with the model's name in field 1 and its version in field 2; `None` when it names none that has another name, or
/// is no such message.
pub(super) fn flat(pieces: &Pieces<'_>, message: Range<usize>, models: &Models) -> Option<Vec<Edit>> {
    let fields = fields(pieces, message.clone(), &[1, 2])?;
    let model = named(pieces, &fields, models)?;
    let version = model.version.as_ref().map(|version| match version.as_str() {
        "" => Vec::new(),
        version => string(2, version.as_bytes()),
    });
    Some(edits(&fields, &message, model, &[2], version))
}

/// The same with both in the `ModelSpec` of field 1: its version is a number in field 2, or a label in field 4.
pub(super) fn spec(pieces: &Pieces<'_>, message: Range<usize>, models: &Models) -> Option<Vec<Edit>> {
    let outer = fields(pieces, message, &[1])?;
    let spec = outer.last().filter(|field| field.wire == LENGTH)?;
    let fields = fields(pieces, spec.value.clone(), &[1, 2, 4])?;
    let model = named(pieces, &fields, models)?;
    let version = model.version.as_ref().map(|version| match version.parse::<u64>() {
        Ok(number) => {
            let mut value = vec![8];
            put_varint(&mut value, number);
            string(2, &value)
        }
        Err(_) if version.is_empty() => Vec::new(),
        Err(_) => string(4, version.as_bytes()),
    });
    let mut inner = Vec::new();
    let changed = edits(&fields, &spec.value, model, &[2, 4], version);
    pieces.edited(spec.value.clone(), changed, &mut inner);
    Some(vec![Edit { at: spec.whole.clone(), with: string(1, &inner.concat()) }])
}

/// The model that the last field 1 names, which is the one that counts.
fn named<'m>(pieces: &Pieces<'_>, fields: &[Field], models: &'m Models) -> Option<&'m Model> {
    let name = fields.iter().rfind(|field| field.number == 1 && field.wire == LENGTH)?;
    let name = String::from_utf8(pieces.copy(name.value.clone(), MAX_NAME)?).ok()?;
    models.get(&name)
}

/// New names in all fields 1, and `version` in place of the fields that tell one, where it is to be another.
fn edits(
    fields: &[Field],
    message: &Range<usize>,
    model: &Model,
    versions: &[u64],
    version: Option<Vec<u8>>,
) -> Vec<Edit> {
    let mut edits = Vec::new();
    for field in fields {
        if field.number == 1 && field.wire == LENGTH {
            edits.push(Edit { at: field.whole.clone(), with: string(1, model.name.as_bytes()) });
        } else if version.is_some() && versions.contains(&field.number) {
            edits.push(Edit { at: field.whole.clone(), with: Vec::new() });
        }
    }
    if let Some(version) = version.filter(|version| !version.is_empty()) {
        // The order of fields means nothing.
        edits.push(Edit { at: message.end..message.end, with: version });
    }
    edits
}

/// The fields of those numbers; `None` when the bytes are no message.
fn fields(pieces: &Pieces<'_>, message: Range<usize>, numbers: &[u64]) -> Option<Vec<Field>> {
    let mut found = Vec::new();
    let mut at = message.start;
    while at < message.end {
        let start = at;
        let tag = varint(pieces, &mut at)?;
        let (number, wire) = (tag >> 3, (tag & 7) as u8);
        let mut begin = at;
        let length = match wire {
            VARINT => {
                varint(pieces, &mut at)?;
                at - begin
            }
            FIXED64 => 8,
            FIXED32 => 4,
            LENGTH => {
                let length = varint(pieces, &mut at)?;
                begin = at;
                usize::try_from(length).ok()?
            }
            _ => return None,
        };
        at = begin.checked_add(length).filter(|end| *end <= message.end)?;
        if number == 0 {
            return None;
        }
        if numbers.contains(&number) {
            found.push(Field { number, wire, whole: start..at, value: begin..at });
        }
    }
    Some(found)
}

fn varint(pieces: &Pieces<'_>, at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let byte = pieces.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// A field of that number, which is below 16, with those bytes.
fn string(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | LENGTH];
    put_varint(&mut out, bytes.len() as u64);
    out.extend_from_slice(bytes);
    out
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
