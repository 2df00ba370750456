//! Answers captured from real servers, decoded and compared.

mod captures;
mod compared;
mod errors;
mod http;
mod planted;
mod triton;
mod unequal;
mod v1_and_v2;

use divergence::{DType, Decoded, Output, Protocol, Rules, Undecodable};

fn decode(file: &str, path: &str) -> Vec<Result<Decoded, Undecodable>> {
    let rules = Rules::default();
    http::responses(file).iter().map(|response| divergence::decode(&response.answer(path), &rules)).collect()
}

/// The only answer of a file.
fn only(file: &str, path: &str) -> Result<Decoded, Undecodable> {
    let mut all = decode(file, path);
    assert_eq!(all.len(), 1, "{file}");
    all.remove(0)
}

/// Name, type and shape of each output.
fn structure(decoded: &Decoded) -> Vec<(&str, DType, &[u64])> {
    decoded
        .outputs
        .iter()
        .map(|output| (output.name.as_str(), output.dtype, output.shape.as_slice()))
        .collect()
}

fn output<'a>(decoded: &'a Decoded, name: &str) -> &'a Output {
    decoded.outputs.iter().find(|output| output.name == name).expect("an output of that name")
}

fn is(decoded: &Decoded, protocol: Protocol, model: Option<&str>, version: Option<&str>) {
    let found = (decoded.protocol, decoded.model.as_deref(), decoded.model_version.as_deref());
    assert_eq!(found, (protocol, model, version));
}
