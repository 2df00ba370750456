//! Any JSON answer, by the paths of the rules.

use serde_json::Value;

use super::fault::Undecodable;
use super::parts::Parts;
use super::{Decoded, Protocol, json, names, tensor};
use crate::{JsonOutput, Rules};

/// Marks text that stands for a number JSON has no form for.
const MARK: char = '\0';

/// Takes answers to request paths that have paths configured.
pub(super) fn read(parts: &Parts<'_>, rules: &Rules) -> Option<Result<Decoded, Undecodable>> {
    let mut wanted = rules
        .json_paths
        .iter()
        .filter(|output| output.request_path.as_deref().is_none_or(|prefix| parts.path.starts_with(prefix)))
        .peekable();
    let first: &JsonOutput = wanted.peek()?;
    let decode = || {
        let value = json::to_serde(parts.json()?);
        let mut outputs = Vec::new();
        for output in wanted {
            let nodes = output.path.select(&value);
            // One missing output of several is a difference of structure, for the comparison to find.
            if !nodes.is_empty() {
                outputs.push(tensor::undeclared(&output.name, &nodes, nodes.len() > 1)?);
            }
        }
        if outputs.is_empty() {
            return Err(match value.get("error") {
                Some(_) => Undecodable::ErrorBody,
                None => {
                    Undecodable::NoMatch { name: first.name.clone(), path: first.path.as_str().to_owned() }
                }
            });
        }
        let model = names::model(parts.path);
        Ok(Decoded { protocol: Protocol::JsonPath, model, model_version: None, outputs, tree: None })
    };
    Some(decode())
}

/// A number as `serde_json` holds it: as marked text when it is not finite.
pub(super) fn marked(value: f64) -> Value {
    match serde_json::Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None => Value::String(format!("{MARK}{value}")),
    }
}

/// The number that marked text stands for.
pub(super) fn unmarked(text: &str) -> Option<f64> {
    text.strip_prefix(MARK)?.parse().ok()
}
