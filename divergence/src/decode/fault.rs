//! Why an answer, or one output of it, cannot be decoded. The texts are stored in columns, so they are short and bounded.

use super::MAX_NAME;

/// Why an answer has no outputs; [`Display`](std::fmt::Display) gives the reason stored in the columns.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum Undecodable {
    /// Not a 2xx status.
    #[error("status {0}")]
    Status(u16),
    /// A gRPC call that failed: its status, a number.
    #[error("grpc status {0}")]
    GrpcStatus(String),
    /// A gRPC body that ends within a message, or begins one with an unknown flag.
    #[error("grpc message broken {0} bytes before the end of the body")]
    Frame(usize),
    /// A message of a stream says that its request failed, and no other answers one.
    #[error("error in the message: {0}")]
    InMessage(String),
    /// A call of a service that is not read.
    #[error("grpc method `{0}` is not supported")]
    Method(String),
    /// Captured only in part.
    #[error("body truncated by the capture cap")]
    Truncated,
    /// No body.
    #[error("empty body")]
    Empty,
    /// A content encoding that is not read.
    #[error("content-encoding `{0}` is not supported")]
    Encoding(String),
    /// A compressed body that does not decompress.
    #[error("body is no valid {0}")]
    Corrupt(&'static str),
    /// A decompressed body past the bound.
    #[error("decompressed body is larger than {0} bytes")]
    TooLarge(usize),
    /// More of something than the bound.
    #[error("more than {limit} {what}")]
    TooMany {
        /// `elements`, `outputs`, `content codings` …
        what: &'static str,
        /// The bound.
        limit: usize,
    },
    /// The length of the JSON part, in a header, does not fit the body.
    #[error("json length `{declared}` in the headers does not fit a body of {body} bytes")]
    JsonLength {
        /// As the header gives it.
        declared: String,
        /// Bytes of the decompressed body.
        body: usize,
    },
    /// Bytes after the last binary tensor.
    #[error("{0} bytes left after the last binary tensor")]
    LeftOver(usize),
    /// Not JSON, or cut off.
    #[error("not json: {0}")]
    NotJson(String),
    /// JSON whose only message is an error.
    #[error("body is an error message")]
    ErrorBody,
    /// A body of a media type that is not read.
    #[error("media type `{0}` is not supported")]
    Media(String),
    /// Not of the protocol that a rule says its path has.
    #[error("no answer of {0}, which a rule says it is")]
    NotOf(&'static str),
    /// A known format without outputs.
    #[error("no outputs in the answer")]
    NoOutputs,
    /// No configured path selects anything.
    #[error("path `{path}` of output `{name}` selects nothing")]
    NoMatch {
        /// Name of the output.
        name: String,
        /// The path.
        path: String,
    },
    /// An output that cannot be read.
    #[error("output `{name}`: {fault}")]
    Output {
        /// Name of the output, shortened.
        name: String,
        /// What is wrong with it.
        fault: Fault,
    },
}

/// Refuses the name of an output past the bound.
pub(super) fn check_name(length: usize) -> Result<(), Undecodable> {
    if length > MAX_NAME {
        return Err(Undecodable::TooMany { what: "bytes in the name of an output", limit: MAX_NAME });
    }
    Ok(())
}

/// What is wrong with one output.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A field is missing or of the wrong type.
    #[error("no usable `{0}`")]
    Field(&'static str),
    /// A data type that the protocol does not know.
    #[error("unknown datatype `{0}`")]
    Datatype(String),
    /// The number of elements does not follow from the shape.
    #[error("shape {shape} needs {needed} elements, found {found}")]
    Count {
        /// As in `2x3`.
        shape: String,
        /// Product of the dimensions.
        needed: u64,
        /// Elements in the data.
        found: u64,
    },
    /// More dimensions than the bound.
    #[error("more than {0} dimensions")]
    Dimensions(usize),
    /// An element that is not of the type.
    #[error("element {index} is no {dtype}")]
    Element {
        /// Row-major index.
        index: usize,
        /// Name of the type.
        dtype: &'static str,
    },
    /// Elements of several kinds in an output that declares no type, or objects where values belong.
    #[error("element {0} is of another kind than those before it")]
    Mixed(usize),
    /// The binary data has another size than shape and type need, or ends early.
    #[error("{found} bytes of binary data where {needed} are needed")]
    Size {
        /// Bytes needed.
        needed: u64,
        /// Bytes declared or left.
        found: u64,
    },
}

impl Undecodable {
    /// The fault of the output of that name.
    pub(super) fn output(name: &str, fault: Fault) -> Self {
        Self::Output { name: shortened(name), fault }
    }
}

/// The first 64 characters of text that came from outside.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}
