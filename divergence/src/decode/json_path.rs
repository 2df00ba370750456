//! Any JSON answer, by the paths of the rules.

use super::fault::Undecodable;
use super::parts::Parts;
use super::{Decoded, Protocol, json, names, tensor};
use crate::{JsonOutput, Rules};

/// Takes answers to request paths that have paths configured.
pub(super) fn read(parts: &Parts<'_>, rules: &Rules) -> Option<Result<Decoded, Undecodable>> {
    let mut wanted = rules
        .json_paths
        .iter()
        .filter(|output| output.request_path.as_deref().is_none_or(|prefix| parts.path.starts_with(prefix)))
        .peekable();
    let first: &JsonOutput = wanted.peek()?;
    let decode = || {
        let tree = parts.json()?;
        let plain = json::to_serde(tree);
        let mut outputs = Vec::new();
        for output in wanted {
            let nodes = output.path.select(tree, &plain);
            // One missing output of several is a difference of structure, for the comparison to find.
            if !nodes.is_empty() {
                outputs.push(tensor::undeclared(&output.name, &nodes, nodes.len() > 1)?);
            }
        }
        if outputs.is_empty() {
            return Err(match tree.field("error") {
                Some(_) => Undecodable::ErrorBody,
                None => {
                    Undecodable::NoMatch { name: first.name.clone(), path: first.path.as_str().to_owned() }
                }
            });
        }
        Ok(Decoded { model: names::model(parts.path), ..Decoded::of(Protocol::JsonPath, outputs) })
    };
    Some(decode())
}
