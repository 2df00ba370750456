//! What comparing costs beside a copy of the tensor: answers that are equal, that differ by noise, and that are wrong everywhere; and the
//! signature. `cargo bench -p divergence --bench compare`; read the ratio to the first line of each group.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use divergence::{Answer, DType, Decoded, Output, Protocol, Rules, Side, compare, decode, signature};

fn answer(shape: &[u64], values: Vec<f64>) -> Decoded {
    let output = Output { values, ..Output::new("SCORE", DType::Fp32, shape.to_vec()) };
    Decoded {
        protocol: Protocol::V2Binary,
        model: None,
        model_version: None,
        outputs: vec![output],
        tree: None,
    }
}

/// As the product does it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Scores as a model would give them, each multiplied by `factor`.
fn scores(count: usize, factor: impl Fn(usize) -> f32) -> Vec<f64> {
    (1..=count).map(|number| f64::from((number as f32).sin().abs() * factor(number))).collect()
}

fn comparing(criterion: &mut Criterion) {
    let rules = Rules::default();
    for (name, shape, count) in [
        ("10 floats", &[1, 10][..], 10),
        ("1000 floats", &[1, 1000], 1000),
        ("1 M floats in one row", &[1, 1_000_000], 1_000_000),
        ("1 M floats in rows of 1000", &[1000, 1000], 1_000_000),
    ] {
        let primary = answer(shape, scores(count, |_| 1.0));
        let tensor: Vec<f32> = primary.outputs[0].values.iter().map(|value| *value as f32).collect();
        let noise = |number: usize| 1.0 + 1e-6 * ((number * 7919 % 13) as f32 - 6.0);
        let mut group = criterion.benchmark_group(name);
        group.sample_size(20);
        group.throughput(Throughput::Elements(count as u64));
        group
            .bench_function("copy of the tensor", |bencher| bencher.iter(|| black_box(&tensor[..]).to_vec()));
        for (what, values) in [
            ("equal", scores(count, |_| 1.0)),
            ("noise", scores(count, noise)),
            ("all wrong", scores(count, |number| (number % 7) as f32)),
        ] {
            let shadow = answer(shape, values);
            group.bench_function(what, |bencher| {
                bencher.iter(|| compare(Side::Outputs(black_box(&primary)), Side::Outputs(&shadow), &rules));
            });
        }
        group.bench_function("signature", |bencher| {
            bencher.iter_batched(|| (), |()| signature(black_box(&primary), &rules), BatchSize::SmallInput);
        });
        group.finish();
    }
}

/// From the bytes of two answers to their divergence: what a recorder does with each exchange of a million scores.
fn reading_and_comparing(criterion: &mut Criterion) {
    let count = 1_000_000;
    let rules = Rules::default();
    let head = format!(
        r#"{{"model_name":"m","outputs":[{{"name":"SCORE","datatype":"FP32","shape":[1000,1000],"parameters":{{"binary_data_size":{}}}}}]}}"#,
        4 * count
    );
    let headers = vec![("inference-header-content-length".to_owned(), head.len().to_string())];
    let body = |factor: &dyn Fn(usize) -> f32| {
        let tensor: Vec<u8> =
            scores(count, factor).into_iter().flat_map(|value| (value as f32).to_le_bytes()).collect();
        [head.as_bytes(), &tensor[..]].concat()
    };
    let decoded = |body: &[u8]| {
        let answer = Answer::new("/v2/models/m/infer", 200, &headers, body);
        decode(&answer, &rules).expect("an answer that decodes")
    };
    let primary = body(&|_| 1.0);
    let mut group = criterion.benchmark_group("two answers of 1 M floats");
    group.sample_size(20);
    group.throughput(Throughput::Elements(count as u64));
    group.bench_function("copy of both tensors", |bencher| {
        bencher.iter(|| (black_box(&primary[..]).to_vec(), black_box(&primary[..]).to_vec()));
    });
    let noise = |number: usize| 1.0 + 1e-6 * ((number * 7919 % 13) as f32 - 6.0);
    for (what, shadow) in [("equal", body(&|_| 1.0)), ("noise", body(&noise))] {
        group.bench_function(format!("decode both and compare, {what}"), |bencher| {
            bencher.iter(|| {
                let (one, other) = (decoded(black_box(&primary)), decoded(black_box(&shadow)));
                compare(Side::Outputs(&one), Side::Outputs(&other), &rules)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, comparing, reading_and_comparing);
criterion_main!(benches);
