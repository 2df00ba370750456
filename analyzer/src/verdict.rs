//! The judgement: one file per rule, all in one list; findings, their numbers as data, and what was not covered.

mod availability;
mod coverage;
mod degenerate_node;
mod insufficient;
mod load_race;
mod node_outlier;
mod numeric_drift;
mod serious_divergence;

use std::collections::BTreeSet;

use serde::Serialize;

use crate::Options;
use crate::summary::{Example, Labels, Rate, RunLedger, SetFacts};
use crate::view::View;

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The candidate must not be rolled out.
    Block,
    /// The data do not suffice to let it pass.
    Insufficient,
    /// To be known; does not decide.
    Warn,
}

/// What the judgement comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Nothing speaks against the candidate, within what was covered.
    Pass,
    /// A finding blocks it.
    Fail,
    /// Nothing blocks it, but the data do not suffice.
    Inconclusive,
}

/// Numbers behind a finding; absent where they do not apply.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Facts {
    /// The node that is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Its labels.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Nodes on which it shows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Requests under way at once, the pair itself not counted, from which on it surely shows: the foot of the climb.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub onset_inflight: Option<u32>,
    /// In-flight count at which the rate steps up most; the onset itself when there is one step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steepest_inflight: Option<u32>,
    /// Lowest in-flight count at which it was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seen_inflight: Option<u32>,
    /// In-flight range of the highest load bin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_bin: Option<(u32, u32)>,
    /// The rate that matters: at the top load bin, or of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The rate it is held against: below the onset, or of the other nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Rate>,
    /// Ratio of high to low.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk_ratio: Option<f64>,
    /// Lower end of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk_ratio_lower: Option<f64>,
    /// p-value of the rule's test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
    /// The same, adjusted for the number of tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q_value: Option<f64>,
    /// p-value of the hypothesis that all nodes share one rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_pattern_p: Option<f64>,
}

/// One thing found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Name of the rule, such as `LOAD_RACE`.
    pub name: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// The shadow it is about; empty when it is about the whole set.
    pub target: String,
    /// What was found, in words and numbers.
    pub text: String,
    /// The numbers.
    pub facts: Facts,
    /// Pairs to look at and to replay.
    pub examples: Vec<Example>,
}

/// The judgement.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// What it comes to.
    pub status: Status,
    /// One line for each finding that decides.
    pub reasons: Vec<String>,
    /// All findings, the weightiest first.
    pub findings: Vec<Finding>,
    /// What the data cannot tell: a pass says nothing about these.
    pub not_covered: Vec<String>,
}

impl Verdict {
    /// Exit code of the program: 0 pass, 1 fail, 2 inconclusive.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self.status {
            Status::Pass => 0,
            Status::Fail => 1,
            Status::Inconclusive => 2,
        }
    }
}

/// One candidate before its judges.
pub(crate) struct Case<'a> {
    pub(crate) candidate: &'a View<'a>,
    /// The control with the most pairs.
    pub(crate) control: Option<&'a View<'a>>,
    pub(crate) options: &'a Options,
    /// Nodes that [`degenerate_node`] names: no other rule may blame load or luck for them.
    pub(crate) degenerate: BTreeSet<&'a str>,
}

impl Case<'_> {
    fn finding(&self, name: &'static str, severity: Severity, text: String) -> Finding {
        let target = self.candidate.key.name.clone();
        Finding { name, severity, target, text, facts: Facts::default(), examples: Vec::new() }
    }
}

/// A rule: what it finds in a case, given what the rules before it found.
type Rule = fn(&Case<'_>, &[Finding]) -> Vec<Finding>;

/// All rules about one candidate, in the order in which they are asked.
const RULES: &[Rule] = &[
    degenerate_node::judge,
    load_race::judge,
    node_outlier::judge,
    availability::judge,
    serious_divergence::judge,
    numeric_drift::judge,
    insufficient::judge,
];

/// Significance that adjusted p-values must reach.
const Q_MAX: f64 = 0.01;

/// Judges all candidates among `views`.
pub(crate) fn judge(views: &[View<'_>], set: &SetFacts, ledger: &[RunLedger], options: &Options) -> Verdict {
    let control = views.iter().filter(|view| !view.is_candidate()).max_by_key(|view| view.total.comparable());
    let mut findings = insufficient::of_set(views, set, ledger, options);
    for candidate in views.iter().filter(|view| view.is_candidate()) {
        let degenerate = degenerate_nodes(candidate, options);
        let case = Case { candidate, control, options, degenerate };
        let mut found = Vec::new();
        for rule in RULES {
            found.extend(rule(&case, &found));
        }
        findings.extend(found);
    }
    // A stable sort: within a severity the order of targets and rules stays.
    findings.sort_by_key(|finding| finding.severity);
    let has = |severity| findings.iter().any(|finding| finding.severity == severity);
    let status = match () {
        () if has(Severity::Block) => Status::Fail,
        () if has(Severity::Insufficient) => Status::Inconclusive,
        () => Status::Pass,
    };
    let deciding = match status {
        Status::Fail => Some(Severity::Block),
        Status::Inconclusive => Some(Severity::Insufficient),
        Status::Pass => None,
    };
    let reasons = match deciding {
        Some(severity) => findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .map(|finding| format!("{}: {}", finding.name, finding.text))
            .collect(),
        None => views.iter().filter(|view| view.is_candidate()).map(|view| passed(view, options)).collect(),
    };
    Verdict { status, reasons, findings, not_covered: coverage::not_covered(views, set, ledger) }
}

/// Names of the nodes of a shadow that are degenerate.
pub(crate) fn degenerate_nodes<'a>(view: &View<'a>, options: &Options) -> BTreeSet<&'a str> {
    degenerate_node::named(view, options).iter().map(|named| named.node.name).collect()
}

fn passed(view: &View<'_>, options: &Options) -> String {
    let rate = Rate::new(view.total.serious_share(), options.confidence);
    // Above the limit only where a control is no better.
    let (above, limit) = (rate.upper > Some(options.min_rate), crate::text::threshold(options.min_rate));
    format!(
        "PASS: {}: {} serious divergences in {} comparable pairs, rate at most {} ({})",
        view.key.name,
        crate::text::count(rate.events),
        crate::text::count(rate.trials),
        crate::text::percent(rate.upper),
        if above { format!("at most {limit} more than the control's") } else { format!("limit {limit}") },
    )
}
