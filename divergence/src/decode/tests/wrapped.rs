//! Answers within answers, and answers of a protocol that only a rule knows.

use super::wire::{bytes, framed, number};
use super::*;

const TORCH: &str = "/org.pytorch.serve.grpc.inference.InferenceAPIsService/Predictions";

fn torch(predictions: &[&str]) -> Result<Decoded, Undecodable> {
    let body: Vec<u8> = predictions.iter().flat_map(|text| framed(&bytes(1, text.as_bytes()))).collect();
    read(TORCH, &[("content-type", "application/grpc")], &body, &Rules::default())
}

#[test]
fn a_prediction_of_torchserve_is_read_as_what_it_holds() {
    let numbers = torch(&["[[0.5, 0.25]]"]).unwrap();
    assert_eq!((numbers.protocol, &numbers.outputs[0].values[..]), (Protocol::Json, &[0.5, 0.25][..]));
    let tree = torch(&[r#"{"tabby": 0.5, "tiger": 0.25}"#]).unwrap();
    assert!(tree.tree.is_some());
    let text = torch(&["hello ", "world"]).unwrap();
    assert_eq!((text.protocol, text.outputs[0].text[0].as_str()), (Protocol::Text, "hello world"));
    let several = torch(&["[0.5]", "[0.25]"]).unwrap();
    assert_eq!(several.outputs[0].shape, [2, 1]);
    let status = bytes(3, &[number(1, 13), bytes(2, b"no worker")].concat());
    let failed = read(TORCH, &[("content-type", "application/grpc")], &framed(&status), &Rules::default());
    assert_eq!(failed, Err(Undecodable::InMessage("no worker".into())));
    assert_eq!(torch(&[]), Err(Undecodable::Empty));
}

/// A message of an event stream.
fn event(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let head: Vec<u8> = headers
        .iter()
        .flat_map(|(name, value)| {
            let length = u16::try_from(value.len()).unwrap().to_be_bytes();
            [&[name.len() as u8], name.as_bytes(), &[7], &length, value.as_bytes()].concat()
        })
        .collect();
    let total = u32::try_from(16 + head.len() + payload.len()).unwrap();
    let prelude = [total.to_be_bytes(), (head.len() as u32).to_be_bytes()].concat();
    let crc = crc32fast::hash(&prelude).to_be_bytes();
    let message = [&prelude[..], &crc, &head, payload].concat();
    let crc = crc32fast::hash(&message).to_be_bytes();
    [message, crc.to_vec()].concat()
}

fn part(payload: &[u8]) -> Vec<u8> {
    event(&[(":message-type", "event"), (":event-type", "PayloadPart")], payload)
}

fn sagemaker(body: &[u8]) -> Result<Decoded, Undecodable> {
    let headers = [
        ("content-type", "application/vnd.amazon.eventstream"),
        ("X-Amzn-SageMaker-Content-Type", "application/json"),
    ];
    read("/endpoints/e/invocations-response-stream", &headers, body, &Rules::default())
}

#[test]
fn the_parts_of_an_event_stream_are_one_answer_wherever_they_are_cut() {
    let whole = br#"{"predictions":[0.5,0.25]}"#;
    let wanted = plain("/invocations", std::str::from_utf8(whole).unwrap()).unwrap();
    for cut in 0..whole.len() {
        let body = [part(&whole[..cut]), part(b""), part(&whole[cut..])].concat();
        assert_eq!(sagemaker(&body).as_ref(), Ok(&wanted), "{cut}");
    }
    let events = [
        part(b"data: {\"choices\":[{\"del"),
        part(b"ta\":{\"content\":\"a\"}}],\"object\":\"chat.completion.chunk\"}\n\n"),
    ];
    assert_eq!(sagemaker(&events.concat()).unwrap().protocol, Protocol::OpenAiChat);
}

#[test]
fn an_event_stream_that_is_broken_or_says_it_failed_is_named() {
    let good = part(b"[0.5]");
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        assert_eq!(sagemaker(&bad), Err(Undecodable::Corrupt("event stream")), "{at}");
        if at > 0 {
            assert_eq!(sagemaker(&good[..at]), Err(Undecodable::Corrupt("event stream")), "{at}");
        }
    }
    let failed = event(&[(":message-type", "exception"), (":exception-type", "ModelStreamError")], b"{}");
    let found = sagemaker(&[good, failed].concat());
    assert_eq!(found, Err(Undecodable::InMessage("ModelStreamError".into())));
}

fn forced(protocol: &str) -> Rules {
    toml::from_str(&format!(
        "[[protocols]]\nrequest_path = \"/\"\nprotocol = \"text\"\n[[protocols]]\nrequest_path = \"/score\"\nprotocol = \"{protocol}\""
    ))
    .unwrap()
}

#[test]
fn a_rule_says_of_which_protocol_the_answers_of_a_path_are() {
    let of = |protocol: &str, body: &str| read("/score/x", &[], body.as_bytes(), &forced(protocol));
    let outputs = r#"{"outputs":[0.5,0.25]}"#;
    // By itself, a list of `outputs` is taken for the description of a model.
    assert!(plain("/score/x", outputs).unwrap().tree.is_some());
    let row = of("v1_predictions", outputs).unwrap();
    assert_eq!((row.protocol, &row.outputs[0].values[..]), (Protocol::V1Predictions, &[0.5, 0.25][..]));
    let predictions = r#"{"predictions":[0.5]}"#;
    assert!(of("json", predictions).unwrap().tree.is_some());
    assert_eq!(of("text", predictions).unwrap().outputs[0].text, [predictions]);
    assert_eq!(of("csv", "1.5,2.5").unwrap().outputs[0].values, [1.5, 2.5]);
    let chat = r#"{"choices":[{"message":{"content":"a"}}]}"#;
    assert_eq!(of("openai_chat", chat).unwrap().protocol, Protocol::OpenAiChat);
    let v2 = r#"{"outputs":[{"name":"a","datatype":"FP32","shape":[1],"data":[1]}]}"#;
    assert_eq!(of("v2_json", v2).unwrap().protocol, Protocol::V2Json);
    assert_eq!(of("tgi", predictions), Err(Undecodable::NotOf("tgi")));
    assert!(of("v2_json", "{cut").is_err());
    // A shorter prefix holds for the rest.
    let other = read("/other", &[], predictions.as_bytes(), &forced("json")).unwrap();
    assert_eq!(other.protocol, Protocol::Text);
}

#[test]
fn every_protocol_that_a_rule_can_name_has_a_reader() {
    for protocol in Protocol::NAMED {
        let readers = READERS.iter().filter(|(of, _)| *of == protocol).count();
        assert!(readers > 0 || protocol == Protocol::Json, "{protocol:?}");
        let rules = forced(protocol.as_str());
        assert_eq!(rules.protocol("/score"), Some(protocol));
    }
    let unknown = "[[protocols]]\nrequest_path = \"/\"\nprotocol = \"v3\"";
    let error = toml::from_str::<Rules>(unknown).unwrap_err().to_string();
    assert!(error.contains("protocol `v3` is not known: give one of v2_json, v2_grpc"), "{error}");
}
