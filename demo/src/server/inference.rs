//! One inference: the model's answer, the time it takes, and what the faults make of both.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::fault::Fault;
use super::workspace::Pool;
use crate::model::{Ranker, Row};
use crate::random::Stream;

/// Service times spread evenly over this share of the mean.
const JITTER: f64 = 0.25;

/// What a client gets to see of an inference.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ending {
    /// One score per row.
    Scores(Vec<f32>),
    /// Status 500.
    Failed,
    /// No answer at all.
    Hanging,
}

/// The model behind one server, with the faults planted in it.
#[derive(Debug)]
pub(super) struct Engine {
    ranker: &'static Ranker,
    service_time: Duration,
    zero: bool,
    pool: Option<Pool>,
    error_every: Option<NonZeroU64>,
    hang_every: Option<NonZeroU64>,
    count: AtomicU64,
}

impl Engine {
    pub(super) fn new(ranker: &'static Ranker, service_time: Duration, faults: &[Fault]) -> Self {
        let mut engine = Self {
            ranker,
            service_time,
            zero: false,
            pool: None,
            error_every: None,
            hang_every: None,
            count: AtomicU64::new(0),
        };
        for fault in faults {
            match *fault {
                Fault::Zero => engine.zero = true,
                Fault::Race { slots } => engine.pool = Some(Pool::new(slots)),
                Fault::Slow { factor } => engine.service_time = scaled(service_time, factor),
                Fault::Error { every } => engine.error_every = Some(every),
                Fault::Hang { every } => engine.hang_every = Some(every),
            }
        }
        engine
    }

    /// Runs the model on the rows.
    pub(super) async fn run(&self, rows: &[Row]) -> Ending {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let due = |every: Option<NonZeroU64>| every.is_some_and(|every| number.is_multiple_of(every.get()));
        if due(self.hang_every) {
            return Ending::Hanging;
        }
        let time = self.time_of(number);
        if due(self.error_every) {
            tokio::time::sleep(time).await;
            return Ending::Failed;
        }
        let scores: Vec<f32> = rows.iter().map(|row| self.score(row)).collect();
        let Some(pool) = &self.pool else {
            tokio::time::sleep(time).await;
            return Ending::Scores(scores);
        };
        let hold = pool.take(rows.len());
        hold.write(&scores);
        tokio::time::sleep(time / 2).await;
        hold.scale();
        tokio::time::sleep(time / 2).await;
        Ending::Scores(hold.read())
    }

    fn score(&self, row: &Row) -> f32 {
        if self.zero { 0.0 } else { self.ranker.probability(row) as f32 }
    }

    /// Requests that start together would stay in step for ever if all took the same time.
    fn time_of(&self, number: u64) -> Duration {
        scaled(self.service_time, 1.0 + JITTER * (Stream::new(number).unit() - 0.5))
    }
}

/// A duration times a factor above 0; the longest there is when that is too long.
fn scaled(duration: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(duration.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(service_time: Duration, faults: &[&str]) -> Engine {
        let faults: Vec<Fault> = faults.iter().map(|text| text.parse().unwrap()).collect();
        Engine::new(Ranker::shipped(), service_time, &faults)
    }

    #[test]
    fn times_spread_an_eighth_around_the_mean_and_repeat() {
        let mean = Duration::from_millis(80);
        let engine = engine(mean, &[]);
        let times: Vec<Duration> = (1..=1000).map(|number| engine.time_of(number)).collect();
        assert!(times.iter().all(|time| (70.0..=90.0).contains(&(time.as_secs_f64() * 1e3))));
        assert!(
            times.iter().any(|&time| time < mean.mul_f64(0.9))
                && times.iter().any(|&time| time > mean.mul_f64(1.1))
        );
        assert_eq!(times[0], engine.time_of(1));
    }

    #[test]
    fn a_slow_server_takes_the_factor_longer() {
        let (usual, slow) =
            (engine(Duration::from_millis(10), &[]), engine(Duration::from_millis(10), &["slow:3"]));
        assert!((slow.time_of(5).as_secs_f64() - 3.0 * usual.time_of(5).as_secs_f64()).abs() < 1e-8);
        assert_eq!(engine(Duration::MAX, &["slow:1000"]).service_time, Duration::MAX);
    }

    #[tokio::test]
    async fn every_nth_fails_or_hangs_and_the_rest_is_right() {
        let engine = engine(Duration::ZERO, &["error:2", "hang:3"]);
        let row = [0.1; 8];
        let right = Ending::Scores(vec![Ranker::shipped().probability(&row) as f32]);
        let mut endings = Vec::new();
        for _ in 0..6 {
            endings.push(engine.run(&[row]).await);
        }
        let expected =
            [right.clone(), Ending::Failed, Ending::Hanging, Ending::Failed, right, Ending::Hanging];
        assert_eq!(endings, expected);
    }
}
