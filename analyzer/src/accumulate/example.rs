//! Bounded examples: the worst pairs, and a sample of scores, both the same however the set was cut.

use divergence::Class;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::number;
use crate::row::Row;

/// One pair to look at and to replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// Id of the row.
    pub exchange_id: String,
    /// The client's own id of the request.
    pub request_id: Option<String>,
    /// Node of the primary that answered.
    pub primary_node: String,
    /// Node of the shadow that answered.
    pub shadow_node: String,
    /// Name of the class.
    pub class: String,
    /// What within the class.
    pub detail: String,
    /// Requests of the shadow under way on its node at dispatch, this one not counted.
    pub inflight: u32,
    /// Largest difference in units of the tolerance; infinite (`"inf"` in JSON) for NaN and infinity.
    #[serde(with = "number")]
    pub tolerance_units: Option<f64>,
    /// Largest |log10(shadow / primary)|.
    #[serde(with = "number")]
    pub log10_ratio: Option<f64>,
    /// The output that differs most.
    pub worst_output: Option<String>,
    /// First number of the primary's answer.
    #[serde(with = "number")]
    pub primary_score: Option<f64>,
    /// First number of the shadow's answer.
    #[serde(with = "number")]
    pub shadow_score: Option<f64>,
    /// Latency of the primary, µs.
    pub primary_latency_us: Option<u64>,
    /// Latency of the shadow, µs.
    pub shadow_latency_us: Option<u64>,
}

/// NaN counts as infinite, a missing value as nothing.
fn magnitude(value: Option<f64>) -> f64 {
    value.map_or(-1.0, |value| if value.is_nan() { f64::INFINITY } else { value.abs() })
}

impl Example {
    fn new(row: &Row<'_>) -> Self {
        let beyond = |value: f64| if value.is_nan() { f64::INFINITY } else { value };
        Self {
            exchange_id: row.exchange_id.to_owned(),
            request_id: row.request_id.map(str::to_owned),
            primary_node: row.primary.node.to_owned(),
            shadow_node: row.shadow.node.to_owned(),
            class: row.class.as_str().to_owned(),
            detail: clipped(row.detail, 200).to_owned(),
            inflight: row.shadow.inflight,
            tolerance_units: row.tolerance_units.map(beyond),
            log10_ratio: row.log10_ratio.map(beyond),
            worst_output: row.worst_output.map(|name| clipped(name, 200).to_owned()),
            primary_score: row.primary.score.map(beyond),
            shadow_score: row.shadow.score.map(beyond),
            primary_latency_us: row.primary.latency_us,
            shadow_latency_us: row.shadow.latency_us,
        }
    }

    /// Worst first, then by id.
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        let by = |value: fn(&Self) -> Option<f64>| magnitude(value(other)).total_cmp(&magnitude(value(self)));
        by(|example| example.tolerance_units)
            .then(by(|example| example.log10_ratio))
            .then_with(|| self.exchange_id.cmp(&other.exchange_id))
    }
}

/// The first `limit` bytes of `text`, cut between characters.
pub(crate) fn clipped(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The worst examples of one class, worst first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Examples {
    pub(crate) worst: Vec<Example>,
}

impl Examples {
    /// Adds a row unless `keep` worse ones are held.
    pub(crate) fn add(&mut self, row: &Row<'_>, keep: usize) {
        // Most rows are no worse than those held: told before an example is made.
        let no_worse = |last: &Example| {
            let by =
                |of_row: Option<f64>, of_last: Option<f64>| magnitude(of_last).total_cmp(&magnitude(of_row));
            by(row.tolerance_units, last.tolerance_units)
                .then(by(row.log10_ratio, last.log10_ratio))
                .then_with(|| row.exchange_id.cmp(&last.exchange_id))
                .is_ge()
        };
        if self.worst.len() >= keep && self.worst.last().is_none_or(no_worse) {
            return;
        }
        self.insert(Example::new(row), keep);
    }

    pub(crate) fn merge(&mut self, other: Self, keep: usize) {
        for example in other.worst {
            self.insert(example, keep);
        }
    }

    fn insert(&mut self, example: Example, keep: usize) {
        let at = self.worst.partition_point(|held| held.order(&example).is_lt());
        if at >= keep {
            return;
        }
        self.worst.insert(at, example);
        self.worst.truncate(keep);
    }
}

/// Scores of both answers of one pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScorePoint {
    /// First number of the primary's answer.
    pub primary: f64,
    /// First number of the shadow's answer.
    pub shadow: f64,
    /// Name of the class.
    pub class: String,
}

/// A bounded sample of score pairs: those whose ids have the smallest hashes, so that it is uniform and needs no chance.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ScoreSample {
    /// Ascending by hash, then id.
    points: Vec<(u64, String, ScorePoint)>,
}

impl ScoreSample {
    /// Points kept: enough to show a shape, few enough for a page.
    pub(crate) const KEEP: usize = 400;

    /// Adds the row's scores, if both are finite.
    pub(crate) fn add(&mut self, row: &Row<'_>) {
        let finite = |score: Option<f64>| score.filter(|score| score.is_finite());
        let (Some(primary), Some(shadow)) = (finite(row.primary.score), finite(row.shadow.score)) else {
            return;
        };
        if row.class == Class::Incomparable {
            return;
        }
        let hash = xxh3_64(row.exchange_id.as_bytes());
        if self.points.len() >= Self::KEEP && self.points.last().is_some_and(|last| last.0 < hash) {
            return;
        }
        let point = ScorePoint { primary, shadow, class: row.class.as_str().to_owned() };
        self.insert((hash, row.exchange_id.to_owned(), point));
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for point in other.points {
            self.insert(point);
        }
    }

    fn insert(&mut self, point: (u64, String, ScorePoint)) {
        let at = self.points.partition_point(|held| (held.0, &held.1) < (point.0, &point.1));
        if at >= Self::KEEP {
            return;
        }
        self.points.insert(at, point);
        self.points.truncate(Self::KEEP);
    }

    pub(crate) fn points(&self) -> impl Iterator<Item = &ScorePoint> {
        self.points.iter().map(|(_, _, point)| point)
    }
}
