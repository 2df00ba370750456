//! `SeldonMessage {1 status {4 status}, 3 data {1 names, 2 tensor {1 shape, 2 values}, 3 ndarray, 4 tftensor}, 4 binData, 5 strData, 6 jsonData}`, whose
//! `ndarray` and `jsonData` are values of `google/protobuf/struct.proto`.

use std::borrow::Cow;

use super::{NAME, named};
use crate::decode::fault::{Fault, Undecodable};
use crate::decode::parts::Parts;
use crate::decode::protobuf::{Wire, fields, fixed64s, varints};
use crate::decode::tensor::{self, Builder};
use crate::decode::{
    Decoded, MAX_DIMENSIONS, MAX_ELEMENTS, MAX_RAW_ELEMENTS, MAX_VALUES, Protocol, generation, grpc,
    tensorflow,
};
use crate::{DType, Json, Kind, Number, Output};

/// `Status.StatusFlag.FAILURE`.
const FAILURE: u64 = 1;

/// Reads the one message of the answer.
pub(super) fn decode(parts: &Parts<'_>) -> Result<Decoded, Undecodable> {
    let messages = grpc::messages(parts.headers, parts.body)?;
    let message = messages.first().ok_or(Undecodable::Empty)?;
    let mut decoded = Decoded::of(Protocol::Seldon, vec![]);
    for field in fields(message) {
        match field? {
            (1, status) if failed(status.bytes()?)? => return Err(Undecodable::ErrorBody),
            (3, data) => decoded.outputs.push(data_of(data.bytes()?)?),
            (4, bytes) => {
                decoded.outputs.push(generation::one("binData".into(), Kind::Tensor, bytes.text()?))
            }
            (5, text) => decoded.outputs.push(generation::one("strData".into(), Kind::Tensor, text.text()?)),
            (6, value) => decoded.tree = Some(Values::default().value(value.bytes()?, 0)?),
            _ => {}
        }
    }
    Ok(decoded)
}

fn failed(status: &[u8]) -> Result<bool, Undecodable> {
    let mut failed = false;
    for field in fields(status) {
        if let (4, flag) = field? {
            failed = flag.varint()? == FAILURE;
        }
    }
    Ok(failed)
}

fn data_of(message: &[u8]) -> Result<Output, Undecodable> {
    let (mut names, mut output) = (Vec::new(), None);
    for field in fields(message) {
        match field? {
            (1, name) if names.len() < MAX_VALUES => names.push(name.text()?),
            (2, value) => output = Some(tensor_of(value.bytes()?)?),
            (3, list) => {
                let list = Values::default().list(list.bytes()?, 0)?;
                output = Some(tensor::undeclared(NAME, &[&list], false)?);
            }
            (4, value) => output = Some(tensorflow::tensor(NAME, value.bytes()?, &mut { MAX_RAW_ELEMENTS })?),
            _ => {}
        }
    }
    named(output.ok_or_else(|| Undecodable::output(NAME, Fault::Field("tensor")))?, names)
}

fn tensor_of(message: &[u8]) -> Result<Output, Undecodable> {
    let (mut shape, mut values) = (Vec::new(), Vec::new());
    for field in fields(message) {
        match field? {
            (1, sizes) => varints(sizes, |size| shape.push(size))?,
            (2, numbers) => fixed64s(numbers, |bits| values.push(f64::from_bits(bits)))?,
            _ => {}
        }
        if shape.len() > MAX_DIMENSIONS {
            return Err(Undecodable::output(NAME, Fault::Dimensions(MAX_DIMENSIONS)));
        }
        if values.len() > MAX_ELEMENTS {
            return Err(Undecodable::TooMany { what: "elements", limit: MAX_ELEMENTS });
        }
    }
    let mut builder = Builder::new(NAME, DType::Fp64, shape);
    builder.floats(values.into_iter());
    builder.finish()
}

/// Reads values, as many as are allowed.
#[derive(Default)]
struct Values {
    count: usize,
}

impl Values {
    /// `Value {1 null, 2 number, 3 string, 4 bool, 5 struct, 6 list}`.
    fn value(&mut self, message: &[u8], depth: usize) -> Result<Json<'static>, Undecodable> {
        self.count += 1;
        if self.count > MAX_VALUES {
            return Err(Undecodable::TooMany { what: "elements", limit: MAX_VALUES });
        }
        if depth > Json::MAX_DEPTH {
            return Err(Undecodable::Corrupt("protobuf message"));
        }
        let mut found = Json::Null;
        for field in fields(message) {
            found = match field? {
                (1, _) => Json::Null,
                (2, Wire::Fixed64(bits)) => Json::Number(Number::from_f64(f64::from_bits(bits))),
                (3, text) => Json::Text(Cow::Owned(text.text()?)),
                (4, value) => Json::Bool(value.varint()? != 0),
                (5, value) => self.object(value.bytes()?, depth + 1)?,
                (6, value) => self.list(value.bytes()?, depth + 1)?,
                _ => continue,
            };
        }
        Ok(found)
    }

    /// `ListValue {1 values}`.
    fn list(&mut self, message: &[u8], depth: usize) -> Result<Json<'static>, Undecodable> {
        let mut items = Vec::new();
        for field in fields(message) {
            if let (1, value) = field? {
                items.push(self.value(value.bytes()?, depth)?);
            }
        }
        Ok(Json::Array(items))
    }

    /// `Struct {1 map<string, Value> fields}`; a map has no order, so the fields are sorted.
    fn object(&mut self, message: &[u8], depth: usize) -> Result<Json<'static>, Undecodable> {
        let mut found: Vec<(Cow<'static, str>, Json<'static>)> = Vec::new();
        for field in fields(message) {
            let (1, entry) = field? else { continue };
            let (mut name, mut value) = (String::new(), Json::Null);
            for field in fields(entry.bytes()?) {
                match field? {
                    (1, key) => name = key.text()?,
                    (2, inner) => value = self.value(inner.bytes()?, depth)?,
                    _ => {}
                }
            }
            found.push((Cow::Owned(name), value));
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(Json::Object(found))
    }
}
