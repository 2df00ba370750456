//! `shadowdiff diff PRIMARY CANDIDATE`.

use std::path::Path;

use anyhow::anyhow;
use divergence::{Changes, Class, Decoded, Divergence, Json, OutputReport, Rules, Side};
use serde::Serialize;

use super::saved::{self, Saved};
use super::shown;
use crate::exit::Usage;
use crate::{args, logging};

/// The answers differ beyond tolerance.
const DIFFERS: u8 = 1;

/// Values of a request that are read.
const MOST_VALUES: usize = 10_000_000;

/// Changes of a JSON tree that the text shows.
const SHOWN: usize = 40;

pub(crate) fn run(args: args::Diff) -> anyhow::Result<u8> {
    let given = [Some(&args.primary), Some(&args.candidate), args.request.as_ref()];
    if given.into_iter().flatten().filter(|path| path.as_path() == Path::new("-")).count() > 1 {
        return Err(Usage::of(anyhow!(
            "only one of PRIMARY, CANDIDATE and --request can be standard input: save the others"
        )));
    }
    let rules = saved::rules(args.about.rules.as_deref())?;
    let primary = Saved::read(&args.primary, &args.about, &args.about.headers)?;
    let own = if args.candidate_headers.is_empty() { &args.about.headers } else { &args.candidate_headers };
    let candidate = Saved::read(&args.candidate, &args.about, own)?;
    let mut notes = Vec::new();
    let sampled = match &args.request {
        Some(path) => {
            let request = saved::bytes(path)?;
            if Json::parse(&request, MOST_VALUES).is_err() {
                let what = "is no JSON: whether it draws its text by chance is not known";
                notes.push(format!("the request {} {what}", path.display()));
            }
            divergence::samples(&[], &request)
        }
        None => false,
    };
    if sampled {
        notes.push("the request draws its text by chance: another text is no fault by itself".to_owned());
    }
    let (primary, candidate) = (decoded(&primary, &rules), decoded(&candidate, &rules));
    let divergence = divergence::compare(side(&primary), side(&candidate), &rules);
    let divergence = if sampled { divergence.of_sampled() } else { divergence };
    let both = primary.as_ref().ok().zip(candidate.as_ref().ok());
    let result = Verdict::of(&divergence, both, &rules, notes);
    let value = shown::json(&result)?;
    logging::print(&if args.json {
        serde_json::to_string_pretty(&value)?
    } else {
        shown::visible(&text(&divergence, &result, &value))
    })?;
    Ok(match divergence.class {
        Class::Incomparable => saved::UNDECODABLE,
        Class::WithinTol | Class::BitEqual => 0,
        _ => DIFFERS,
    })
}

fn decoded(saved: &Saved, rules: &Rules) -> Result<Decoded, String> {
    saved.decode(rules).map_err(|reason| reason.to_string())
}

fn side(answer: &Result<Decoded, String>) -> Side<'_> {
    match answer {
        Ok(decoded) => Side::Outputs(decoded),
        Err(reason) => Side::Absent(reason),
    }
}

/// What is said of the pair.
#[derive(Serialize)]
struct Verdict<'a> {
    protocol: Option<&'static str>,
    #[serde(flatten)]
    divergence: &'a Divergence,
    outputs: Vec<OutputReport>,
    changes: Option<Changes>,
    unused_rules: Vec<String>,
    notes: Vec<String>,
}

impl<'a> Verdict<'a> {
    fn of(
        divergence: &'a Divergence,
        both: Option<(&Decoded, &Decoded)>,
        rules: &Rules,
        notes: Vec<String>,
    ) -> Self {
        let trees = both.and_then(|(primary, candidate)| primary.tree.as_ref().zip(candidate.tree.as_ref()));
        Self {
            protocol: both.map(|(primary, _)| primary.protocol.as_str()),
            divergence,
            outputs: both
                .map(|(primary, candidate)| divergence::report(primary, candidate, rules))
                .unwrap_or_default(),
            changes: trees.map(|(primary, candidate)| divergence::changes(primary, candidate, rules)),
            unused_rules: both
                .map(|(primary, candidate)| divergence::unused(primary, candidate, rules))
                .unwrap_or_default(),
            notes,
        }
    }
}

fn text(divergence: &Divergence, result: &Verdict<'_>, value: &serde_json::Value) -> String {
    let detail =
        if divergence.detail.is_empty() { String::new() } else { format!(" ({})", divergence.detail) };
    let serious = if divergence.serious { ", serious" } else { "" };
    let mut text = format!("class   {}{detail}{serious}\n", divergence.class);
    if let Some(output) = &divergence.worst_output {
        let index = divergence.worst_index.map(|index| format!("[{index}]")).unwrap_or_default();
        let row = divergence.worst_row.map(|row| format!(", row {row}")).unwrap_or_default();
        let values = result
            .outputs
            .iter()
            .filter(|report| &report.name == output)
            .find_map(|report| report.worst.as_ref());
        let values = values
            // Of text, the index names a token.
            .filter(|worst| {
                Some(worst.index as u64) == divergence.worst_index || worst.tolerance_units.is_none()
            })
            .map(|worst| format!(": primary {}, candidate {}", worst.primary, worst.candidate));
        let of_tree = || {
            let changed = result.changes.as_ref()?.list.iter().find(|changed| &changed.path == output)?;
            Some(format!(": primary {}, candidate {}", changed.primary, changed.candidate))
        };
        text += &format!("worst   {output}{index}{row}{}\n", values.or_else(of_tree).unwrap_or_default());
    }
    for report in result.outputs.iter().filter(|report| report.beyond > 0) {
        let Some(needed) = report.needed else { continue };
        let [factor, atol, rtol] = [needed.factor, needed.atol, needed.rtol].map(shown::short);
        text += &format!(
            "passes  {} with {factor} times its tolerance, or atol {atol}, or rtol {rtol}\n",
            report.name
        );
    }
    for note in &result.notes {
        text += &format!("note    {note}\n");
    }
    for rule in &result.unused_rules {
        text += &format!("unused  {rule}: no such output or value in either answer\n");
    }
    if let Some(changes) = &result.changes {
        let total = changes.total();
        text += &format!("\n{total} difference{}\n", if total == 1 { "" } else { "s" });
        for changed in changes.list.iter().take(SHOWN) {
            let what = format!("{:?}", changed.change).to_lowercase();
            text += &format!("  {what:8}{}  {} -> {}\n", changed.path, changed.primary, changed.candidate);
        }
    }
    let mut metrics = value.clone();
    if let Some(fields) = metrics.as_object_mut() {
        for said in ["class", "detail", "serious", "outputs", "changes", "unused_rules", "notes"] {
            fields.remove(said);
        }
        fields.retain(|_, value| !value.is_string() || value.as_str().is_some_and(|text| !text.is_empty()));
    }
    let metrics = shown::lines(&metrics, 2);
    if !metrics.is_empty() {
        text += &format!("\nmetrics\n{metrics}");
    }
    for report in value.get("outputs").and_then(serde_json::Value::as_array).into_iter().flatten() {
        let name = report.get("name").and_then(serde_json::Value::as_str).unwrap_or_default();
        text += &format!("\noutput {name}\n{}", shown::lines(report, 2));
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, Command};

    const GOOD: &str = r#"{"outputs":[{"name":"score","datatype":"FP32","shape":[1,2],"data":[0.75,0.25]}]}"#;

    /// The exit code of `shadowdiff diff`, its files in a folder of their own.
    fn code(files: &[(&str, &str)], line: &[&str]) -> anyhow::Result<u8> {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let word = |word: &&str| match files.iter().any(|(name, _)| name == word) {
            true => dir.path().join(word).into_os_string(),
            false => word.into(),
        };
        let line = ["shadowdiff", "diff"].iter().chain(line).map(word);
        match Args::try_parse_from(line)?.command {
            Command::Diff(args) => run(args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_exit_code_says_whether_the_answers_agree() {
        let near = GOOD.replace("0.75", "0.7501");
        let far = GOOD.replace("0.75", "0.01");
        let files = [("p", GOOD), ("near", near.as_str()), ("far", far.as_str()), ("cut", &GOOD[..20])];
        for (line, expected) in [
            (&["p", "p"][..], 0),
            (&["p", "near"], 0),
            (&["p", "far"], 1),
            (&["p", "far", "--json"], 1),
            (&["p", "cut"], 3),
            (&["p", "p", "--status", "500"], 3),
            (&["p", "p", "--request", "cut"], 0),
        ] {
            assert_eq!(code(&files, line).unwrap(), expected, "{line:?}");
        }
    }

    #[test]
    fn rules_and_headers_of_each_side_are_used() {
        let near = GOOD.replace("0.75", "0.80");
        let loose = "[outputs.score]\natol = 0.1";
        let split = GOOD.to_owned();
        let length = format!("Inference-Header-Content-Length: {}", GOOD.len());
        let files = [("p", GOOD), ("near", near.as_str()), ("rules", loose), ("split", split.as_str())];
        assert_eq!(code(&files, &["p", "near"]).unwrap(), 1);
        assert_eq!(code(&files, &["p", "near", "--rules", "rules"]).unwrap(), 0);
        assert_eq!(code(&files, &["p", "split", "--candidate-header", &length]).unwrap(), 0);
        let wrong = ["p", "split", "--candidate-header", "Inference-Header-Content-Length: 9999"];
        assert_eq!(code(&files, &wrong).unwrap(), 3);
    }

    #[test]
    fn what_cannot_be_read_is_wrong_usage() {
        for line in [
            &["p", "missing"][..],
            &["-", "-"],
            &["p", "-", "--request", "-"],
            &["p", "p", "--header", "nothing"],
            &["p", "p", "--rules", "p"],
        ] {
            let error = code(&[("p", GOOD)], line).unwrap_err();
            assert!(error.downcast_ref::<Usage>().is_some(), "{line:?}: {error:#}");
        }
    }
}
