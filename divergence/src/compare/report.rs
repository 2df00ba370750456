//! Everything about one pair of answers, for a person who looks at it: every metric of every output, and the tolerance it takes to pass.
//!
//! [`compare()`](super::compare()) is for every exchange of a run and measures what the class and the columns need; this may take longer.

use std::collections::BTreeSet;

use serde::Serialize;

use super::detections::{AGREE, Detections};
use super::elements::Elements;
use super::generation;
use super::ranking::Ranked;
use super::structure::Pair;
use super::{Measures, paired};
use crate::decode::shape_text;
use crate::metric::detection::Matched;
use crate::metric::direction::{Direction, direction};
use crate::metric::distribution::{Distribution, distribution};
use crate::metric::error::{self, Spread};
use crate::metric::probability::{self, Distances};
use crate::metric::text::Sequences;
use crate::metric::{decision, image, ndcg, order, overlap, quantile, rbo, relative, ulp};
use crate::{DType, Decoded, Kind, Rules};

/// Everything about one output, or one group of them. What nothing defines is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct OutputReport {
    /// Name of the output.
    pub name: String,
    /// What its elements are.
    pub kind: &'static str,
    /// Type it is compared at.
    pub dtype: &'static str,
    /// Shape on the primary, as in `2x3`.
    pub shape: String,
    /// Number of elements that both have.
    pub elements: usize,
    /// Relative tolerance in force.
    pub rtol: f64,
    /// Absolute tolerance in force.
    pub atol: f64,
    /// Elements beyond tolerance.
    pub beyond: usize,
    /// The element with the most tolerance units; of text, the first that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<Worst>,
    /// Metrics of numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<Numbers>,
    /// The tolerance that would let every element pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<Needed>,
    /// Rows whose largest element moved, at most 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flips: Vec<RowFlip>,
    /// Metrics of orders, of the row (or ranking) that agrees least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Distances of rows of probabilities, of the row that is furthest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probabilities: Option<Distances>,
    /// Distances of the two samples whatever their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Distribution>,
    /// Metrics of pictures and masks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// Metrics of texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Sequences>,
    /// Boxes matched at an overlap of the rule's, and of 0.9.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub boxes: Vec<Matched>,
}

/// One element of both answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Worst {
    /// Row-major index.
    pub index: usize,
    /// Row of the first dimension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
    /// The primary's element, as text.
    pub primary: String,
    /// The candidate's.
    pub candidate: String,
    /// |C − P| in units of its tolerance; absent for text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance_units: Option<f64>,
}

/// Metrics of numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Numbers {
    /// |C − P|.
    pub absolute: Option<Spread>,
    /// |C − P| / |P|.
    pub relative: Option<Spread>,
    /// Root mean square difference.
    pub rmse: Option<f64>,
    /// Largest 2|C − P| / (|C| + |P|).
    pub symmetric_relative: Option<f64>,
    /// Largest |log10(|C| / |P|)|.
    pub log10_ratio: Option<f64>,
    /// Direction and length of the whole output.
    #[serde(flatten)]
    pub direction: Direction,
    /// Smallest cosine of a row.
    pub row_cosine: Option<f64>,
    /// Largest distance in units in the last place, and its 99 % quantile.
    pub ulp: Option<[f64; 2]>,
    /// Largest difference in steps of a quantised output.
    pub steps: Option<f64>,
}

/// The tolerance it takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Needed {
    /// Factor on both tolerances in force.
    pub factor: f64,
    /// Absolute tolerance, the relative one as it is.
    pub atol: f64,
    /// Relative tolerance, the absolute one as it is.
    pub rtol: f64,
}

/// A row whose largest element moved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RowFlip {
    /// The row (last dimension).
    pub row: usize,
    /// Index of the largest on the primary.
    pub primary: usize,
    /// Index of the largest on the candidate.
    pub candidate: usize,
    /// How far the best was above the second best on the primary.
    pub margin: Option<f64>,
    /// Whether noise explains it.
    pub near_tie: bool,
}

/// Metrics of orders.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[allow(missing_docs, reason = "each is the function of that name in `metric`")]
pub struct Order {
    pub kendall_tau_b: Option<f64>,
    pub spearman: Option<f64>,
    pub footrule: Option<f64>,
    pub rank_cost: Option<f64>,
    pub top_k_overlap: Option<f64>,
    pub top_k_jaccard: Option<f64>,
    pub fagin_kendall: Option<u64>,
    pub fagin_footrule: Option<u64>,
    pub rank_biased_overlap: Option<f64>,
    pub ndcg_by_primary: Option<f64>,
}

/// Metrics of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Image {
    /// Peak signal-to-noise ratio in decibels; absent for identical pictures.
    pub psnr: Option<f64>,
    /// Overlap of what is at or above half of the peak.
    pub mask_iou: Option<f64>,
}

/// Most flips that are listed.
const MAX_FLIPS: usize = 20;

/// Items of a ranking for which the quadratic metrics are computed.
const MAX_RANKED: usize = 1000;

/// Side of a picture from which on an output of three dimensions or more is one.
const LEAST_SIDE: u64 = 8;

/// Every metric of every output that both answers have; empty where their structure differs.
#[must_use]
pub fn report(primary: &Decoded, candidate: &Decoded, rules: &Rules) -> Vec<OutputReport> {
    let Ok((pairs, detections)) = paired(primary, candidate, rules) else { return Vec::new() };
    let mut reports: Vec<OutputReport> = pairs.iter().map(|pair| of(pair, rules)).collect();
    for generation in generation::generations(&pairs) {
        let named = generation.named().map(|pair| pair.primary.name.clone());
        let difference = generation.difference();
        if let Some(report) = reports.iter_mut().find(|report| Some(&report.name) == named.as_ref()) {
            report.text = difference.map(|found| found.sequences);
        }
    }
    for found in &detections {
        reports.push(boxes(found));
        reports.extend(found.all_scores().map(|pair| of(&pair, rules)));
    }
    reports
}

/// What the rules name and neither answer has: names of outputs, and paths into JSON that select nothing. A rule that is never of use is
/// often misspelt.
#[must_use]
pub fn unused(primary: &Decoded, candidate: &Decoded, rules: &Rules) -> Vec<String> {
    let known: BTreeSet<&str> =
        primary.outputs.iter().chain(&candidate.outputs).map(|output| output.name.as_str()).collect();
    let listed = |table: &'static str, names: &mut dyn Iterator<Item = &str>| -> Vec<String> {
        names.filter(|name| !known.contains(name)).map(|name| format!("{table} `{name}`")).collect()
    };
    let trees = primary.tree.as_ref().zip(candidate.tree.as_ref());
    let paths = trees.map(|(one, other)| super::tree::unused(one, other, rules)).unwrap_or_default();
    let mut unused = listed("include", &mut rules.include.iter().map(String::as_str));
    unused.extend(listed("ignore", &mut rules.ignore.iter().map(String::as_str)));
    unused.extend(listed("outputs", &mut rules.outputs.keys().map(String::as_str)));
    unused.extend(listed("rankings", &mut rules.rankings.iter().map(|rule| rule.ids.as_str())));
    unused.extend(listed("json_paths", &mut rules.json_paths.iter().map(|rule| rule.name.as_str())));
    unused.extend(listed("detections", &mut rules.detections.iter().map(|rule| rule.boxes.as_str())));
    unused.extend(paths.into_iter().map(|path| format!("json `{path}`")));
    unused
}

/// Boxes: matched or beyond, the worst image by its smallest overlap in the units in which 0.9 is 1.
fn boxes(found: &Detections<'_>) -> OutputReport {
    let matches = found.matches(found.rule.iou);
    let close = found.matches(AGREE);
    let apart = |matched: &Matched| matched.min_iou.map_or(0.0, |overlap| (1.0 - overlap) / (1.0 - AGREE));
    let count = |boxes: usize| format!("{boxes} box{}", if boxes == 1 { "" } else { "es" });
    let worst = matches
        .iter()
        .enumerate()
        .map(|(image, matched)| {
            let alone = matched.missing + matched.extra > 0;
            (image, if alone { f64::INFINITY } else { apart(matched) })
        })
        .filter(|(_, units)| *units > 0.0)
        .reduce(|worst, next| if next.1 > worst.1 { next } else { worst });
    OutputReport {
        name: found.rule.boxes.clone(),
        kind: "detections",
        elements: matches.iter().map(|matched| matched.matched + matched.missing).sum(),
        beyond: close.iter().map(|matched| matched.missing.max(matched.extra)).sum(),
        rtol: found.tolerance.rtol,
        atol: found.tolerance.atol,
        worst: worst.map(|(image, units)| Worst {
            index: image,
            row: Some(image as u64),
            primary: count(found.counts(image).0),
            candidate: count(found.counts(image).1),
            tolerance_units: Some(units),
        }),
        boxes: matches.into_iter().chain(close).collect(),
        ..OutputReport::default()
    }
}

fn of(pair: &Pair<'_>, rules: &Rules) -> OutputReport {
    let base = OutputReport {
        name: pair.primary.name.clone(),
        kind: pair.kind.as_str(),
        dtype: pair.dtype.as_str(),
        shape: shape_text(&pair.primary.shape),
        rtol: pair.tolerance.rtol,
        atol: pair.tolerance.atol,
        ..OutputReport::default()
    };
    if pair.primary.text.len() + pair.shadow.text.len() > 0 {
        return OutputReport { elements: pair.primary.text.len(), worst: first_text(pair), ..base };
    }
    if pair.kind == Kind::Ranking && !pair.primary.keys.is_empty() {
        let shared = Ranked::of(pair, rules, &mut Measures::default()).shared;
        let order = Some(keyed_order(pair, &shared, rules));
        return OutputReport { order, ..numeric(&shared, rules, base) };
    }
    if pair.primary.values.len() != pair.shadow.values.len() {
        return numeric(&generation::beginning(pair, usize::MAX), rules, base);
    }
    numeric(pair, rules, base)
}

/// Tolerance units of all elements of a floating output.
pub(super) fn all_units(pair: &Pair<'_>, rules: &Rules) -> Vec<f64> {
    match pair.kind {
        Kind::Ranking if !pair.primary.keys.is_empty() => {
            each_units(&Ranked::of(pair, rules, &mut Measures::default()).shared)
        }
        _ if pair.primary.values.len() != pair.shadow.values.len() => {
            each_units(&generation::beginning(pair, usize::MAX))
        }
        _ => each_units(pair),
    }
}

fn each_units(pair: &Pair<'_>) -> Vec<f64> {
    let units = |(p, s): (f64, f64)| relative::tolerance_units(p, s, (s - p).abs(), pair.tolerance.around(p));
    pair.values().map(units).collect()
}

fn first_text(pair: &Pair<'_>) -> Option<Worst> {
    let (p, s) = (&pair.primary.text, &pair.shadow.text);
    let index = (0..p.len().max(s.len())).find(|index| p.get(*index) != s.get(*index))?;
    let (one, other) = (p.get(index).map_or("", String::as_str), s.get(index).map_or("", String::as_str));
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let (primary, candidate) = (around(one, same), around(other, same));
    Some(Worst { index, row: pair.row(index), primary, candidate, tolerance_units: None })
}

/// Characters shown of a text, before and from the first that differs.
const SHOWN: (usize, usize) = (40, 80);

/// A text about its character `at`, cut at both ends.
fn around(text: &str, at: usize) -> String {
    let from = at.saturating_sub(SHOWN.0);
    let mut rest = text.chars().skip(from);
    let shown: String = rest.by_ref().take(at - from + SHOWN.1).collect();
    let cut = |is: bool| if is { "…" } else { "" };
    format!("{}{shown}{}", cut(from > 0), cut(rest.next().is_some()))
}

fn numeric(pair: &Pair<'_>, rules: &Rules, base: OutputReport) -> OutputReport {
    let (p, s) = (&pair.primary.values[..], &pair.shadow.values[..]);
    let elements = match pair.kind {
        Kind::Embedding => super::vectors::measure(pair, rules),
        _ => Elements::of(pair),
    };
    let worst = elements.worst.filter(|(units, _)| *units > 0.0).map(|(units, index)| Worst {
        index,
        row: pair.row(index),
        primary: exactly(&pair.primary, index),
        candidate: exactly(&pair.shadow, index),
        tolerance_units: Some(units),
    });
    let mut distances: Vec<f64> = match pair.has_ulp {
        true => ulp::distances(p, s, pair.dtype).into_iter().map(|distance| distance as f64).collect(),
        false => Vec::new(),
    };
    let ulp_max = distances.iter().copied().reduce(f64::max);
    let ulp = ulp_max.zip(quantile::quantile(&mut distances, 0.99)).map(|(max, q99)| [max, q99]);
    let float = pair.dtype.is_float();
    let numbers = Numbers {
        absolute: error::absolute(p, s),
        relative: error::relative(p, s),
        rmse: error::rmse(p, s),
        symmetric_relative: elements.symmetric_relative,
        log10_ratio: elements.log10_ratio,
        direction: direction(p, s),
        row_cosine: elements.cosine,
        ulp,
        steps: pair.rule.step.and_then(|step| error::steps(p, s, step)),
    };
    let needed = needed(pair, elements.worst.map_or(0.0, |(units, _)| units));
    let rows = if pair.ranked { row_width(pair) } else { 0 };
    OutputReport {
        elements: elements.count,
        beyond: elements.beyond,
        worst,
        numbers: (!p.is_empty()).then_some(numbers),
        needed,
        flips: if rows >= 2 && pair.kind != Kind::Embedding { flips(pair, rows) } else { Vec::new() },
        order: if rows >= 3 && pair.kind != Kind::Embedding { row_order(pair, rows, rules) } else { None },
        probabilities: if rows >= 2 { furthest(pair, rows) } else { None },
        distribution: if float { distribution(p, s) } else { None },
        image: picture(pair),
        ..base
    }
}

fn exactly(output: &crate::Output, index: usize) -> String {
    match &output.exact {
        Some(exact) => exact.get(index).map(i128::to_string),
        // The shortest text that leads back to the element of a narrower type.
        None if output.dtype.is_float() && output.dtype != DType::Fp64 => {
            output.values.get(index).map(|value| (*value as f32).to_string())
        }
        None => output.values.get(index).map(f64::to_string),
    }
    .unwrap_or_default()
}

fn needed(pair: &Pair<'_>, units: f64) -> Option<Needed> {
    let (p, s) = (&pair.primary.values, &pair.shadow.values);
    let atol = error::atol_to_pass(p, s, pair.tolerance.rtol)?;
    let rtol = error::rtol_to_pass(p, s, pair.tolerance.atol)?;
    Some(Needed { factor: units, atol, rtol })
}

fn row_width(pair: &Pair<'_>) -> usize {
    pair.primary.shape.last().and_then(|last| usize::try_from(*last).ok()).unwrap_or(0)
}

fn flips(pair: &Pair<'_>, width: usize) -> Vec<RowFlip> {
    let rows =
        pair.primary.values.chunks_exact(width).zip(pair.shadow.values.chunks_exact(width)).enumerate();
    let flip = |(row, (p, s)): (usize, (&[f64], &[f64]))| {
        let flip = decision::argmax_flip(p, s, |value| pair.tolerance.around(value))?;
        let (primary, candidate) = (decision::argmax(p)?, decision::argmax(s)?);
        let near_tie = flip == decision::Flip::NearTie;
        Some(RowFlip { row, primary, candidate, margin: decision::margin(p), near_tie })
    };
    rows.filter_map(flip).take(MAX_FLIPS).collect()
}

/// The row that agrees least by Kendall's tau.
fn row_order(pair: &Pair<'_>, width: usize, rules: &Rules) -> Option<Order> {
    let rows = pair.primary.values.chunks_exact(width).zip(pair.shadow.values.chunks_exact(width));
    let least = rows
        .filter_map(|(p, s)| Some((order::kendall_tau_b(p, s)?, p, s)))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let (_, p, s) = least?;
    let top = |row: &[f64]| overlap::top(row, width.min(MAX_RANKED));
    Some(ids_order(&top(p), &top(s), rules, scores_order(p, s, rules)))
}

fn keyed_order(pair: &Pair<'_>, shared: &Pair<'_>, rules: &Rules) -> Order {
    let listed = |output: &crate::Output| -> Vec<String> {
        if output.values.len() == output.keys.len() {
            overlap::top(&output.values, MAX_RANKED)
                .into_iter()
                .map(|index| output.keys[index].clone())
                .collect()
        } else {
            output.keys.iter().take(MAX_RANKED).cloned().collect()
        }
    };
    let scores = scores_order(&shared.primary.values, &shared.shadow.values, rules);
    ids_order(&listed(&pair.primary), &listed(&pair.shadow), rules, scores)
}

fn scores_order(p: &[f64], s: &[f64], rules: &Rules) -> Order {
    Order {
        kendall_tau_b: order::kendall_tau_b(p, s),
        spearman: order::spearman(p, s),
        footrule: order::footrule(p, s),
        rank_cost: order::cost(p, s),
        top_k_overlap: overlap::at_k(p, s, rules.top_k),
        top_k_jaccard: overlap::jaccard_at_k(p, s, rules.top_k),
        ..Order::default()
    }
}

fn ids_order<T: Ord>(p: &[T], s: &[T], rules: &Rules, scores: Order) -> Order {
    let (top_p, top_s) = (&p[..p.len().min(rules.top_k)], &s[..s.len().min(rules.top_k)]);
    let fagin = overlap::fagin(top_p, top_s);
    Order {
        fagin_kendall: Some(fagin.kendall),
        fagin_footrule: Some(fagin.footrule),
        rank_biased_overlap: rbo::extrapolated(p, s, rbo::PERSISTENCE),
        ndcg_by_primary: ndcg::by_primary(top_p, top_s, rules.top_k),
        ..scores
    }
}

/// The distances of the row of probabilities that is furthest; where every row of the primary is one, or the rule says so.
fn furthest(pair: &Pair<'_>, width: usize) -> Option<Distances> {
    let rows = || pair.primary.values.chunks_exact(width);
    let said =
        pair.rule.probabilities.unwrap_or_else(|| rows().all(|row| probability::is_simplex(row, pair.dtype)));
    let all =
        rows().zip(pair.shadow.values.chunks_exact(width)).filter_map(|(p, s)| probability::distances(p, s));
    all.filter(|_| said).max_by(|a, b| a.jensen_shannon.total_cmp(&b.jensen_shannon))
}

fn picture(pair: &Pair<'_>) -> Option<Image> {
    let shape = &pair.primary.shape;
    let sides = shape.iter().filter(|side| **side >= LEAST_SIDE).count();
    if shape.len() < 3 || sides < 2 {
        return None;
    }
    let (p, s) = (&pair.primary.values, &pair.shadow.values);
    let peak = image::peak(p)?;
    Some(Image { psnr: image::psnr(p, s, peak), mask_iou: Some(image::mask_iou(p, s, peak / 2.0)) })
}

#[cfg(test)]
mod tests;
