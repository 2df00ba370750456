//! Walking the fields of a protobuf message where it lies, so that tensors are not copied on the way
//! (<https://protobuf.dev/programming-guides/encoding/>).

use std::fmt::Write as _;

use super::fault::Undecodable;

/// The value of a field, by its wire type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

impl<'a> Wire<'a> {
    /// The bytes of a message, of text, or of packed numbers.
    pub(super) fn bytes(self) -> Result<&'a [u8], Undecodable> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(BROKEN),
        }
    }

    /// Text; what is no UTF-8 is [escaped](escaped).
    pub(super) fn text(self) -> Result<String, Undecodable> {
        self.bytes().map(escaped)
    }

    /// A number of a type coded as varint.
    pub(super) fn varint(self) -> Result<u64, Undecodable> {
        match self {
            Self::Varint(value) => Ok(value),
            _ => Err(BROKEN),
        }
    }
}

/// Bytes as text. A byte that belongs to no UTF-8 character is U+FFFD and two hex digits, and U+FFFD itself is doubled, so that other
/// bytes give other text.
pub(super) fn escaped(bytes: &[u8]) -> String {
    const REPLACED: char = char::REPLACEMENT_CHARACTER;
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().split_inclusive(REPLACED) {
            text.push_str(character);
            if character.ends_with(REPLACED) {
                text.push(REPLACED);
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            let _ = write!(text, "{REPLACED}{byte:02x}");
        }
    }
    text
}

const BROKEN: Undecodable = Undecodable::Corrupt("protobuf message");

/// The fields of a message, in order.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

/// The fields of `message`.
pub(super) fn fields(message: &[u8]) -> Fields<'_> {
    Fields { rest: message }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Wire<'a>), Undecodable>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.rest = &[];
        }
        Some(field.ok_or(BROKEN))
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, Wire<'a>)> {
        let tag = varint(&mut self.rest)?;
        let value = match tag & 7 {
            0 => Wire::Varint(varint(&mut self.rest)?),
            1 => Wire::Fixed64(u64::from_le_bytes(*self.chunk()?)),
            2 => {
                let length = usize::try_from(varint(&mut self.rest)?).ok()?;
                let (bytes, rest) = self.rest.split_at_checked(length)?;
                self.rest = rest;
                Wire::Bytes(bytes)
            }
            5 => Wire::Fixed32(u32::from_le_bytes(*self.chunk()?)),
            // Groups are long out of use, and in none of the protocols read here.
            _ => return None,
        };
        (tag >> 3 > 0).then_some((tag >> 3, value))
    }

    fn chunk<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (chunk, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(chunk)
    }
}

/// Takes a varint off the front.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Calls `each` with every number of a repeated field coded as varints: packed, or one by one.
pub(super) fn varints(value: Wire<'_>, mut each: impl FnMut(u64)) -> Result<(), Undecodable> {
    match value {
        Wire::Varint(value) => each(value),
        Wire::Bytes(mut packed) => {
            while !packed.is_empty() {
                each(varint(&mut packed).ok_or(BROKEN)?);
            }
        }
        _ => return Err(BROKEN),
    }
    Ok(())
}

/// The same of a repeated field of `fixed32` or `float`, as bits.
pub(super) fn fixed32s(value: Wire<'_>, mut each: impl FnMut(u32)) -> Result<(), Undecodable> {
    match value {
        Wire::Fixed32(value) => each(value),
        Wire::Bytes(packed) => {
            let (chunks, []) = packed.as_chunks() else { return Err(BROKEN) };
            chunks.iter().for_each(|chunk| each(u32::from_le_bytes(*chunk)));
        }
        _ => return Err(BROKEN),
    }
    Ok(())
}

/// The same of a repeated field of `fixed64` or `double`, as bits.
pub(super) fn fixed64s(value: Wire<'_>, mut each: impl FnMut(u64)) -> Result<(), Undecodable> {
    match value {
        Wire::Fixed64(value) => each(value),
        Wire::Bytes(packed) => {
            let (chunks, []) = packed.as_chunks() else { return Err(BROKEN) };
            chunks.iter().for_each(|chunk| each(u64::from_le_bytes(*chunk)));
        }
        _ => return Err(BROKEN),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_wire_type_are_walked() {
        let message = b"\x08\x96\x01\x12\x02hi\x1d\x00\x00\x80\x3f\x21\x01\0\0\0\0\0\0\0";
        let found: Vec<_> = fields(message).map(Result::unwrap).collect();
        let expected = [
            (1, Wire::Varint(150)),
            (2, Wire::Bytes(b"hi")),
            (3, Wire::Fixed32(0x3f80_0000)),
            (4, Wire::Fixed64(1)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_cut_or_of_no_known_type_ends_the_walk() {
        for broken in [&b"\x08"[..], b"\x12\x05hi", b"\x1d\x00", b"\x0b", b"\x00\x01", &[0xff; 11]] {
            let found: Vec<_> = fields(broken).collect();
            assert_eq!(found, [Err(BROKEN)], "{broken:?}");
        }
        assert_eq!(
            fields(b"\x08\x01\x12\x05hi").collect::<Vec<_>>(),
            [Ok((1, Wire::Varint(1))), Err(BROKEN)]
        );
    }

    #[test]
    fn repeated_numbers_come_packed_or_one_by_one() {
        let (mut ints, mut singles, mut doubles) = (vec![], vec![], vec![]);
        for value in [Wire::Bytes(b"\x01\x96\x01"), Wire::Varint(7)] {
            varints(value, |value| ints.push(value)).unwrap();
        }
        for value in [Wire::Bytes(b"\x01\0\0\0\x02\0\0\0"), Wire::Fixed32(3)] {
            fixed32s(value, |value| singles.push(value)).unwrap();
        }
        for value in [Wire::Bytes(b"\x01\0\0\0\0\0\0\0"), Wire::Fixed64(2)] {
            fixed64s(value, |value| doubles.push(value)).unwrap();
        }
        assert_eq!((ints, singles, doubles), (vec![1, 150, 7], vec![1, 2, 3], vec![1, 2]));
        assert!(fixed32s(Wire::Bytes(b"\x01\0\0"), |_| ()).is_err());
        assert!(varints(Wire::Bytes(b"\x80"), |_| ()).is_err());
        assert!(fixed64s(Wire::Varint(1), |_| ()).is_err());
    }
}
