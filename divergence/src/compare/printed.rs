//! Scores printed into text: Triton's classification extension (`class_count`) answers `SCORE:INDEX` or `SCORE:INDEX:LABEL` for
//! each of the best classes. Compared as text, the last digit of a score would be another decision, and so would two classes of nearly
//! one score that change places.

use std::collections::BTreeSet;

use crate::{DType, Kind, Output};

/// Both outputs as numbers, when every element of both is of that form: rankings of classes, row by row. Where a row names a class
/// twice the place says what a score belongs to; then the classes must be the same.
pub(super) fn scores(primary: &Output, shadow: &Output) -> Option<(Output, Output)> {
    if primary.text.is_empty() || primary.text.len() != shadow.text.len() {
        return None;
    }
    let (one, other) = (entries(primary)?, entries(shadow)?);
    if is_ranking(primary, &one) && is_ranking(shadow, &other) {
        return Some((ranking(primary, one), ranking(shadow, other)));
    }
    let same = one.iter().zip(&other).all(|((_, one), (_, other))| one == other);
    same.then(|| (numbers(primary, &one), numbers(shadow, &other)))
}

type Entry<'a> = (f64, &'a str);

fn entries(output: &Output) -> Option<Vec<Entry<'_>>> {
    output.text.iter().map(|text| entry(text)).collect()
}

/// Whether no row names a class twice.
fn is_ranking(output: &Output, entries: &[Entry<'_>]) -> bool {
    let width = match output.shape[..] {
        [] | [_] => entries.len(),
        [.., last] => usize::try_from(last).unwrap_or(0),
    };
    entries.chunks(width.max(1)).all(|row| {
        let mut seen = BTreeSet::new();
        row.iter().all(|(_, class)| seen.insert(*class))
    })
}

fn ranking(output: &Output, entries: Vec<Entry<'_>>) -> Output {
    let keys = entries.iter().map(|(_, class)| (*class).to_owned()).collect();
    Output { kind: Kind::Ranking, keys, ..numbers(output, &entries) }
}

fn numbers(output: &Output, entries: &[Entry<'_>]) -> Output {
    let values = entries.iter().map(|(score, _)| *score).collect();
    Output { values, ..Output::new(output.name.clone(), DType::Fp32, output.shape.clone()) }
}

/// The score, and the class as it is printed.
fn entry(text: &str) -> Option<Entry<'_>> {
    let (score, class) = text.split_once(':')?;
    let index = class.split(':').next()?;
    let is_index = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    score.parse().ok().filter(|_| is_index).map(|score| (score, class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_score_an_index_and_perhaps_a_label() {
        assert_eq!(entry("0.997527:0"), Some((0.997527, "0")));
        assert_eq!(entry("-1.5e-3:12:tabby: cat"), Some((-1.5e-3, "12:tabby: cat")));
        assert_eq!(entry("nan:1").map(|(score, _)| score.is_nan()), Some(true));
        for text in ["", ":", "0.5", "0.5:", "0.5:x", "x:1", "12-30", "a:1:2"] {
            assert_eq!(entry(text), None, "{text}");
        }
    }
}
