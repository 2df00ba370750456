//! What comparing costs beside a copy of the tensor: answers that are equal, that differ by noise, and that are wrong everywhere; and the
//! signature. `cargo bench -p divergence --bench compare`; read the ratio to the first line of each group.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use divergence::{DType, Decoded, Output, Protocol, Rules, Side, compare, signature};

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

criterion_group!(benches, comparing);
criterion_main!(benches);
