//! LOAD_RACE: serious divergence that grows with the load on a node, on all nodes alike: a race, or memory reused too early.

use super::{Case, Facts, Finding, Q_MAX, Severity};
use crate::accumulate::Counts;
use crate::stats::risk_ratio::RiskRatio;
use crate::stats::{Share, fdr, fisher, homogeneity, newcombe, normal, onset, risk_ratio, trend};
use crate::summary::{Example, Rate};
use crate::text::{count, named_probability, percent, range, significant};
use crate::view::{LoadBin, NodeView, View, by_load, by_peak, levels, load_bins, mid_rank_bins};

/// High load must be at least so many times as bad as low load …
const RATIO: f64 = 3.0;
/// … and the lower bound of that ratio above this.
const RATIO_LOWER: f64 = 1.5;
/// Significance of a further step below the steepest one.
const FOOT_P: f64 = 1e-3;
/// Pairs below the onset that make its ratio worth something.
const BELOW: u64 = 200;

/// The trend of one shadow with load, over the nodes given.
struct Trend<'v, 'a> {
    nodes: Vec<&'v NodeView<'a>>,
    p_value: f64,
    ratio: RiskRatio,
    /// The steepest step by in-flight count at dispatch, and where it is.
    split: onset::Split,
    high: u32,
    /// The foot of the climb, and what lies below it, by the most requests under way at once during a pair: a pair that was
    /// dispatched at low load may be hit by requests that came after it, so the count at dispatch blurs the onset.
    onset: u32,
    below: Share,
    /// The steepest step on that scale.
    steepest: u32,
    first_seen: u32,
}

const SERIOUS: fn(&Counts) -> Share = Counts::serious_share;

impl<'v, 'a> Trend<'v, 'a> {
    /// `None` where no trend is defined: no events, or one load level.
    fn of(view: &'v View<'a>, bins: usize, confidence: f64, skip: impl Fn(&str) -> bool) -> Option<Self> {
        let nodes: Vec<&NodeView<'a>> = view.nodes.iter().filter(|node| !skip(node.name)).collect();
        let pooled = by_load(nodes.iter().copied());
        let levels_of = mid_rank_bins(&pooled, bins);
        let strata: Vec<_> = nodes
            .iter()
            .map(|node| levels(&levels_of, |bin| node.share(SERIOUS, |load| bin.holds(load))))
            .collect();
        let p_value = normal::upper_tail(trend::stratified(&strata)?);
        let loads: Vec<u32> = pooled.keys().copied().collect();
        let shares: Vec<Share> = pooled.values().map(Counts::serious_share).collect();
        let split = onset::step(&shares)?;
        let at_peak = by_peak(nodes.iter().copied());
        let peaks: Vec<u32> = at_peak.keys().copied().collect();
        let peak_shares: Vec<Share> = at_peak.values().map(Counts::serious_share).collect();
        let foot = onset::foot(&peak_shares, FOOT_P, RATIO_LOWER)?;
        let steepest = onset::step(&peak_shares)?;
        let first_seen =
            at_peak.iter().find(|(_, counts)| counts.serious_share().events > 0).map(|(peak, _)| *peak)?;
        let ratio = ratio(&nodes, &split, confidence)?;
        Some(Self {
            p_value,
            ratio,
            high: loads[split.from],
            onset: peaks[foot.from],
            steepest: peaks[steepest.from],
            below: foot.below,
            first_seen,
            split,
            nodes,
        })
    }

    fn rises(&self, q_value: f64) -> bool {
        q_value < Q_MAX && self.ratio.ratio >= RATIO && self.ratio.interval.lower > RATIO_LOWER
    }
}

/// Top third of the load against the bottom third; or, where the onset lies within the bottom third, from the onset on against
/// below it, if that split holds against the number of splits tried.
fn ratio(nodes: &[&NodeView<'_>], split: &onset::Split, confidence: f64) -> Option<RiskRatio> {
    let thirds = load_bins(nodes.iter().copied(), 3);
    let share = |bin: &LoadBin| nodes.iter().map(|node| node.share(SERIOUS, |load| bin.holds(load))).sum();
    let of_thirds = match thirds.as_slice() {
        [bottom, .., top] => risk_ratio::katz(share(top), share(bottom), confidence),
        _ => None,
    };
    let of_split = (split.below.trials >= BELOW && split.p_value < Q_MAX)
        .then(|| risk_ratio::katz(split.above, split.below, confidence))
        .flatten();
    let lower = |ratio: &Option<RiskRatio>| ratio.map_or(0.0, |ratio| ratio.interval.lower);
    if lower(&of_split) > lower(&of_thirds) { of_split } else { of_thirds }
}

pub(super) fn judge(case: &Case<'_>, _: &[Finding]) -> Vec<Finding> {
    let (bins, confidence) = (case.options.load_bins, case.options.confidence);
    let trend = Trend::of(case.candidate, bins, confidence, |name| case.degenerate.contains(name));
    let Some(trend) = trend else { return Vec::new() };
    let of_control = case.control.and_then(|control| Trend::of(control, bins, confidence, |_| false));
    let p_values = [trend.p_value, of_control.as_ref().map_or(f64::NAN, |trend| trend.p_value)];
    let q_values = fdr::benjamini_hochberg(&p_values);
    if !trend.rises(q_values[0]) {
        return Vec::new();
    }
    let high = |load: u32| load >= trend.high;
    let expected = trend.split.above.rate().unwrap_or(0.0);
    let at_high: Vec<(&NodeView<'_>, Share)> =
        trend.nodes.iter().map(|node| (*node, node.share(SERIOUS, high))).collect();
    let shows: Vec<&str> = at_high
        .iter()
        .filter(|(node, above)| {
            above.events >= 2 && above.rate() > node.share(SERIOUS, |load| load < trend.high).rate()
        })
        .map(|(node, _)| node.name)
        .collect();
    // A node that saw enough high load to show it, were it like the others.
    let could = at_high.iter().filter(|(_, above)| above.trials as f64 * expected >= 3.0).count();
    if !(shows.len() >= 2 || (shows.len() == 1 && could <= 1)) {
        return Vec::new();
    }
    let doubt = if of_control.is_some_and(|control| control.rises(q_values[1])) {
        Some("the control rises with load too, so the cause may not be the candidate's own".to_owned())
    } else {
        case.control.and_then(|control| as_much(control, &trend, &at_high, confidence))
    };
    vec![finding(case, &trend, q_values[0], &shows, &at_high, doubt)]
}

/// Whether the control diverges as much at high load, in words: it may have too few pairs to show a trend of its own. One that
/// shows nothing there says nothing either.
fn as_much(
    control: &View<'_>,
    trend: &Trend<'_, '_>,
    at_high: &[(&NodeView<'_>, Share)],
    confidence: f64,
) -> Option<String> {
    let own: Share = at_high.iter().map(|(_, share)| *share).sum();
    let theirs: Share = control.nodes.iter().map(|node| node.share(SERIOUS, |load| load >= trend.high)).sum();
    let difference = newcombe::interval(own, theirs, confidence)?;
    (theirs.events > 0 && difference.lower <= 0.0).then(|| {
        format!(
            "the control diverges as much from {} in flight on, {} of {} pairs, so the cause may not be the candidate's own",
            trend.high,
            count(theirs.events),
            count(theirs.trials),
        )
    })
}

fn finding(
    case: &Case<'_>,
    trend: &Trend<'_, '_>,
    q_value: f64,
    shows: &[&str],
    at_high: &[(&NodeView<'_>, Share)],
    doubt: Option<String>,
) -> Finding {
    let confidence = case.options.confidence;
    let bins = load_bins(trend.nodes.iter().copied(), case.options.load_bins);
    let top = bins.last();
    let at_top: Share = trend
        .nodes
        .iter()
        .map(|node| node.share(SERIOUS, |load| top.is_some_and(|bin| bin.holds(load))))
        .sum();
    let rate = Rate::new(at_top, confidence);
    let below = Rate::new(trend.below, confidence);
    let shares: Vec<Share> = at_high.iter().map(|(_, share)| *share).collect();
    let (pattern, node_pattern_p) = node_pattern(&shares);
    let steepest = match trend.steepest {
        same if same == trend.onset => String::new(),
        higher => format!(", steepest at {higher}"),
    };
    let text = format!(
        "serious divergence grows with load: onset at {} in flight{}, {} of {} pairs below it; {} at the top load ({} in flight at dispatch); \
         ratio {} (at least {}), {}; seen on {} of {} nodes, {pattern}{}",
        trend.onset,
        steepest,
        percent(below.rate),
        count(trend.below.trials),
        rate.text(),
        top.map_or_else(String::new, |bin| range(bin.from, bin.to)),
        significant(trend.ratio.ratio),
        significant(trend.ratio.interval.lower),
        named_probability("q", q_value),
        count(shows.len() as u64),
        count(trend.nodes.len() as u64),
        doubt.as_ref().map_or_else(String::new, |doubt| format!("; {doubt}")),
    );
    let severity = if doubt.is_some() { Severity::Warn } else { Severity::Block };
    Finding {
        facts: Facts {
            nodes: shows.iter().map(|name| (*name).to_owned()).collect(),
            onset_inflight: Some(trend.onset),
            steepest_inflight: Some(trend.steepest),
            first_seen_inflight: Some(trend.first_seen),
            top_bin: top.map(|bin| (bin.from, bin.to)),
            rate: Some(rate),
            against: Some(below),
            risk_ratio: Some(trend.ratio.ratio),
            risk_ratio_lower: Some(trend.ratio.interval.lower),
            p_value: Some(trend.p_value),
            q_value: Some(q_value),
            node_pattern_p,
            ..Facts::default()
        },
        examples: examples(trend),
        ..case.finding("LOAD_RACE", severity, text)
    }
}

/// Whether the nodes differ at loads from the onset on, in words and as a p-value.
fn node_pattern(shares: &[Share]) -> (String, Option<f64>) {
    let Some(test) = homogeneity::chi_square(shares) else {
        return ("so no node pattern can be told".into(), None);
    };
    let (p_value, how) = if test.least_expected < 5.0 {
        // Too few for the chi-square: each node against the rest, the least of the adjusted p-values.
        let all: Share = shares.iter().copied().sum();
        let p_values: Vec<f64> = shares
            .iter()
            .map(|share| {
                let rest = Share { events: all.events - share.events, trials: all.trials - share.trials };
                fisher::two_sided(*share, rest)
            })
            .collect();
        let least = fdr::benjamini_hochberg(&p_values).into_iter().fold(1.0, f64::min);
        (least, "Fisher, each node against the rest".to_owned())
    } else {
        let how =
            format!("chi-square {} on {} degrees of freedom", significant(test.chi_square), test.degrees);
        (test.p_value, how)
    };
    let word = if p_value < Q_MAX { "the nodes differ" } else { "no node pattern" };
    (format!("{word} ({how}, {})", named_probability("p", p_value)), Some(p_value))
}

/// The worst serious pairs of each node that shows it, a few from each, in a fixed order.
fn examples(trend: &Trend<'_, '_>) -> Vec<Example> {
    const SHOWN: usize = 6;
    let mut found: Vec<Example> = Vec::new();
    for depth in 0..SHOWN {
        for node in &trend.nodes {
            let serious = node
                .part
                .examples
                .iter()
                .filter(|(class, _)| **class != divergence::Class::Incomparable as u8);
            let at_load =
                serious.flat_map(|(_, held)| &held.worst).filter(|example| example.inflight >= trend.high);
            found.extend(at_load.skip(depth).take(1).cloned());
        }
    }
    found.truncate(SHOWN);
    found
}
