//! TensorFlow Serving's `:classify` and `:regress` over REST: `result` (also written `results`) is a list of rows of `[label, score]`, or a
//! list of values.

use super::fault::{Fault, Undecodable};
use super::parts::Parts;
use super::ranked::Ranked;
use super::{Decoded, Protocol, names, tensor};
use crate::{DType, Json, Output};

const NAME: &str = "result";

/// Takes answers of the two verbs.
pub(super) fn read(parts: &Parts<'_>) -> Option<Result<Decoded, Undecodable>> {
    let classify = parts.ends_with(":classify");
    if !classify && !parts.ends_with(":regress") {
        return None;
    }
    let result = parts.field("result").or_else(|| parts.field("results"));
    let output = match result {
        None => Err(parts.without_outputs()),
        Some(result) if classify => classes(result),
        Some(result) => tensor::undeclared(NAME, &[result], false),
    };
    let model = names::model(parts.path);
    Some(output.map(|output| Decoded { model, ..Decoded::of(Protocol::V1Predictions, vec![output]) }))
}

fn classes(result: &Json<'_>) -> Result<Output, Undecodable> {
    let wrong = || Undecodable::output(NAME, Fault::Field(NAME));
    let mut ranked = Ranked::default();
    for row in result.as_array().ok_or_else(wrong)? {
        ranked.row();
        for pair in row.as_array().ok_or_else(wrong)? {
            let Some([label, Json::Number(score)]) = pair.as_array() else { return Err(wrong()) };
            let label = match label {
                Json::Text(label) => label.clone().into_owned(),
                Json::Number(label) => label.text().to_owned(),
                _ => return Err(wrong()),
            };
            ranked.add(label, score.as_f64(), score.printed())?;
        }
    }
    ranked.output(NAME, DType::Fp64)
}
