//! Generated text, embeddings and rankings in OpenAI's forms and TGI's; whole and as streams.

use super::*;
use crate::Kind;

const CHAT: &str = "/v1/chat/completions";

fn named<'d>(decoded: &'d Decoded, name: &str) -> &'d Output {
    let found = decoded.outputs.iter().find(|output| output.name == name);
    found.unwrap_or_else(|| panic!("no output {name} in {:?}", decoded.outputs))
}

fn text<'d>(decoded: &'d Decoded, name: &str) -> &'d str {
    &named(decoded, name).text[0]
}

/// An event stream of those documents.
fn stream(events: &[&str]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

#[test]
fn a_streamed_chat_says_what_the_whole_one_says() {
    let whole = r#"{"object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ab"},
        "logprobs":{"content":[{"token":"a","logprob":-0.5,"top_logprobs":[{"token":"a","logprob":-0.5},{"token":"x","logprob":-1.5}]},
        {"token":"b","logprob":-0.25,"top_logprobs":[{"token":"b","logprob":-0.25}]}]},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
    let chunks = stream(&[
        r#"{"object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":-0.5,"top_logprobs":[{"token":"a","logprob":-0.5},{"token":"x","logprob":-1.5}]}]}}],"usage":null}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"b"},"logprobs":{"content":[{"token":"b","logprob":-0.25,"top_logprobs":[{"token":"b","logprob":-0.25}]}]},"finish_reason":"stop"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
        "[DONE]",
        "what comes after the end is not read",
    ]);
    let one = plain(CHAT, whole).unwrap();
    assert_eq!(plain(CHAT, &chunks).unwrap(), one);
    assert_eq!(
        (one.protocol, text(&one, "text"), text(&one, "finish_reason")),
        (Protocol::OpenAiChat, "ab", "stop")
    );
    assert_eq!(named(&one, "tokens").text, ["a", "b"]);
    assert_eq!(named(&one, "logprobs").values, [-0.5, -0.25]);
    let tops = named(&one, "top_logprobs");
    assert_eq!((&tops.shape[..], tops.kind), (&[2, 2][..], Kind::Logprobs));
    assert_eq!(tops.keys, ["a", "x", "b", ""]);
    assert_eq!(tops.values, [-0.5, -1.5, -0.25, f64::NEG_INFINITY]);
    assert_eq!(
        (named(&one, "completion_tokens").values[0], named(&one, "prompt_tokens").values[0]),
        (2.0, 3.0)
    );
}

#[test]
fn where_a_stream_is_cut_and_what_ends_its_lines_does_not_matter() {
    let event = r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"é"}}]}"#;
    let expected = plain(CHAT, &stream(&[event, event, "[DONE]"])).unwrap();
    assert_eq!(text(&expected, "text"), "éé");
    let crlf = format!(": ping\r\n\r\ndata:{event}\r\n\r\nid: 1\r\ndata:{event}\r\n\r\n");
    assert_eq!(plain(CHAT, &crlf).unwrap(), expected);
    let lines = event.replace(",\"choices\"", "\ndata: ,\"choices\"");
    assert_eq!(plain(CHAT, &stream(&[&lines, &lines])).unwrap(), expected);
    assert_eq!(plain(CHAT, format!("data: {event}\n\ndata: {event}").as_str()).unwrap(), expected);
}

#[test]
fn several_choices_interleave_and_are_told_apart_by_name() {
    let chunk = |index: u32, text: &str| format!(r#"{{"choices":[{{"index":{index},"text":"{text}"}}]}}"#);
    let chunks = [chunk(1, "x"), chunk(0, "a"), chunk(1, "y"), chunk(0, "b")];
    let found = plain("/v1/completions", &stream(&chunks.each_ref().map(String::as_str))).unwrap();
    assert_eq!((text(&found, "text"), text(&found, "text[1]")), ("ab", "xy"));
    let far = plain("/v1/completions", &chunk(128, "x"));
    assert_eq!(far, Err(Undecodable::TooMany { what: "choices", limit: 128 }));
}

#[test]
fn calls_of_tools_and_thoughts_come_in_pieces_too() {
    let chunks = stream(&[
        r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get","arguments":""}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}]}"#,
    ]);
    let found = plain(CHAT, &chunks).unwrap();
    assert_eq!((text(&found, "tool_calls"), text(&found, "reasoning")), (r#"get({"a":1})"#, "hm"));
    assert_eq!(text(&found, "text"), "");
}

#[test]
fn an_error_among_chunks_stands_beside_the_text_and_alone_is_the_reason() {
    let error = r#"{"error":{"message":"out of memory","code":500}}"#;
    assert_eq!(plain(CHAT, &stream(&[error])), Err(Undecodable::ErrorBody));
    let found =
        plain(CHAT, &stream(&[r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#, error])).unwrap();
    assert_eq!((text(&found, "text"), text(&found, "error_message")), ("a", "out of memory"));
    assert!(reason(plain(CHAT, "data: {\n\n")).starts_with("not json: "));
    assert_eq!(plain(CHAT, r#"{"object":"chat.completion","choices":[]}"#), Err(Undecodable::NoOutputs));
}

#[test]
fn responses_are_read_whole_from_their_last_event_or_from_their_pieces() {
    let response = r#"{"object":"response","model":"m","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},
        "output":[{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}]},
        {"type":"message","content":[{"type":"output_text","text":"ab","logprobs":[{"token":"ab","logprob":-0.5}]}]},
        {"type":"function_call","name":"f","arguments":"{}"}],"usage":{"input_tokens":4,"output_tokens":1}}"#;
    let whole = plain("/v1/responses", response).unwrap();
    assert_eq!((text(&whole, "text"), text(&whole, "reasoning")), ("ab", "hm"));
    assert_eq!((text(&whole, "finish_reason"), text(&whole, "tool_calls")), ("max_output_tokens", "f({})"));
    assert_eq!((named(&whole, "logprobs").values[0], named(&whole, "prompt_tokens").values[0]), (-0.5, 4.0));
    let delta = r#"{"type":"response.output_text.delta","delta":"ab"}"#;
    let last = format!(r#"{{"type":"response.incomplete","response":{}}}"#, response.replace('\n', ""));
    assert_eq!(plain("/v1/responses", &stream(&[delta, &last])).unwrap(), whole);
    assert_eq!(text(&plain("/v1/responses", &stream(&[delta, delta])).unwrap(), "text"), "abab");
}

#[test]
fn embeddings_are_the_same_as_a_list_and_as_base64_and_go_by_index() {
    let list = r#"{"object":"list","data":[{"object":"embedding","index":1,"embedding":[0.5,-2]},{"index":0,"embedding":[0.1,1]}]}"#;
    let base64 =
        r#"{"data":[{"index":0,"embedding":"zczMPQAAgD8="},{"index":1,"embedding":"AAAAPwAAAMA="}]}"#;
    let (one, other) = (plain("/v1/embeddings", list).unwrap(), plain("/v1/embeddings", base64).unwrap());
    let found = &one.outputs[0];
    assert_eq!((found.kind, found.dtype, &found.shape[..]), (Kind::Embedding, DType::Fp32, &[2, 2][..]));
    assert_eq!(found.values, [0.1_f32.into(), 1.0, 0.5, -2.0]);
    assert_eq!((&other.outputs[0].values, &other.outputs[0].shape), (&found.values, &found.shape));
    let single = plain("/v1/embeddings", r#"{"data":[{"embedding":[1,2,3]}]}"#).unwrap();
    assert_eq!(single.outputs[0].shape, [1, 3]);
    let broken = plain("/v1/embeddings", r#"{"data":[{"embedding":"%"}]}"#);
    assert_eq!(broken, Err(Undecodable::Corrupt("base64")));
    assert_eq!(plain("/v1/embeddings", r#"{"data":[]}"#), Err(Undecodable::NoOutputs));
}

#[test]
fn reranked_documents_are_paired_by_their_index() {
    let sorted = r#"{"results":[{"index":2,"relevance_score":0.9},{"index":0,"relevance_score":0.1}]}"#;
    let found = plain("/v1/rerank", sorted).unwrap().outputs.remove(0);
    assert_eq!((found.kind, &found.values[..]), (Kind::Ranking, &[0.1, 0.9][..]));
    assert_eq!(found.keys, ["0", "2"]);
    let bare = plain("/rerank", r#"[{"index":1,"score":0.5},{"index":0,"score":0.25}]"#).unwrap();
    assert_eq!((bare.protocol, &bare.outputs[0].values[..]), (Protocol::Rerank, &[0.25, 0.5][..]));
    let pairs = plain("/score", r#"{"data":[{"index":0,"score":0.5},{"index":1,"score":null}]}"#).unwrap();
    assert_eq!((pairs.protocol, pairs.outputs[0].nulls), (Protocol::Scores, 1));
}

#[test]
fn tgi_is_read_whole_in_a_list_and_as_a_stream() {
    let whole = r#"{"generated_text":"a b","details":{"finish_reason":"length","generated_tokens":2,"seed":1,
        "tokens":[{"id":5,"text":"a","logprob":-0.5,"special":false},{"id":6,"text":" b","logprob":-1,"special":false}]}}"#;
    let one = plain("/generate", whole).unwrap();
    assert_eq!(
        (one.protocol, text(&one, "text"), text(&one, "finish_reason")),
        (Protocol::Tgi, "a b", "length")
    );
    assert_eq!(
        (&named(&one, "token_ids").values[..], &named(&one, "logprobs").values[..]),
        (&[5.0, 6.0][..], &[-0.5, -1.0][..])
    );
    assert_eq!(plain("/", &format!("[{whole}]")).unwrap(), one);
    let events = stream(&[
        r#"{"index":1,"token":{"id":5,"text":"a","logprob":-0.5,"special":false},"generated_text":null,"details":null}"#,
        r#"{"index":2,"token":{"id":6,"text":" b","logprob":-1,"special":false},"generated_text":"a b","details":{"finish_reason":"length","generated_tokens":2}}"#,
    ]);
    assert_eq!(plain("/generate_stream", &events.replace("data: ", "data:")).unwrap(), one);
}

#[test]
fn tgi_lists_the_best_tokens_at_each_place() {
    let top = r#"[{"id":1,"text":"a","logprob":-0.5,"special":false},{"id":2,"text":"b","logprob":-1.5,"special":false}]"#;
    let token = r#"{"id":1,"text":"a","logprob":-0.5,"special":false}"#;
    let whole = format!(
        r#"{{"generated_text":"aa","details":{{"finish_reason":"length","tokens":[{token},{token}],"top_tokens":[{top},[]]}}}}"#
    );
    let streamed = stream(&[
        &format!(r#"{{"token":{token},"top_tokens":{top}}}"#),
        &format!(
            r#"{{"token":{token},"top_tokens":[],"generated_text":"aa","details":{{"finish_reason":"length"}}}}"#
        ),
    ]);
    for body in [whole, streamed] {
        let found = plain("/generate_stream", &body).unwrap();
        let top = named(&found, "top_logprobs");
        assert_eq!((&top.shape[..], top.keys.join(",")), (&[2, 2][..], "a,b,,".to_owned()));
        assert_eq!(top.values, [-0.5, -1.5, f64::NEG_INFINITY, f64::NEG_INFINITY]);
    }
}

#[test]
fn triton_generates_an_output_per_field_and_joins_text() {
    let path = "/v2/models/m/generate_stream";
    let events = stream(&[
        r#"{"model_name":"m","model_version":"2","text_output":"a","score":0.5}"#,
        r#"{"model_name":"m","model_version":"2","text_output":"b","score":1}"#,
    ]);
    let found = plain(path, &events).unwrap();
    assert_eq!((found.model.as_deref(), found.model_version.as_deref()), (Some("m"), Some("2")));
    assert_eq!((text(&found, "text_output"), &named(&found, "score").values[..]), ("ab", &[0.5, 1.0][..]));
    assert_eq!(plain(path, &stream(&[r#"{"error":"no"}"#])), Err(Undecodable::ErrorBody));
}
