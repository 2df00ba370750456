//! From the bytes of an answer to named outputs.
//!
//! The format is found by request path, headers and body together, never by `content-type` alone: servers leave it out or
//! mislabel it. A new protocol is a file under `decode/` and a line in `READERS`.

mod classified;
mod contents;
mod encoding;
mod fault;
mod free;
mod generate;
mod generation;
mod grpc;
mod json;
mod json_path;
mod messages;
mod names;
mod openai;
mod parts;
mod protobuf;
mod ranked;
mod raw;
mod request;
mod seldon;
mod sse;
mod tables;
mod tensor;
mod tensorflow;
mod tgi;
mod v1_predictions;
mod v2_binary;
mod v2_grpc;
mod v2_json;
mod wrapped;

#[cfg(test)]
mod tests;

use crate::{Json, Output, Rules};
pub(crate) use fault::shortened;
pub use fault::{Fault, Undecodable};
pub(crate) use json::to_serde;
use parts::Parts;
pub use request::{requested_model, samples};
pub(crate) use tensor::shape_text;

/// Most numbers of the tensors of one answer that do not lie in bytes of a fixed width: a varint takes one byte of the answer, a value that
/// repeats none, and up to 24 here.
pub(crate) const MAX_ELEMENTS: usize = 1 << 24;

/// Most numbers of the binary tensors of one answer: any body of 64 MiB is within it, whatever the type. Each takes 8 bytes here, so that
/// 40 MB of `UINT8` are 320 MB while they are compared, of `FP32` 80 MB.
pub(crate) const MAX_RAW_ELEMENTS: usize = encoding::MAX_BODY;

/// What an element counts for that is not in bytes of a fixed width, where both kinds are counted together.
const TYPED_COST: usize = MAX_RAW_ELEMENTS / MAX_ELEMENTS;

/// Most numbers, strings and containers of one JSON text, and strings of one binary tensor: each takes some 80 bytes while it
/// is read, and a few kilobytes can decompress to this many. Any uncompressed body of 8 MiB is within it.
pub(crate) const MAX_VALUES: usize = 1 << 22;

/// Most outputs of one answer.
pub(crate) const MAX_OUTPUTS: usize = 1024;

/// Most bytes of the name of an output: a name is copied for each column that it begins.
pub(crate) const MAX_NAME: usize = 4096;

/// Most dimensions of a shape.
pub(crate) const MAX_DIMENSIONS: usize = 64;

/// The parts of an answer that decoding looks at.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Path of the request.
    pub path: &'a str,
    /// HTTP status of the answer.
    pub status: u16,
    /// Headers of the answer.
    pub headers: &'a [(String, String)],
    /// Trailers of the answer (gRPC has its status there).
    pub trailers: &'a [(String, String)],
    /// Body as it crossed the wire (possibly compressed).
    pub body: &'a [u8],
    /// Whether `body` is only the first part.
    pub truncated: bool,
}

impl<'a> Answer<'a> {
    /// A whole answer without trailers.
    #[must_use]
    pub fn new(path: &'a str, status: u16, headers: &'a [(String, String)], body: &'a [u8]) -> Self {
        Self { path, status, headers, trailers: &[], body, truncated: false }
    }
}

/// How an answer was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Open Inference Protocol V2 as JSON.
    V2Json,
    /// Open Inference Protocol V2 with tensors in binary after the JSON.
    V2Binary,
    /// Open Inference Protocol V2 over gRPC.
    V2Grpc,
    /// TensorFlow Serving / KServe V1 `predictions` (or `outputs`).
    V1Predictions,
    /// Chat completions of OpenAI's API.
    OpenAiChat,
    /// Text completions of OpenAI's API.
    OpenAiCompletions,
    /// Responses of OpenAI's API.
    OpenAiResponses,
    /// Embeddings of OpenAI's API.
    OpenAiEmbeddings,
    /// Scores of pairs, vLLM's `/score`.
    Scores,
    /// Reranked documents.
    Rerank,
    /// Text Generation Inference's own form.
    Tgi,
    /// Triton's generate extension.
    V2Generate,
    /// TensorFlow Serving over gRPC.
    TfGrpc,
    /// Seldon's protocol of version 1.
    Seldon,
    /// Comma-separated values.
    Csv,
    /// Plain text.
    Text,
    /// Any JSON, by configured paths.
    JsonPath,
    /// JSON of no known shape, as a [tree](Decoded::tree).
    Json,
}

impl Protocol {
    /// Those that a rule can say an answer is of. V2 over HTTP is one, in either form.
    pub const NAMED: [Self; 16] = [
        Self::V2Json,
        Self::V2Grpc,
        Self::V1Predictions,
        Self::OpenAiChat,
        Self::OpenAiCompletions,
        Self::OpenAiResponses,
        Self::OpenAiEmbeddings,
        Self::Scores,
        Self::Rerank,
        Self::Tgi,
        Self::V2Generate,
        Self::TfGrpc,
        Self::Seldon,
        Self::Csv,
        Self::Text,
        Self::Json,
    ];

    /// The name used in columns and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2Json => "v2_json",
            Self::V2Binary => "v2_binary",
            Self::V2Grpc => "v2_grpc",
            Self::V1Predictions => "v1_predictions",
            Self::OpenAiChat => "openai_chat",
            Self::OpenAiCompletions => "openai_completions",
            Self::OpenAiResponses => "openai_responses",
            Self::OpenAiEmbeddings => "openai_embeddings",
            Self::Scores => "scores",
            Self::Rerank => "rerank",
            Self::Tgi => "tgi",
            Self::V2Generate => "v2_generate",
            Self::TfGrpc => "tf_grpc",
            Self::Seldon => "seldon",
            Self::Csv => "csv",
            Self::Text => "text",
            Self::JsonPath => "json_path",
            Self::Json => "json",
        }
    }

    /// Whether answers say the type of their outputs. Where they do not, a score may be printed as `1` once and as `0.5` the next
    /// time, so whole numbers and fractions are no difference of type.
    #[must_use]
    pub fn declares_types(self) -> bool {
        matches!(self, Self::V2Json | Self::V2Binary | Self::V2Grpc | Self::TfGrpc)
    }
}

/// A decoded answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// How it was read.
    pub protocol: Protocol,
    /// Model that the answer, or else the path, names.
    pub model: Option<String>,
    /// Version of the model that the answer names.
    pub model_version: Option<String>,
    /// Outputs, sorted by name.
    pub outputs: Vec<Output>,
    /// The answer as a whole, where it is JSON of no known shape ([`Protocol::Json`], or Seldon's `jsonData`): it has no outputs then.
    /// The fields that the rules call volatile are left out.
    pub tree: Option<Json<'static>>,
}

impl Decoded {
    /// An answer that names no model.
    fn of(protocol: Protocol, outputs: Vec<Output>) -> Self {
        Self { protocol, model: None, model_version: None, outputs, tree: None }
    }
}

/// Reads an answer of one protocol; `None` when it is of another.
type Reader = fn(&Parts<'_>) -> Option<Result<Decoded, Undecodable>>;

/// The known formats; the first that takes an answer has it. V2's binary form comes first: a server may answer in either.
const READERS: &[(Protocol, Reader)] = &[
    (Protocol::V2Grpc, v2_grpc::read),
    (Protocol::TfGrpc, tensorflow::read),
    (Protocol::V2Json, v2_binary::read),
    (Protocol::V2Json, v2_json::read),
    (Protocol::OpenAiChat, openai::read_chat),
    (Protocol::OpenAiCompletions, openai::read_completions),
    (Protocol::OpenAiResponses, openai::read_responses),
    (Protocol::OpenAiEmbeddings, openai::read_embeddings),
    (Protocol::Scores, openai::read_scores),
    (Protocol::Rerank, openai::read_rerank),
    (Protocol::V2Generate, generate::read),
    (Protocol::Tgi, tgi::read),
    (Protocol::V1Predictions, classified::read),
    (Protocol::V1Predictions, v1_predictions::read),
    (Protocol::Seldon, seldon::read),
    (Protocol::Csv, tables::read_csv),
    (Protocol::Text, tables::read_text),
];

/// Decodes an answer.
///
/// # Errors
/// When it is no 2xx, is truncated, is not of a known format, or holds no output.
pub fn decode(answer: &Answer<'_>, rules: &Rules) -> Result<Decoded, Undecodable> {
    if !(200..300).contains(&answer.status) {
        return Err(Undecodable::Status(answer.status));
    }
    grpc::check_status(answer.headers, answer.trailers)?;
    if answer.truncated {
        return Err(Undecodable::Truncated);
    }
    let body = encoding::decoded(answer.headers, answer.body)?;
    if body.is_empty() {
        return Err(Undecodable::Empty);
    }
    let mut decoded = match wrapped::inner(answer, &body)? {
        Some(inner) if inner.body.is_empty() => return Err(Undecodable::Empty),
        Some(inner) => read(&Answer { headers: &inner.headers, ..*answer }, &inner.body, rules)?,
        None => read(answer, &body, rules)?,
    };
    if decoded.outputs.is_empty() && decoded.tree.is_none() {
        return Err(Undecodable::NoOutputs);
    }
    decoded.outputs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(decoded)
}

/// Reads a decompressed body: by the paths of the rules, as the protocol that they say, or as the first that takes it.
fn read(answer: &Answer<'_>, body: &[u8], rules: &Rules) -> Result<Decoded, Undecodable> {
    let mut parts = Parts::new(answer, body)?;
    if let Some(decoded) = json_path::read(&parts, rules) {
        return decoded;
    }
    let Some(forced) = rules.protocol(parts.path) else {
        let found = READERS.iter().find_map(|(_, read)| read(&parts));
        return found.or_else(|| free::read(&parts, rules)).unwrap_or_else(|| Err(parts.unknown()));
    };
    parts.forced = true;
    let readers = READERS.iter().filter(|(protocol, _)| *protocol == forced);
    let found = match forced {
        Protocol::Json => free::read(&parts, rules),
        _ => readers.map(|(_, read)| read(&parts)).find_map(|found| found),
    };
    found.unwrap_or(Err(Undecodable::NotOf(forced.as_str())))
}
