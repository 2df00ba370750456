//! Embeddings: `data[] {index, embedding}`, where an embedding is a list of numbers or base64 of little-endian single-precision
//! floats (which the official client asks for). vLLM's `/pooling` answers the same form with `data` for `embedding`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::{decoded, is};
use crate::decode::fault::{Fault, Undecodable};
use crate::decode::parts::Parts;
use crate::decode::tensor::{self, Builder};
use crate::decode::{Decoded, MAX_ELEMENTS, Protocol, messages, raw};
use crate::{DType, Json, Kind, Output};

const NAME: &str = "embedding";

/// Takes answers of `/embeddings` and `/pooling`, and lists whose items are embeddings.
pub(in crate::decode) fn read(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    let items = parts.field("data").and_then(Json::as_array);
    let by_body = items.and_then(<[_]>::first).is_some_and(|first| {
        first.text_field("object") == Some("embedding") || first.field("embedding").is_some()
    });
    (by_body || is(parts, "/embeddings", &[]) || is(parts, "/pooling", &[])).then(|| decode(parts, items))
}

fn decode(parts: &Parts<'_>, items: Option<&[Json<'_>]>) -> Result<Decoded, Undecodable> {
    let document = parts.json()?;
    let Some(items) = items else { return Err(parts.without_outputs()) };
    let mut rows = Vec::new();
    let mut room = MAX_ELEMENTS;
    for (place, item) in items.iter().enumerate() {
        let index = item.field("index").and_then(Json::as_u64).unwrap_or(place as u64);
        let vector = item.field("embedding").or_else(|| item.field("data"));
        let vector = vector.ok_or_else(|| Undecodable::output(NAME, Fault::Field(NAME)))?;
        rows.push((index, row(vector, &mut room)?));
    }
    rows.sort_by_key(|(index, _)| *index);
    let single = rows.len() == 1;
    let mut outputs = messages::joined(rows.into_iter().map(|(_, row)| vec![row]).collect())?;
    if let (true, Some(output)) = (single, outputs.first_mut()) {
        output.shape.insert(0, 1);
    }
    outputs.iter_mut().for_each(|output| output.kind = Kind::Embedding);
    let answer = decoded(parts, Protocol::OpenAiEmbeddings, std::slice::from_ref(document));
    Ok(Decoded { outputs, ..answer })
}

/// One embedding: single precision, in whichever form it came.
fn row(vector: &Json<'_>, room: &mut usize) -> Result<Output, Undecodable> {
    if let Json::Text(text) = vector {
        let bytes = BASE64_STANDARD.decode(text.as_bytes()).map_err(|_| Undecodable::Corrupt("base64"))?;
        return raw::tensor(Builder::new(NAME, DType::Fp32, vec![(bytes.len() / 4) as u64]), &bytes, room);
    }
    let undeclared = tensor::undeclared(NAME, &[vector], false)?;
    let mut builder = Builder::new(NAME, DType::Fp32, undeclared.shape);
    tensor::fill(&mut builder, vector).map_err(|fault| Undecodable::output(NAME, fault))?;
    builder.finish()
}
