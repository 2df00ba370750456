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
        // Of an event stream, every event is searched: what they have is one output, in their order.
        let trees = parts.documents()?;
        let plain: Vec<_> = trees.iter().map(json::to_serde).collect();
        let mut outputs = Vec::new();
        for output in wanted {
            let found = trees.iter().zip(&plain).flat_map(|(tree, plain)| output.path.select(tree, plain));
            let nodes: Vec<_> = found.collect();
            // One missing output of several is a difference of structure, for the comparison to find.
            if !nodes.is_empty() {
                outputs.push(tensor::undeclared(&output.name, &nodes, nodes.len() > 1)?);
            }
        }
        if outputs.is_empty() {
            return Err(match trees.iter().find_map(json::error) {
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
