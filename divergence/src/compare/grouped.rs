//! Rankings that an answer gives as two outputs: ids, best first, and their scores.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::structure::{Pair, matched};
use crate::decode::{shape_text, shortened};
use crate::{DType, Decoded, Kind, Output, RankingRule, Rules};

/// The names of the outputs that rankings and detections take.
pub(super) fn taken(rules: &Rules) -> BTreeSet<&str> {
    let rankings = rules.rankings.iter().flat_map(|rule| [Some(rule.ids.as_str()), rule.scores.as_deref()]);
    let detections = rules
        .detections
        .iter()
        .flat_map(|rule| [Some(rule.boxes.as_str()), Some(rule.scores.as_str()), rule.classes.as_deref()]);
    rankings.chain(detections).flatten().collect()
}

/// The rankings of both answers, row by row.
///
/// # Errors
/// When a side lacks an output, or ids and scores do not fit together; as a detail.
pub(super) fn rankings(
    primary: &Decoded,
    shadow: &Decoded,
    rules: &Rules,
) -> Result<Vec<Pair<'static>>, String> {
    let mut pairs = Vec::new();
    let declared = primary.protocol.declares_types() && shadow.protocol.declares_types();
    for rule in rules.rankings.iter().filter(|rule| rules.compares(&rule.ids)) {
        let (one, other) = match (rows(rule, primary)?, rows(rule, shadow)?) {
            (None, None) => continue,
            (Some(one), Some(other)) => (one, other),
            (Some(_), None) => return Err(format!("missing:{}", shortened(&rule.ids))),
            (None, Some(_)) => return Err(format!("extra:{}", shortened(&rule.ids))),
        };
        if one.len() != other.len() {
            return Err(format!("shape:{} {}/{} rows", shortened(&rule.ids), one.len(), other.len()));
        }
        for (row, (one, other)) in one.iter().zip(&other).enumerate() {
            let mut pair = matched(one, other, declared, rules)?;
            pair.kind = Kind::Ranking;
            let at_row = (one.shape.len() > 1).then_some(row as u64);
            pairs.push(Pair { at_row, ..pair.with(one.clone(), other.clone()) });
        }
    }
    Ok(pairs)
}

/// One keyed output for each row; `None` when the answer has neither ids nor scores.
fn rows(rule: &RankingRule, answer: &Decoded) -> Result<Option<Vec<Output>>, String> {
    let named = |name: &str| answer.outputs.iter().find(|output| output.name == name);
    let scores = rule.scores.as_deref().map(named);
    let (ids, scores) = match (named(&rule.ids), scores) {
        (None, None | Some(None)) => return Ok(None),
        (Some(ids), None) => (ids, None),
        (Some(ids), Some(Some(scores))) => (ids, Some(scores)),
        (None, _) => return Err(format!("missing:{} beside its scores", shortened(&rule.ids))),
        (_, Some(None)) => {
            return Err(format!(
                "missing:{} beside its ids",
                shortened(rule.scores.as_deref().unwrap_or_default())
            ));
        }
    };
    let keys = keys(ids);
    if scores.is_some_and(|scores| scores.values.len() != keys.len()) {
        return Err(format!("shape:{} {}", shortened(&rule.ids), shape_text(&ids.shape)));
    }
    let width = match ids.shape.len() {
        0 | 1 => keys.len(),
        _ => ids.shape.last().and_then(|last| usize::try_from(*last).ok()).unwrap_or(0),
    };
    let name = scores.map_or(&ids.name, |scores| &scores.name);
    let dtype = scores.map_or(DType::Int64, |scores| scores.dtype);
    let row = |(number, keys): (usize, &[Cow<'_, str>])| Output {
        kind: Kind::Ranking,
        values: scores.map_or_else(Vec::new, |scores| {
            scores.values[number * width..number * width + keys.len()].to_vec()
        }),
        keys: keys.iter().map(|key| key.clone().into_owned()).collect(),
        printed: scores.and_then(|scores| scores.printed),
        ..Output::new(name.clone(), dtype, ids.shape.clone())
    };
    if keys.is_empty() {
        return Ok(Some(vec![row((0, &[]))]));
    }
    Ok(Some(keys.chunks(width.max(1)).enumerate().map(row).collect()))
}

/// Ids as text: integers past 2^53 exactly.
fn keys(ids: &Output) -> Vec<Cow<'_, str>> {
    match &ids.exact {
        Some(exact) => exact.iter().map(|id| Cow::Owned(id.to_string())).collect(),
        None if ids.text.is_empty() => ids.values.iter().map(|id| Cow::Owned(id.to_string())).collect(),
        None => ids.text.iter().map(|id| Cow::Borrowed(id.as_str())).collect(),
    }
}
