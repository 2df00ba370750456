//! What decoding costs beside the least anybody could do with the same bytes: `serde_json` into its own tree for JSON, a copy of the
//! tensor for binary. `cargo bench -p divergence --bench decode`; read the ratio of the two lines of each group.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{
    BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use divergence::{Answer, Rules, decode};

/// As the product does it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Headers = Vec<(String, String)>;

/// Scores as a model would give them: no round numbers.
fn scores(count: usize) -> impl Iterator<Item = f32> {
    (1..=count).map(|number| (number as f32).sin().abs())
}

fn v2_json(count: usize) -> Vec<u8> {
    let data: Vec<String> = scores(count).map(|score| f64::from(score).to_string()).collect();
    format!(
        r#"{{"model_name":"m","model_version":"1","outputs":[{{"name":"SCORE","datatype":"FP32","shape":[1,{count}],"data":[{}]}}]}}"#,
        data.join(",")
    )
    .into_bytes()
}

fn raw(count: usize) -> Vec<u8> {
    scores(count).flat_map(f32::to_le_bytes).collect()
}

fn v2_binary(count: usize) -> (Headers, Vec<u8>) {
    let size = 4 * count;
    let head = format!(
        r#"{{"model_name":"m","model_version":"1","outputs":[{{"name":"SCORE","datatype":"FP32","shape":[1,{count}],"parameters":{{"binary_data_size":{size}}}}}]}}"#
    );
    let length = ("inference-header-content-length".to_owned(), head.len().to_string());
    (vec![length], [head.into_bytes(), raw(count)].concat())
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

fn field(number: usize, value: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(value.len()), value.to_vec()].concat()
}

fn grpc(count: usize) -> Vec<u8> {
    let shape = [varint(1), varint(count)].concat();
    let output = [field(1, b"SCORE"), field(2, b"FP32"), field(3, &shape)].concat();
    let message = [field(1, b"m"), field(5, &output), field(6, &raw(count))].concat();
    let length = u32::try_from(message.len()).expect("a message of some megabytes").to_be_bytes();
    [&[0][..], &length, &message].concat()
}

fn chat(tokens: usize) -> Vec<u8> {
    let mut content = String::new();
    for (index, score) in scores(tokens).enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let logprob = -f64::from(score) * 5.0;
        let _ = write!(
            content,
            r#"{comma}{{"token":" word{index}","logprob":{logprob},"bytes":[32,119,111],"top_logprobs":[{{"token":" word{index}","logprob":{logprob},"bytes":[32]}},{{"token":" other","logprob":{},"bytes":[32]}}]}}"#,
            logprob - 1.0
        );
    }
    format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"some text"}},"logprobs":{{"content":[{content}]}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":9,"completion_tokens":{tokens},"total_tokens":9}}}}"#
    )
    .into_bytes()
}

fn decoding(group: &mut BenchmarkGroup<'_, WallTime>, path: &str, headers: &Headers, body: &[u8]) {
    let rules = Rules::default();
    let answer = Answer::new(path, 200, headers, body);
    assert!(decode(&answer, &rules).is_ok(), "{path} decodes");
    group.bench_function("decode", |bencher| bencher.iter(|| decode(black_box(&answer), &rules)));
}

fn json(criterion: &mut Criterion) {
    for (name, path, body) in [
        ("v2 json, 10 floats", "/v2/models/m/infer", v2_json(10)),
        ("v2 json, 1000 floats", "/v2/models/m/infer", v2_json(1000)),
        ("openai chat, 100 tokens with logprobs", "/v1/chat/completions", chat(100)),
    ] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function("serde_json::from_slice", |bencher| {
            bencher.iter(|| serde_json::from_slice::<serde_json::Value>(black_box(&body)));
        });
        decoding(&mut group, path, &vec![], &body);
        group.finish();
    }
}

fn binary(criterion: &mut Criterion) {
    let (thousand, million) = (v2_binary(1000), v2_binary(1_000_000));
    let over_grpc = vec![("content-type".to_owned(), "application/grpc".to_owned())];
    let infer = "/inference.GRPCInferenceService/ModelInfer";
    for (name, path, headers, body, count) in [
        ("v2 binary, 1000 floats", "/v2/models/m/infer", &thousand.0, &thousand.1, 1000),
        ("v2 binary, 1 M floats", "/v2/models/m/infer", &million.0, &million.1, 1_000_000),
        ("grpc raw, 1000 floats", infer, &over_grpc, &grpc(1000), 1000),
        ("grpc raw, 1 M floats", infer, &over_grpc, &grpc(1_000_000), 1_000_000),
    ] {
        let tensor = raw(count);
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(tensor.len() as u64));
        group
            .bench_function("copy of the tensor", |bencher| bencher.iter(|| black_box(&tensor[..]).to_vec()));
        decoding(&mut group, path, headers, body);
        group.finish();
    }
}

criterion_group!(benches, json, binary);
criterion_main!(benches);
