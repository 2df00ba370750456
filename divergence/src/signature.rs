//! A short signature of one answer, by which answers of many requests can be searched for one that belongs to another request.
//!
//! Two answers that agree within noise have nearly the same projections, and two that do not differ in some of them, whatever the
//! dimension (Johnson & Lindenstrauss 1984, with the ±1 coefficients of Achlioptas 2003). Blocks are projected by themselves, so that an
//! answer of which only some rows are another's is found too.

mod signs;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::compare::compared_outputs;
use crate::{Decoded, Output, Rules};
use signs::{BLOCK, Pattern};

/// Number of projections of a whole answer.
pub const PROJECTIONS: usize = 4;

/// Most blocks that are projected by themselves.
pub const BLOCKS: usize = 16;

/// Grows when the coefficients or what is projected change: signatures of two versions cannot be compared.
pub const VERSION: u32 = 1;

/// The signature of an answer's compared outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Signature {
    /// xxh3-128 over names, types, shapes and elements: equal answers have equal hashes, on every machine and in every protocol that keeps
    /// their types. Every NaN is one NaN and -0 is not 0.
    pub hash: u128,
    /// f_k(x) = Σ r_k,i·x_i / √d over all d elements in the order of the outputs' names, r_k,i = ±1 fixed. Elements that are not finite count as
    /// 0; each text counts as a number in [0, 1) made from its hash.
    pub projections: [f64; PROJECTIONS],
    /// The first projection of each of up to [`BLOCKS`] blocks of the output with the most elements (the first by name of equals), divided
    /// by the root of the block's length: its rows, or of more rows than that as many together as make [`BLOCKS`] blocks; without rows, equal stretches. Each block is
    /// projected with the same coefficients, so that a row has its value wherever it stands.
    pub blocks: Vec<f64>,
}

/// The signature of the outputs that the rules compare, of a JSON tree of its values; `None` when they hold no element.
#[must_use]
pub fn signature(answer: &Decoded, rules: &Rules) -> Option<Signature> {
    let compared = compared_outputs(answer, rules);
    let outputs = || compared.iter().map(|output| &**output);
    let count: usize = outputs().map(elements).sum();
    if count == 0 {
        return None;
    }
    let mut hasher = Xxh3::new();
    let mut sums = [0.0; PROJECTIONS];
    let mut at = 0;
    for output in outputs() {
        digest(&mut hasher, output);
        stretches(output, 0, elements(output), |chunk| {
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum += Pattern::of(k).project(at, chunk);
            }
            // Each output begins a block of coefficients, so that their pattern is read from its beginning.
            at += BLOCK;
        });
    }
    let root = (count as f64).sqrt();
    let largest = outputs().fold(None, |best: Option<&Output>, next| match best {
        Some(best) if elements(best) >= elements(next) => Some(best),
        _ => Some(next),
    });
    let blocks = largest.map(blocks).unwrap_or_default();
    Some(Signature { hash: hasher.digest128(), projections: sums.map(|sum| sum / root), blocks })
}

fn elements(output: &Output) -> usize {
    output.values.len() + output.text.len()
}

/// The elements from `from` to `end` as finite numbers, in pieces of [`BLOCK`].
fn stretches(output: &Output, from: usize, end: usize, mut each: impl FnMut(&[f64])) {
    let mut buffer = [0.0; BLOCK];
    let mut at = from;
    while at < end {
        let next = (at + BLOCK).min(end);
        match output.values.get(at..next) {
            Some(chunk) if chunk.iter().all(|value| value.is_finite()) => each(chunk),
            _ => {
                let chunk = &mut buffer[..next - at];
                chunk.iter_mut().enumerate().for_each(|(index, slot)| *slot = element(output, at + index));
                each(chunk);
            }
        }
        at = next;
    }
}

/// An element as a finite number: a text as 53 bits of its hash, taken as a fraction.
fn element(output: &Output, index: usize) -> f64 {
    match output.values.get(index) {
        Some(value) if value.is_finite() => *value,
        Some(_) => 0.0,
        None => output
            .text
            .get(index - output.values.len())
            .map_or(0.0, |text| (xxh3_64(text.as_bytes()) >> 11) as f64 / (1_u64 << 53) as f64),
    }
}

fn blocks(output: &Output) -> Vec<f64> {
    let count = elements(output);
    let rows = output.shape.first().and_then(|rows| usize::try_from(*rows).ok()).unwrap_or(1);
    let has_rows = output.shape.len() >= 2 && rows >= 2 && count.is_multiple_of(rows);
    let length = if has_rows { rows.div_ceil(BLOCKS) * (count / rows) } else { count.div_ceil(BLOCKS) };
    let pattern = Pattern::of(0);
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < count {
        let end = (at + length.max(1)).min(count);
        let mut sum = 0.0;
        let mut number = 0;
        stretches(output, at, end, |chunk| {
            sum += pattern.project(number * BLOCK, chunk);
            number += 1;
        });
        blocks.push(sum / ((end - at) as f64).sqrt());
        at = end;
    }
    blocks
}

/// Lengths before contents, so that no two answers run into one another.
fn digest(hasher: &mut Xxh3, output: &Output) {
    hasher.update(&(output.name.len() as u64).to_le_bytes());
    hasher.update(output.name.as_bytes());
    hasher.update(output.dtype.as_str().as_bytes());
    hasher.update(&(output.shape.len() as u64).to_le_bytes());
    output.shape.iter().for_each(|dimension| hasher.update(&dimension.to_le_bytes()));
    output.nesting.iter().for_each(|length| hasher.update(&length.to_le_bytes()));
    hasher.update(&(output.values.len() as u64).to_le_bytes());
    let mut buffer = Vec::with_capacity(8 * BLOCK);
    for chunk in output.values.chunks(BLOCK) {
        buffer.clear();
        for value in chunk {
            let canonical = if value.is_nan() { f64::NAN } else { *value };
            buffer.extend_from_slice(&canonical.to_bits().to_le_bytes());
        }
        hasher.update(&buffer);
    }
    // Integers past 2^53, of which several share a float.
    output.exact.iter().flatten().for_each(|value| hasher.update(&value.to_le_bytes()));
    for text in output.text.iter().chain(&output.keys) {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
}

#[cfg(test)]
mod tests;
