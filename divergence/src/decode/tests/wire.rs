//! Writing protobuf messages and gRPC frames.

pub(super) fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A field of bytes, text or a message.
pub(super) fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

/// A field coded as varint.
pub(super) fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

/// A packed field of varints.
pub(super) fn packed(field: u64, values: &[u64]) -> Vec<u8> {
    bytes(field, &values.iter().flat_map(|value| varint(*value)).collect::<Vec<_>>())
}

/// An uncompressed gRPC message.
pub(super) fn framed(message: &[u8]) -> Vec<u8> {
    [&[0][..], &u32::try_from(message.len()).unwrap().to_be_bytes(), message].concat()
}
