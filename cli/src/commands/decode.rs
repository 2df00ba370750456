//! `shadowdiff decode BODY`.

use divergence::{DType, Decoded, Output, Rules};
use serde::Serialize;

use super::saved::{self, Saved};
use super::shown;
use crate::{args, logging};

/// Elements of an output that the text shows.
const SHOWN: usize = 8;

pub(crate) fn run(args: args::Decode) -> anyhow::Result<u8> {
    let rules = saved::rules(args.about.rules.as_deref())?;
    let saved = Saved::read(&args.body, &args.about, &args.about.headers)?;
    let decoded = match saved.decode(&rules) {
        Ok(decoded) => decoded,
        Err(reason) => {
            if args.json {
                logging::print(&serde_json::json!({ "undecodable": reason.to_string() }).to_string())?;
            } else {
                logging::print(&shown::visible(&format!("undecodable  {reason}")))?;
            }
            return Ok(saved::UNDECODABLE);
        }
    };
    logging::print(&if args.json {
        json(&decoded, &rules)?
    } else {
        shown::visible(&text(&decoded, &rules))
    })?;
    Ok(0)
}

#[derive(Serialize)]
struct Shown<'a> {
    protocol: &'static str,
    model: Option<&'a str>,
    model_version: Option<&'a str>,
    signature: Option<String>,
    outputs: Vec<ShownOutput<'a>>,
}

#[derive(Serialize)]
struct ShownOutput<'a> {
    name: &'a str,
    kind: &'static str,
    dtype: &'static str,
    shape: &'a [u64],
    compared: bool,
    nulls: usize,
    values: &'a [f64],
    /// Integers past 2^53, exactly.
    exact: Option<Vec<String>>,
    text: &'a [String],
    keys: &'a [String],
}

fn json(decoded: &Decoded, rules: &Rules) -> anyhow::Result<String> {
    let shown = Shown {
        protocol: decoded.protocol.as_str(),
        model: decoded.model.as_deref(),
        model_version: decoded.model_version.as_deref(),
        signature: divergence::signature(decoded, rules).map(|signature| format!("{:032x}", signature.hash)),
        outputs: decoded
            .outputs
            .iter()
            .map(|output| ShownOutput {
                name: &output.name,
                kind: output.kind.as_str(),
                dtype: output.dtype.as_str(),
                shape: &output.shape,
                compared: rules.compares(&output.name),
                nulls: output.nulls,
                values: &output.values,
                exact: output.exact.as_ref().map(|exact| exact.iter().map(i128::to_string).collect()),
                text: &output.text,
                keys: &output.keys,
            })
            .collect(),
    };
    Ok(serde_json::to_string_pretty(&shown::json(&shown)?)?)
}

fn text(decoded: &Decoded, rules: &Rules) -> String {
    let mut rows = vec![["output", "kind", "dtype", "shape", "elements", "values"].map(str::to_owned)];
    for output in &decoded.outputs {
        let shape: Vec<String> = output.shape.iter().map(u64::to_string).collect();
        rows.push([
            if rules.compares(&output.name) {
                output.name.clone()
            } else {
                format!("{} (ignored)", output.name)
            },
            output.kind.as_str().to_owned(),
            output.dtype.as_str().to_owned(),
            if shape.is_empty() { "scalar".into() } else { shape.join("x") },
            (output.values.len() + output.text.len()).to_string(),
            first_elements(output),
        ]);
    }
    let mut text = format!("protocol  {}\n", decoded.protocol.as_str());
    if let Some(model) = &decoded.model {
        text += &format!("model     {model} {}\n", decoded.model_version.as_deref().unwrap_or_default());
    }
    if decoded.tree.is_some() {
        text +=
            "JSON of no known shape: it is compared field by field; json_paths make outputs of its fields\n";
        return text;
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5).map(width).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        text += &format!("{}  {}\n", cells.collect::<Vec<_>>().join("  "), row[5]);
    }
    text
}

fn first_elements(output: &Output) -> String {
    let number = |index: usize| match &output.exact {
        Some(exact) => exact[index].to_string(),
        None if output.dtype == DType::Fp64 => output.values[index].to_string(),
        // The shortest text that leads back to the element of a narrower type.
        None if output.dtype.is_float() => (output.values[index] as f32).to_string(),
        None => output.values[index].to_string(),
    };
    let element = |index: usize| {
        let value = match output.text.get(index) {
            Some(text) => format!("{:?}", text.chars().take(60).collect::<String>()),
            None => number(index),
        };
        match output.keys.get(index) {
            Some(key) => format!("{key}: {value}"),
            None => value,
        }
    };
    let count = output.values.len().max(output.text.len());
    let mut shown: Vec<String> = (0..count.min(SHOWN)).map(element).collect();
    if count > SHOWN {
        shown.push("…".into());
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(body: &str) -> Decoded {
        let answer = divergence::Answer::new("/v2/models/m/infer", 200, &[], body.as_bytes());
        divergence::decode(&answer, &Rules::default()).unwrap()
    }

    const BODY: &str = r#"{"model_name":"m","model_version":"3","outputs":[
        {"name":"label","datatype":"BYTES","shape":[1],"data":["pos"]},
        {"name":"id","datatype":"INT64","shape":[1],"data":[9007199254740993]},
        {"name":"score","datatype":"FP32","shape":[9],"data":[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9]}]}"#;

    #[test]
    fn outputs_are_shown_with_their_first_elements() {
        let rules = Rules { ignore: vec!["id".into()], ..Rules::default() };
        let text = text(&decoded(BODY), &rules);
        for line in [
            "protocol  v2_json",
            "model     m 3",
            "id (ignored)  tensor  INT64  1      1         9007199254740993",
            "label         tensor  BYTES  1      1         \"pos\"",
            "score         tensor  FP32   9      9         0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, …",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }

    #[test]
    fn json_has_every_element() {
        let text = json(&decoded(BODY), &Rules::default()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["outputs"][0]["exact"][0], "9007199254740993");
        assert_eq!(value["outputs"][2]["values"].as_array().map(Vec::len), Some(9));
        assert_eq!(value["signature"].as_str().map(str::len), Some(32));
    }
}
