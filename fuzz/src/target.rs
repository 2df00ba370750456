//! One target per decoder, and one that compares.

use divergence::{Class, DType, Decoded, Protocol, Rules, Side, compare, decode};

use crate::capture::Capture;

/// What is fuzzed, beginning from which captures.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    protocols: &'static [Protocol],
    /// Panics when a promise is broken; whether the answer decoded.
    pub(crate) check: fn(&Capture) -> bool,
}

macro_rules! targets {
    ($($name:literal $check:ident [$($protocol:ident),*])*) => {
        /// All targets.
        pub(crate) const TARGETS: &[Target] =
            &[$(Target { name: $name, protocols: &[$(Protocol::$protocol),*], check: $check }),*];
    };
}

targets! {
    "v2_json" decoding [V2Json]
    "v2_binary" decoding [V2Binary]
    "v2_grpc" decoding [V2Grpc]
    "v2_generate" decoding [V2Generate]
    "v1" decoding [V1Predictions]
    "tensorflow" decoding [TfGrpc]
    "seldon" decoding [Seldon]
    "openai" decoding [OpenAiChat, OpenAiCompletions, OpenAiResponses]
    "vectors" decoding [OpenAiEmbeddings, Scores, Rerank]
    "tgi" decoding [Tgi]
    "tables" decoding [Csv, Text]
    "json" decoding [Json]
    "json_path" by_path [V2Json, V1Predictions, Json, OpenAiChat]
    "forced" forced []
    "wrapped" wrapped [V2Json, V1Predictions, Json, OpenAiChat, Text]
    "compare" comparing []
}

impl Target {
    /// Whether a capture is for this target: it decodes as one of its protocols.
    pub(crate) fn takes(&self, capture: &Capture) -> bool {
        let decoded = decode(&capture.answer(), &Rules::default());
        decoded.is_ok_and(|decoded| self.protocols.is_empty() || self.protocols.contains(&decoded.protocol))
    }
}

/// The target of that name.
pub(crate) fn named(name: &str) -> anyhow::Result<&'static Target> {
    TARGETS.iter().find(|target| target.name == name).ok_or_else(|| {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        anyhow::anyhow!("no target {name}: there are {}", names.join(", "))
    })
}

fn decoding(capture: &Capture) -> bool {
    let model = divergence::requested_model(&capture.path, &capture.headers, &capture.body);
    assert!(model.is_none_or(|model| !model.is_empty()), "a model has a name");
    match decode(&capture.answer(), &Rules::default()) {
        Ok(decoded) => {
            sound(&decoded);
            true
        }
        Err(reason) => {
            assert!(reason.to_string().len() < 2048, "a reason stays short");
            false
        }
    }
}

fn by_path(capture: &Capture) -> bool {
    let path = divergence::Path::parse("$..*").expect("a path that RFC 9535 allows");
    let all = divergence::JsonOutput { name: "all".into(), path, request_path: None };
    let rules = Rules { json_paths: vec![all], ..Rules::default() };
    decode(&capture.answer(), &rules).inspect(sound).is_ok()
}

/// As every protocol in turn, whatever the answer looks like.
fn forced(capture: &Capture) -> bool {
    let as_one = |protocol: Protocol| {
        let named = divergence::Named(protocol);
        let rule = divergence::ProtocolRule { request_path: String::new(), named };
        let rules = Rules { protocols: vec![rule], ..Rules::default() };
        decode(&capture.answer(), &rules).inspect(sound).is_ok()
    };
    Protocol::NAMED.into_iter().filter(|protocol| as_one(*protocol)).count() > 0
}

/// Within SageMaker's event stream and within TorchServe's message; and as such a stream itself.
fn wrapped(capture: &Capture) -> bool {
    let stream = ("content-type".to_owned(), "application/vnd.amazon.eventstream".to_owned());
    let call = ("content-type".to_owned(), "application/grpc".to_owned());
    let path = "/org.pytorch.serve.grpc.inference.InferenceAPIsService/Predictions";
    let event = event(&capture.body);
    let message = [&[0x0a][..], &varint(capture.body.len()), &capture.body].concat();
    let frame = [&[0][..], &(message.len() as u32).to_be_bytes(), &message].concat();
    let read = |path: &str, header: &(String, String), body: &[u8]| {
        let headers = std::slice::from_ref(header);
        decode(&divergence::Answer::new(path, 200, headers, body), &Rules::default()).inspect(sound).is_ok()
    };
    let raw = read(&capture.path, &stream, &capture.body);
    let within = [read(&capture.path, &stream, &event), read(path, &call, &frame)];
    raw || within.contains(&true)
}

/// A message of an event stream without headers.
fn event(payload: &[u8]) -> Vec<u8> {
    let prelude = [(16 + payload.len() as u32).to_be_bytes(), [0; 4]].concat();
    let head = [&prelude[..], &crc32fast::hash(&prelude).to_be_bytes()].concat();
    let message = [&head[..], payload].concat();
    let crc = crc32fast::hash(&message).to_be_bytes();
    [message, crc.to_vec()].concat()
}

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// The promises of [`divergence::Output`].
fn sound(decoded: &Decoded) {
    assert!(!decoded.outputs.is_empty() || decoded.tree.is_some(), "an answer without outputs is no answer");
    assert!(decoded.outputs.is_sorted_by(|one, other| one.name <= other.name), "outputs are sorted");
    for output in &decoded.outputs {
        let found = if output.dtype == DType::Bytes { output.text.len() } else { output.values.len() };
        let needed = output.shape.iter().try_fold(1_u64, |product, size| product.checked_mul(*size));
        assert_eq!(needed, Some(found as u64), "the shape of {} gives its elements", output.name);
        assert!(output.dtype == DType::Bytes || output.text.is_empty(), "numbers have no text");
        assert!(
            output.exact.as_ref().is_none_or(|exact| exact.len() == output.values.len()),
            "all exact or none"
        );
        assert!(output.keys.is_empty() || output.keys.len() == found, "a key for each element or none");
        assert!(output.nulls <= found, "nulls are elements");
    }
}

/// Compares the answer with itself, and with what a changed byte makes of it.
fn comparing(capture: &Capture) -> bool {
    let rules = Rules::default();
    let Ok(decoded) = decode(&capture.answer(), &rules) else { return false };
    let same = compare(Side::Outputs(&decoded), Side::Outputs(&decoded), &rules);
    let equal = matches!(same.class, Class::BitEqual | Class::Incomparable);
    assert!(equal, "an answer is equal to itself: {:?} {}", same.class, same.detail);
    let mut other = capture.clone();
    let middle = other.body.len() / 2;
    if let Some(byte) = other.body.get_mut(middle) {
        *byte ^= 1;
    }
    if let Ok(other) = decode(&other.answer(), &rules) {
        let there = compare(Side::Outputs(&decoded), Side::Outputs(&other), &rules);
        let back = compare(Side::Outputs(&other), Side::Outputs(&decoded), &rules);
        assert_eq!(there.bit_equal, back.bit_equal, "equality has no direction");
    }
    true
}

/// Answers of protocols that no capture is of.
pub(crate) fn seeds() -> Vec<Capture> {
    let of = |path: &str, media_type: &str, body: &[u8]| Capture {
        path: path.to_owned(),
        status: 200,
        headers: vec![("content-type".to_owned(), media_type.to_owned())],
        body: body.to_vec(),
        ..Capture::default()
    };
    let json = "application/json";
    vec![
        of("/v1/models/m:predict", json, br#"{"predictions":[{"p":[0.1,0.9],"c":"b","b":{"b64":"AA=="}},{"p":[0.8,0.2],"c":"a","b":{"b64":"AQ=="}}]}"#),
        of("/v1/models/m:classify", json, br#"{"result":[[["a",0.75],["b",0.25]],[["c",1.0]]]}"#),
        of("/v1/models/m:regress", json, br#"{"results":[0.5,0,1e-3]}"#),
        of("/api/v1.0/predictions", json, br#"{"data":{"names":["a","b"],"ndarray":[[0.25,0.75],[1,0]]},"meta":{"puid":"x"}}"#),
        of("/api/v1.0/predictions", json, br#"{"data":{"names":["p"],"tensor":{"shape":[2,1],"values":[0.5,1]}}}"#),
        of("/seldon.protos.Seldon/Predict", "application/grpc", b"\0\0\0\0\x1a\x1a\x18\x12\x16\x0a\x02\x02\x01\x12\x10\0\0\0\0\0\0\xe0\x3f\0\0\0\0\0\0\xf0\x3f"),
        of("/tensorflow.serving.PredictionService/Predict", "application/grpc", b"\0\0\0\0\x19\x0a\x17\x0a\x01\x79\x12\x12\x08\x01\x12\x04\x12\x02\x08\x02\x2a\x08\0\0\0\x3f\0\0\x80\x3f"),
        of("/tensorflow.serving.PredictionService/Predict", "application/grpc", b"\0\0\0\0\x16\x0a\x14\x0a\x01\x79\x12\x0f\x08\x07\x12\x04\x12\x02\x08\x02\x42\x01a\x42\x02bc"),
        of("/generate", json, br#"{"generated_text":"a b","details":{"finish_reason":"length","generated_tokens":2,"tokens":[{"id":5,"text":"a","logprob":-0.5,"special":false},{"id":6,"text":" b","logprob":-1,"special":false}]}}"#),
        of("/generate_stream", "text/event-stream", b"data:{\"index\":1,\"token\":{\"id\":5,\"text\":\"a\",\"logprob\":-0.5,\"special\":false},\"generated_text\":null}\n\ndata:{\"index\":2,\"token\":{\"id\":6,\"text\":\"b\",\"logprob\":-1,\"special\":false},\"generated_text\":\"ab\"}\n\n"),
        of("/invocations", "text/csv", b"label,score\n\"a,b\",0.5\nc,1\n"),
        of("/invocations", "text/csv", b"0.5,0.25\r\n1,nan"),
        of("/predictions/m", "text/plain", b"setosa\n"),
        of("/predict", json, br#"{"score":0.5,"labels":["a","b"],"nested":{"x":[1,2,{"y":null}]}}"#),
        of("/predict", json, b"[[0.5,0.25],[0.125,1e-3]]"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_decodes_and_every_target_has_captures() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../divergence/tests/captures");
        let corpus = crate::capture::corpus(folder.as_ref()).unwrap();
        for seed in seeds() {
            let decoded = decode(&seed.answer(), &Rules::default());
            assert!(decoded.is_ok(), "{}: {decoded:?}", seed.path);
        }
        for target in TARGETS {
            assert!(corpus.iter().any(|capture| target.takes(capture)), "{}", target.name);
        }
    }

    #[test]
    fn equal_seeds_give_equal_inputs() {
        let seeds = seeds();
        let corpus: Vec<&Capture> = seeds.iter().collect();
        let inputs = |seed| {
            let mut random = crate::random::Random::new(seed);
            (0..100).map(|_| crate::mutate::mutated(&corpus, &mut random).text()).collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
    }
}
