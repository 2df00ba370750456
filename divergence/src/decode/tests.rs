use super::*;
use crate::{DType, Json};

mod bounds;
mod free;
mod generated;
mod grpc;
mod hostile;
mod other;
mod request;
mod tensorflow;
mod v2;
mod wire;
mod wrapped;

const INFER: &str = "/v2/models/m/infer";

fn read(path: &str, headers: &[(&str, &str)], body: &[u8], rules: &Rules) -> Result<Decoded, Undecodable> {
    let headers: Vec<_> = headers.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    decode(&Answer::new(path, 200, &headers, body), rules)
}

fn plain(path: &str, body: &str) -> Result<Decoded, Undecodable> {
    read(path, &[], body.as_bytes(), &Rules::default())
}

/// A V2 answer with one output.
fn v2(output: &str) -> Result<Output, Undecodable> {
    let mut decoded = plain(INFER, &format!(r#"{{"model_name":"m","outputs":[{output}]}}"#))?;
    assert_eq!(decoded.protocol, Protocol::V2Json);
    assert_eq!(decoded.outputs.len(), 1);
    Ok(decoded.outputs.remove(0))
}

fn reason(result: Result<impl std::fmt::Debug, Undecodable>) -> String {
    result.unwrap_err().to_string()
}
