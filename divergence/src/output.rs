//! A decoded output: a named tensor, or text.

use serde::{Deserialize, Serialize};

use crate::json::Printed;

/// Type of the elements as the answer declares it (Open Inference Protocol names). Answers that declare none (V1, free JSON)
/// are `Fp64` for numbers with a fraction or exponent anywhere in the output, `Int64` for whole numbers, `Bool`, or `Bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs, reason = "the names say it")]
pub enum DType {
    Bool,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Int8,
    Int16,
    Int32,
    Int64,
    Fp16,
    Bf16,
    Fp32,
    Fp64,
    /// Text or raw bytes.
    Bytes,
}

impl DType {
    /// All types.
    pub const ALL: [Self; 14] = [
        Self::Bool,
        Self::Uint8,
        Self::Uint16,
        Self::Uint32,
        Self::Uint64,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Fp16,
        Self::Bf16,
        Self::Fp32,
        Self::Fp64,
        Self::Bytes,
    ];

    /// The name in the Open Inference Protocol.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bool => "BOOL",
            Self::Uint8 => "UINT8",
            Self::Uint16 => "UINT16",
            Self::Uint32 => "UINT32",
            Self::Uint64 => "UINT64",
            Self::Int8 => "INT8",
            Self::Int16 => "INT16",
            Self::Int32 => "INT32",
            Self::Int64 => "INT64",
            Self::Fp16 => "FP16",
            Self::Bf16 => "BF16",
            Self::Fp32 => "FP32",
            Self::Fp64 => "FP64",
            Self::Bytes => "BYTES",
        }
    }

    /// The type of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.as_str() == name)
    }

    /// Whether elements are floating-point numbers.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::Fp16 | Self::Bf16 | Self::Fp32 | Self::Fp64)
    }
}

/// What the elements of an output are, where the protocol says it: how two of them are compared depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Elements paired by position; of [`DType::Bytes`], each a value of its own (a label, an id).
    #[default]
    Tensor,
    /// Scores paired by [`Output::keys`]: a ranking, the best classes, a reranked list.
    Ranking,
    /// Vectors along the last dimension, of which the direction counts.
    Embedding,
    /// Generated text; two texts may differ in part.
    Text,
    /// Generated tokens in order, as text or as ids; two answers may have different numbers of them.
    Tokens,
    /// Log probabilities of the generated tokens, in order; two answers may have different numbers of them. Of shape `[n, k]`: the
    /// alternatives at each place, named by [`Output::keys`]; a place with fewer than `k` is filled with −∞ under an empty key.
    Logprobs,
    /// A word out of a fixed set, such as why generation ended.
    Reason,
    /// How much was read or written, such as the number of tokens: follows from other outputs.
    Count,
}

impl Kind {
    /// The name used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tensor => "tensor",
            Self::Ranking => "ranking",
            Self::Embedding => "embedding",
            Self::Text => "text",
            Self::Tokens => "tokens",
            Self::Logprobs => "logprobs",
            Self::Reason => "reason",
            Self::Count => "count",
        }
    }
}

/// One named output of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Name in the answer.
    pub name: String,
    /// What the elements are.
    pub kind: Kind,
    /// Type of the elements.
    pub dtype: DType,
    /// Shape; empty for a scalar.
    pub shape: Vec<u64>,
    /// How the elements lie where rows differ in length or lack a value, which no shape says: the lengths of all arrays from the
    /// outside in, or the row of each element. Empty where `shape` says it all.
    pub nesting: Vec<u64>,
    /// Elements, row-major, as 64-bit floats; empty for [`DType::Bytes`]. A JSON `null` is NaN here and counted in `nulls`.
    pub values: Vec<f64>,
    /// Elements as exact integers where a 64-bit float could not hold every one of them (beyond 2^53).
    pub exact: Option<Vec<i128>>,
    /// Elements of a [`DType::Bytes`] output as text; a byte that is no UTF-8 is U+FFFD and two hex digits.
    pub text: Vec<String>,
    /// How many elements were JSON `null`.
    pub nulls: usize,
    /// What each element stands for (index of a document, class, token), one key per element; empty where the position says it.
    pub keys: Vec<String>,
    /// How finely the numbers were printed; `None` where they came in binary, or none was finite.
    pub printed: Option<Printed>,
}

impl Output {
    /// An output without elements.
    #[must_use]
    pub fn new(name: impl Into<String>, dtype: DType, shape: Vec<u64>) -> Self {
        Self {
            name: name.into(),
            kind: Kind::Tensor,
            dtype,
            shape,
            nesting: Vec::new(),
            values: Vec::new(),
            exact: None,
            text: Vec::new(),
            nulls: 0,
            keys: Vec::new(),
            printed: None,
        }
    }
}
