//! The requests: made-up ad impressions whose features are spread as in the model's training data.

use bytes::Bytes;
use serde::Serialize;

use crate::model::{FEATURES, Ranker, Row};
use crate::random::Stream;

/// Most rows of a drawn request; all counts from 1 on are as likely.
pub const MAX_ROWS_DRAWN: u64 = 4;

/// One request: features of the ads shown at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Impression {
    /// Unique within a seed; sent as `x-request-id` and as the protocol's own `id`.
    pub id: String,
    /// One to [`MAX_ROWS_DRAWN`] rows.
    pub rows: Vec<Row>,
    /// The request's body, V2 JSON.
    pub body: Bytes,
}

#[derive(Serialize)]
struct Body<'a> {
    id: &'a str,
    inputs: [Input<'a>; 1],
}

#[derive(Serialize)]
struct Input<'a> {
    name: &'static str,
    datatype: &'static str,
    shape: [usize; 2],
    data: &'a [f32],
}

impl Impression {
    /// The request of that number, the same for the same seed whoever sends it.
    #[must_use]
    pub fn draw(seed: u64, number: u64) -> Self {
        let mut stream = Stream::new(Stream::new(seed).bits() ^ number);
        let count = 1 + stream.below(MAX_ROWS_DRAWN) as usize;
        let features = Ranker::shipped().features();
        let data: Vec<f32> =
            (0..count).flat_map(|_| features).map(|feature| feature.value_at(stream.unit())).collect();
        let id = format!("demo-{seed:x}-{number:06}");
        let input = Input { name: "INPUT", datatype: "FP32", shape: [count, FEATURES], data: &data };
        let body = serde_json::to_vec(&Body { id: &id, inputs: [input] })
            .expect("strings and finite numbers always have a JSON form")
            .into();
        Self { id, rows: data.as_chunks::<FEATURES>().0.to_vec(), body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn requests_depend_on_seed_and_number_alone() {
        assert_eq!(Impression::draw(1, 5), Impression::draw(1, 5));
        let bodies: BTreeSet<Bytes> =
            (0..3).flat_map(|seed| (0..500).map(move |number| Impression::draw(seed, number).body)).collect();
        assert_eq!(bodies.len(), 1500);
    }

    #[test]
    fn rows_vary_in_number_and_are_spread_as_in_training() {
        let drawn: Vec<Impression> = (0..4000).map(|number| Impression::draw(9, number)).collect();
        let counts: BTreeSet<usize> = drawn.iter().map(|impression| impression.rows.len()).collect();
        assert_eq!(counts, BTreeSet::from([1, 2, 3, 4]));
        let rows: Vec<Row> = drawn.into_iter().flat_map(|impression| impression.rows).collect();
        for (index, feature) in Ranker::shipped().features().iter().enumerate() {
            let middle = feature.value_at(0.5);
            let below = rows.iter().filter(|row| row[index] <= middle).count() as f64 / rows.len() as f64;
            // Whole numbers tie with the median, so more than half may lie at or below it.
            let most = if feature.integer { 0.70 } else { 0.53 };
            assert!((0.47..most).contains(&below), "{}: {below} at or below the median", feature.name);
        }
        let scores: Vec<f64> = rows.iter().map(|row| Ranker::shipped().probability(row)).collect();
        let clicked = scores.iter().filter(|&&score| score >= 0.5).count() as f64 / scores.len() as f64;
        assert!((0.15..0.40).contains(&clicked), "{clicked}, training says 0.26");
    }
}
