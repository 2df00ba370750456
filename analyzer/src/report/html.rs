//! The summary as one self-contained page: no scripts, no fonts, no pictures from elsewhere.

use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde::Serialize;

use super::plot::{self, LoadLine};
use super::table::Table;
use super::tables;
use crate::Summary;
use crate::summary::TargetSummary;
use crate::text::{count, percent, probability, range, significant, threshold};
use crate::verdict::{Finding, Severity, Status};

const TEMPLATE: &str = include_str!("report.html");

#[derive(Serialize)]
struct Plot {
    title: String,
    note: String,
    svg: Value,
}

#[derive(Serialize)]
struct Card {
    name: &'static str,
    severity: &'static str,
    mark: &'static str,
    target: String,
    text: String,
    chips: Vec<(String, String)>,
    examples: Vec<String>,
}

#[derive(Serialize)]
struct Section {
    name: String,
    role: String,
    tiles: Vec<(String, String, &'static str)>,
    plots: Vec<Plot>,
    tables: Vec<Table>,
}

#[derive(Serialize)]
struct Page {
    status: &'static str,
    word: &'static str,
    lead: String,
    rules: String,
    reasons: Vec<String>,
    rows: String,
    runs: String,
    dead_letters: String,
    from: Option<String>,
    to: Option<String>,
    limit: String,
    confidence: String,
    cards: Vec<Card>,
    not_covered: Vec<String>,
    sections: Vec<Section>,
    ledger: Vec<Table>,
}

/// The page.
#[must_use]
pub fn html(summary: &Summary) -> String {
    let mut environment = Environment::new();
    // The name ends in .html: all values are escaped unless marked safe, and only the plots are.
    environment
        .add_template("report.html", TEMPLATE)
        .expect("the template is part of the program and tested");
    let template = environment.get_template("report.html").expect("it was added just now");
    let (status, word, lead) = match summary.verdict.status {
        Status::Pass => ("pass", "Pass", "Nothing in this set speaks against the candidate."),
        Status::Fail => ("fail", "Fail", "The candidate must not be rolled out: "),
        Status::Inconclusive => {
            ("open", "Inconclusive", "The data do not suffice to let the candidate pass: ")
        }
    };
    let page = Page {
        status,
        word,
        lead: format!("{lead}{}", deciding(summary)),
        rules: summary.set.rules.join(", "),
        // The reasons of another verdict are the texts of its findings, which are shown one by one.
        reasons: if summary.verdict.status == Status::Pass {
            summary.verdict.reasons.clone()
        } else {
            Vec::new()
        },
        rows: count(summary.set.rows),
        runs: count(summary.set.runs as u64),
        dead_letters: count(summary.set.dead_letters),
        from: summary.set.received_from.clone(),
        to: summary.set.received_to.clone(),
        limit: threshold(summary.options.min_rate),
        confidence: threshold(summary.options.confidence),
        cards: summary.verdict.findings.iter().map(card).collect(),
        not_covered: summary.verdict.not_covered.clone(),
        sections: summary.targets.iter().map(|target| section(summary, target)).collect(),
        ledger: tables::ledger(summary),
    };
    let rendered = template.render(Serde(&page));
    rendered.expect("the template uses only what it is given, and is tested")
}

/// Names of the findings that decide, each once.
fn deciding(summary: &Summary) -> String {
    let weight = match summary.verdict.status {
        Status::Pass => return String::new(),
        Status::Fail => Severity::Block,
        Status::Inconclusive => Severity::Insufficient,
    };
    let mut names: Vec<&str> = Vec::new();
    for finding in summary.verdict.findings.iter().filter(|finding| finding.severity == weight) {
        if !names.contains(&finding.name) {
            names.push(finding.name);
        }
    }
    names.join(", ").replace('_', " ").to_lowercase()
}

fn card(finding: &Finding) -> Card {
    let facts = &finding.facts;
    let mut chips: Vec<(String, String)> = Vec::new();
    let mut chip =
        |name: &str, value: Option<String>| chips.extend(value.map(|value| (name.to_owned(), value)));
    chip("node", facts.node.clone());
    chip("labels", (!facts.labels.is_empty()).then(|| tables::labels(&facts.labels)));
    chip("onset", facts.onset_inflight.map(|onset| format!("{onset} in flight")));
    let steepest = facts.steepest_inflight.filter(|steepest| facts.onset_inflight != Some(*steepest));
    chip("steepest", steepest.map(|steepest| format!("{steepest} in flight")));
    chip("rate", facts.rate.map(|rate| percent(rate.rate)));
    chip("interval", facts.rate.map(|rate| format!("{} to {}", percent(rate.lower), percent(rate.upper))));
    chip("at", facts.top_bin.map(|(from, to)| format!("{} in flight", range(from, to))));
    chip("against", facts.against.map(|rate| percent(rate.rate)));
    chip("ratio", facts.risk_ratio.map(significant));
    chip("q", facts.q_value.map(probability));
    chip("same rate on all nodes: p", facts.node_pattern_p.map(probability));
    let (severity, mark) = match finding.severity {
        Severity::Block => ("fail", "blocks"),
        Severity::Insufficient => ("open", "insufficient"),
        Severity::Warn => ("warn", "warning"),
    };
    Card {
        name: finding.name,
        severity,
        mark,
        target: finding.target.clone(),
        text: finding.text.clone(),
        chips,
        examples: finding.examples.iter().map(|example| example.exchange_id.clone()).collect(),
    }
}

fn section(summary: &Summary, target: &TargetSummary) -> Section {
    let of_target = || summary.verdict.findings.iter().filter(|finding| finding.target == target.name);
    let degenerate: Vec<&str> = of_target()
        .filter(|finding| finding.name == "DEGENERATE_NODE")
        .filter_map(|finding| finding.facts.node.as_deref())
        .collect();
    let named: Vec<&str> = of_target().filter_map(|finding| finding.facts.node.as_deref()).collect();
    let failed = if target.shadow_failed.events > 0 { "bad" } else { "" };
    let serious = if target.serious.events > 0 { "bad" } else { "" };
    let tiles = vec![
        ("requests mirrored".to_owned(), count(target.rows), ""),
        ("comparable pairs".to_owned(), count(target.comparable), ""),
        ("serious".to_owned(), percent(target.serious.rate), serious),
        ("failed here alone".to_owned(), percent(target.shadow_failed.rate), failed),
        ("nodes".to_owned(), count(target.nodes.len() as u64), ""),
    ];
    Section {
        name: target.name.clone(),
        role: target.role.clone(),
        tiles,
        plots: plots(summary, target, &degenerate, &named),
        tables: tables::of_target(target, summary.options.confidence),
    }
}

fn plots(summary: &Summary, target: &TargetSummary, degenerate: &[&str], named: &[&str]) -> Vec<Plot> {
    let plot = |title: &str, note: String, svg: String| Plot {
        title: title.to_owned(),
        note,
        svg: Value::from_safe_string(svg),
    };
    let line = |target: &TargetSummary| LoadLine {
        name: tables::name(target),
        points: target.peaks.iter().map(|row| (row.inflight_mean, row.sound)).collect(),
    };
    // A candidate is shown beside the controls; a control alone.
    let beside =
        summary.targets.iter().filter(|other| target.role == "candidate" && other.role != "candidate");
    let lines: Vec<LoadLine> = std::iter::once(target).chain(beside).map(line).collect();
    let onsets: Vec<u32> = summary
        .verdict
        .findings
        .iter()
        .filter(|finding| finding.target == target.name)
        .filter_map(|finding| finding.facts.onset_inflight)
        .collect();
    let left_out = if degenerate.is_empty() {
        String::new()
    } else {
        format!("without the degenerate {}; ", degenerate.join(", "))
    };
    let level = threshold(summary.options.confidence);
    let mut made = vec![
        plot(
            "Serious divergence by load",
            format!("{left_out}ribbon: {level} Wilson interval"),
            plot::load(&lines, &onsets),
        ),
        plot(
            "Latency by load",
            "successful answers; full p99, dashed p50".into(),
            plot::latency_by_load(target),
        ),
        plot(
            "Serious divergence by node",
            format!("line: {level} Wilson interval"),
            plot::nodes(&target.nodes, named),
        ),
        plot("Node and load", "the deeper, the higher the rate".into(), plot::heat_map(target)),
        plot(
            "Latency by percentile",
            "successful answers".into(),
            plot::latency(&target.latency, &target.role),
        ),
    ];
    if !target.other_scores.is_empty() || !target.serious_scores.is_empty() {
        let note = "a uniform sample of at most 400 each; equal answers lie on the diagonal";
        made.push(plot("Scores of both answers", note.into(), plot::scores(target)));
    }
    made
}
