//! Model names in gRPC requests: the messages of a stream are taken apart as they come, and only those that name a model which
//! has another name are changed, with the length before them. What is compressed or no message is sent on as it is.

use std::ops::Range;

use bytes::Bytes;

use super::pieces::{Edit, Pieces};
use super::{Models, protobuf};

/// Bytes before each message: one flag and the length, big endian (gRPC over HTTP/2, "Length-Prefixed-Message").
const PREFIX: usize = 5;

/// Most bytes of one message that is held to be changed; one that is longer, and all that follows it, is sent on as it comes.
const MAX_MESSAGE: usize = 64 << 20;

/// Where a request names its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Name in field 1, version in field 2: Open Inference Protocol, TorchServe.
    Flat,
    /// A `ModelSpec` in field 1, with the name in its field 1: TensorFlow Serving.
    Spec,
}

impl Shape {
    /// By the path of the call.
    pub(super) fn of(path: &str) -> Option<Self> {
        match path.strip_prefix('/')?.split('/').next()? {
            "inference.GRPCInferenceService" | "org.pytorch.serve.grpc.inference.InferenceAPIsService" => {
                Some(Self::Flat)
            }
            "tensorflow.serving.PredictionService" => Some(Self::Spec),
            _ => None,
        }
    }
}

/// The messages of one call, as they come.
#[derive(Debug)]
pub(crate) struct Messages {
    shape: Shape,
    models: Models,
    /// A message that is not yet whole.
    pending: Vec<Bytes>,
    /// Set where what comes is no message: all is sent on as it is.
    given_up: bool,
}

impl Messages {
    pub(super) fn new(shape: Shape, models: Models) -> Self {
        Self { shape, models, pending: Vec::new(), given_up: false }
    }

    /// Takes more bytes; adds to `out` what can be sent on.
    pub(crate) fn push(&mut self, bytes: Bytes, out: &mut Vec<Bytes>) {
        if self.given_up {
            return out.push(bytes);
        }
        self.pending.push(bytes);
        let pending = std::mem::take(&mut self.pending);
        let pieces = Pieces::new(&pending);
        let mut from = 0;
        while let Some(length) = length_at(&pieces, from) {
            if length > MAX_MESSAGE {
                self.given_up = true;
                break;
            }
            let end = from + PREFIX + length;
            if end > pieces.len() {
                break;
            }
            self.message(&pieces, from..end, out);
            from = end;
        }
        let rest = from..pieces.len();
        if self.given_up {
            pieces.share(rest, out);
        } else if from == 0 {
            self.pending = pending;
        } else {
            pieces.share(rest, &mut self.pending);
        }
    }

    /// What is left when no more comes.
    pub(crate) fn finish(&mut self, out: &mut Vec<Bytes>) {
        out.append(&mut self.pending);
    }

    fn message(&self, pieces: &Pieces<'_>, whole: Range<usize>, out: &mut Vec<Bytes>) {
        let message = whole.start + PREFIX..whole.end;
        let plain = pieces.get(whole.start) == Some(0);
        let edits = if plain { self.edits(pieces, message.clone()) } else { None };
        let Some(mut edits) = edits else { return pieces.share(whole, out) };
        let removed: usize = edits.iter().map(|edit| edit.at.len()).sum();
        let added: usize = edits.iter().map(|edit| edit.with.len()).sum();
        // A message over 4 GiB would not fit its prefix: it is over the limit, too.
        let Ok(length) = u32::try_from(message.len() - removed + added) else {
            return pieces.share(whole, out);
        };
        edits.insert(0, Edit { at: whole.start + 1..message.start, with: length.to_be_bytes().to_vec() });
        pieces.edited(whole, edits, out);
    }

    fn edits(&self, pieces: &Pieces<'_>, message: Range<usize>) -> Option<Vec<Edit>> {
        match self.shape {
            Shape::Flat => protobuf::flat(pieces, message, &self.models),
            Shape::Spec => protobuf::spec(pieces, message, &self.models),
        }
    }
}

/// The length that the prefix at that place tells.
fn length_at(pieces: &Pieces<'_>, at: usize) -> Option<usize> {
    let length = pieces.copy(at + 1..at + PREFIX, PREFIX)?;
    let length = u32::from_be_bytes(length.try_into().ok()?);
    usize::try_from(length).ok()
}
