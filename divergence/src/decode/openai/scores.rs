//! Scores of pairs (`data[] {index, score}`, vLLM's `/score`) and reranked documents (`results[] {index, relevance_score}`, or a bare
//! list of `{index, score}`). A reranked list is sorted by score, so its documents are paired by their index.

use super::decoded;
use crate::decode::fault::{Fault, Undecodable};
use crate::decode::parts::Parts;
use crate::decode::{Decoded, MAX_VALUES, Protocol, tensor};
use crate::{Json, Kind};

/// Takes `data[]` whose items have a `score`.
pub(in crate::decode) fn read_scores(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    let items = parts.field("data")?.as_array()?;
    items.first()?.field("score")?;
    Some(decode(parts, Protocol::Scores, items, "score", Kind::Tensor))
}

/// Takes `results[]` whose items have a `relevance_score`, and answers of `/rerank` that are a list.
pub(in crate::decode) fn read_rerank(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    let results = parts.field("results").and_then(Json::as_array);
    if let Some(items) =
        results.filter(|items| items.first().is_some_and(|item| item.field("relevance_score").is_some()))
    {
        return Some(decode(parts, Protocol::Rerank, items, "relevance_score", Kind::Ranking));
    }
    if !parts.ends_with("/rerank") {
        return None;
    }
    match parts.json().ok()?.as_array() {
        Some(items) => Some(decode(parts, Protocol::Rerank, items, "score", Kind::Ranking)),
        None => Some(Err(parts.without_outputs())),
    }
}

fn decode(
    parts: &Parts<'_>,
    protocol: Protocol,
    items: &[Json<'_>],
    field: &'static str,
    kind: Kind,
) -> Result<Decoded, Undecodable> {
    let mut rows = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let score = item.field(field).ok_or_else(|| Undecodable::output(field, Fault::Field(field)))?;
        rows.push((item.field("index").and_then(Json::as_u64).unwrap_or(place as u64), score));
    }
    if rows.len() > MAX_VALUES {
        return Err(Undecodable::TooMany { what: "elements", limit: MAX_VALUES });
    }
    rows.sort_by_key(|(index, _)| *index);
    let scores: Vec<&Json<'_>> = rows.iter().map(|(_, score)| *score).collect();
    let mut output = tensor::undeclared(field, &scores, true)?;
    output.kind = kind;
    if kind == Kind::Ranking && output.values.len() == rows.len() {
        output.keys = rows.iter().map(|(index, _)| index.to_string()).collect();
    }
    let document = parts.json()?;
    let answer = decoded(parts, protocol, std::slice::from_ref(document));
    Ok(Decoded { outputs: vec![output], ..answer })
}
