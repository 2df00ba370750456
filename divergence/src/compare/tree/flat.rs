//! A tree as outputs, for what is asked of one answer by itself: its signature, its statistics, its signs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::super::degenerate::Sign;
use super::marks::Marks;
use super::walk::{canonical, step};
use crate::{DType, Decoded, Json, Output, Rules};

/// The outputs of an answer that the rules compare; of a tree, its values.
pub(crate) fn compared_outputs<'a>(answer: &'a Decoded, rules: &Rules) -> Vec<Cow<'a, Output>> {
    match &answer.tree {
        Some(tree) => outputs(tree, rules).into_iter().map(Cow::Owned).collect(),
        None => {
            answer.outputs.iter().filter(|output| rules.compares(&output.name)).map(Cow::Borrowed).collect()
        }
    }
}

/// The signs of one tree, as a lone answer shows them.
pub(super) fn signs(tree: &Json<'_>, rules: &Rules) -> BTreeSet<Sign> {
    let outputs = outputs(tree, rules);
    let scores: Vec<f64> = outputs
        .iter()
        .filter(|output| output.dtype == DType::Fp64)
        .flat_map(|output| output.values.iter().copied())
        .collect();
    let nulls = outputs.iter().map(|output| output.nulls).sum::<usize>();
    let nan = scores.iter().filter(|value| value.is_nan()).count();
    let found = [
        (!scores.is_empty() && scores.iter().all(|value| *value == 0.0), Sign::AllZero),
        (nan > nulls, Sign::Nan),
        (scores.iter().any(|value| value.is_infinite()), Sign::Infinite),
        (nulls > 0, Sign::Null),
    ];
    found.into_iter().filter(|(is, _)| *is).map(|(_, sign)| sign).collect()
}

/// What stands at one path, indices of arrays taken as one: numbers, texts, booleans, and the lengths of arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    Lengths,
    Truths,
    Numbers,
    Texts,
}

#[derive(Default)]
struct Found(BTreeMap<(String, Sort), Output>);

impl Found {
    fn at(&mut self, path: &str, sort: Sort, dtype: DType) -> &mut Output {
        let output = || Output::new(path, dtype, vec![0, 1]);
        self.0.entry((path.to_owned(), sort)).or_insert_with(output)
    }
}

/// One output for each path of the tree and sort of value, by path. Numbers are `FP64` where one of them was written as a score, else
/// `INT64`; past 2^53 a whole number is text. Fields are in the order of their names, items of an array without order in that of their
/// text, those of a keyed one in that of their keys: equal trees have equal outputs.
fn outputs(tree: &Json<'_>, rules: &Rules) -> Vec<Output> {
    let marks = Marks::of(&[tree], &rules.json);
    let mut found = Found::default();
    collect(tree, &marks, &mut String::new(), &mut found);
    found.0.into_values().collect()
}

fn collect(value: &Json<'_>, marks: &Marks<'_>, path: &mut String, found: &mut Found) {
    if marks.is_ignored(value) {
        return;
    }
    match value {
        Json::Null => {
            let output = found.at(path, Sort::Numbers, DType::Int64);
            output.nulls += 1;
            put(output, f64::NAN);
        }
        Json::Bool(value) => put(found.at(path, Sort::Truths, DType::Bool), f64::from(u8::from(*value))),
        Json::Number(number) => match number.as_int() {
            Some(int) if int.unsigned_abs() > 1 << 53 => {
                put_text(found.at(path, Sort::Texts, DType::Bytes), int.to_string());
            }
            Some(int) => put(found.at(path, Sort::Numbers, DType::Int64), int as f64),
            None => {
                let output = found.at(path, Sort::Numbers, DType::Fp64);
                output.dtype = DType::Fp64;
                put(output, number.as_f64());
            }
        },
        Json::Text(text) => put_text(found.at(path, Sort::Texts, DType::Bytes), text.clone().into_owned()),
        Json::Array(items) => {
            found.at(path, Sort::Lengths, DType::Int64).nesting.push(items.len() as u64);
            let mut items: Vec<&Json<'_>> = items.iter().collect();
            if let Some(key) = marks.key(value, value) {
                items.sort_by_cached_key(|item| item.field(key).map(canonical));
            } else if marks.is_unordered(value, value) {
                items.sort_by_cached_key(|item| canonical(item));
            }
            let length = path.len();
            path.push_str("/*");
            items.into_iter().for_each(|item| collect(item, marks, path, found));
            path.truncate(length);
        }
        Json::Object(fields) => {
            let names: BTreeSet<&Cow<'_, str>> = fields.iter().map(|(name, _)| name).collect();
            for name in names {
                let length = path.len();
                step(path, name);
                if let Some(value) = value.field(name) {
                    collect(value, marks, path, found);
                }
                path.truncate(length);
            }
        }
    }
}

fn put(output: &mut Output, value: f64) {
    output.values.push(value);
    output.shape[0] += 1;
}

fn put_text(output: &mut Output, text: String) {
    output.text.push(text);
    output.shape[0] += 1;
}
