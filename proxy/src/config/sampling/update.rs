//! A change of the sampling: the same keys in the file and on the admin port.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer};

use super::{Cap, Sampling, Schedule};
use crate::config::{Fraction, Route};

/// Most copies of one request for one shadow.
const MAX_COPIES: f64 = 64.0;

/// Least and most copies per second: what a clock of nanoseconds counts well.
const MIN_RATE: f64 = 1e-3;
const MAX_RATE: f64 = 1e6;

/// Longest name of a run, in bytes.
const MAX_RUN: usize = 200;

/// Some of the settings of a [`Sampling`]; what is left out stays as it is, `null` takes a bound or a moment away.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Update {
    /// Name of a new run.
    pub run: Option<String>,
    /// Share of requests.
    pub sample: Option<Fraction>,
    /// `random`, `header:NAME` or `body`.
    pub by: Option<String>,
    /// Seed of the choice.
    pub seed: Option<u64>,
    /// Bound on copies per second over all shadows.
    #[serde(deserialize_with = "given")]
    pub max_per_second: Option<Option<f64>>,
    /// Copies at once after a pause; one second's worth where nothing is said.
    #[serde(deserialize_with = "given")]
    pub burst: Option<Option<f64>>,
    /// Copies of a chosen request by name of the shadow.
    pub copies: BTreeMap<String, f64>,
    /// RFC 3339; nothing is mirrored before.
    #[serde(deserialize_with = "given")]
    pub start_at: Option<Option<String>>,
    /// RFC 3339; nothing is mirrored from then on.
    #[serde(deserialize_with = "given")]
    pub stop_at: Option<Option<String>>,
    /// Milliseconds from `start_at`, or from now without it, to the stop.
    pub for_ms: Option<u64>,
    /// The routes, all of them.
    pub routes: Option<Vec<Route>>,
}

/// Why a change is not made.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum UpdateError {
    /// No way to choose.
    #[error("by `{0}`: write random, body or header:NAME")]
    By(String),
    /// A rate that lets nothing through, or is none.
    #[error("max_per_second {0}: write a number from {MIN_RATE} to {MAX_RATE}; sample 0 mirrors nothing")]
    Rate(f64),
    /// A burst in which not one copy fits.
    #[error("burst {0}: write 1 or more copies")]
    Burst(f64),
    /// A burst without a rate.
    #[error("burst without max_per_second: give both")]
    BurstAlone,
    /// Copies that are no number, or too many.
    #[error("copies {1} of {0}: write a number from 0 to {MAX_COPIES}")]
    Copies(String, f64),
    /// A shadow that is not there.
    #[error("copies of `{0}`: there is no such shadow; there are {1}")]
    NoShadow(String, String),
    /// A time that is none.
    #[error("{0} `{1}`: write RFC 3339, such as 2026-12-01T08:00:00Z")]
    Time(&'static str, String),
    /// Two ways to say when to stop.
    #[error("stop_at and for_ms: give one of them")]
    TwoStops,
    /// A stop before the start.
    #[error("the stop is not after the start: nothing would be mirrored")]
    Order,
    /// A name of a run that is none.
    #[error("run `{0}`: write 1 to {MAX_RUN} bytes without control characters")]
    Run(String),
}

/// A key that is there, `null` or not.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl Update {
    /// What is in force after the change; `now_us` is where `for_ms` counts from without a start.
    ///
    /// # Errors
    /// The first value that is none, with the remedy.
    pub fn apply(&self, before: &Sampling, shadows: &[String], now_us: i64) -> Result<Sampling, UpdateError> {
        if let Some(run) = &self.run
            && (run.is_empty() || run.len() > MAX_RUN || run.chars().any(char::is_control))
        {
            return Err(UpdateError::Run(run.clone()));
        }
        let mut copies = before.copies.clone();
        for (shadow, number) in &self.copies {
            if !shadows.contains(shadow) {
                return Err(UpdateError::NoShadow(shadow.clone(), shadows.join(", ")));
            }
            if !(0.0..=MAX_COPIES).contains(number) {
                return Err(UpdateError::Copies(shadow.clone(), *number));
            }
            copies.insert(shadow.clone(), *number);
        }
        Ok(Sampling {
            fraction: self.sample.unwrap_or(before.fraction),
            by: self.by.as_ref().map_or_else(|| Ok(before.by.clone()), |by| by.parse())?,
            seed: self.seed.unwrap_or(before.seed),
            cap: self.cap(before.cap)?,
            copies,
            schedule: self.schedule(before.schedule, now_us)?,
            routes: self.routes.clone().unwrap_or_else(|| before.routes.clone()),
        })
    }

    fn cap(&self, before: Option<Cap>) -> Result<Option<Cap>, UpdateError> {
        let rate = self.max_per_second.unwrap_or(before.map(|cap| cap.per_second));
        let Some(per_second) = rate else {
            return if let Some(Some(_)) = self.burst { Err(UpdateError::BurstAlone) } else { Ok(None) };
        };
        if !(MIN_RATE..=MAX_RATE).contains(&per_second) {
            return Err(UpdateError::Rate(per_second));
        }
        // A burst that was never said follows the rate.
        let kept = before.map(|cap| cap.burst).filter(|_| self.max_per_second.is_none());
        let burst = self.burst.unwrap_or(kept).unwrap_or(per_second.max(1.0));
        if !burst.is_finite() || burst < 1.0 {
            return Err(UpdateError::Burst(burst));
        }
        Ok(Some(Cap { per_second, burst }))
    }

    fn schedule(&self, before: Schedule, now_us: i64) -> Result<Schedule, UpdateError> {
        let moment = |key, text: &Option<String>| {
            text.as_ref()
                .map(|text| time_us(text).ok_or_else(|| UpdateError::Time(key, text.clone())))
                .transpose()
        };
        let given_start = self.start_at.as_ref().map(|text| moment("start_at", text)).transpose()?;
        let given_stop = self.stop_at.as_ref().map(|text| moment("stop_at", text)).transpose()?;
        let (start_us, stop_us) = match self.for_ms {
            Some(_) if given_stop.is_some() => return Err(UpdateError::TwoStops),
            Some(millis) => {
                let start = given_start.flatten();
                let micros = i64::try_from(millis.saturating_mul(1000)).unwrap_or(i64::MAX);
                (start, Some(start.unwrap_or(now_us).saturating_add(micros)))
            }
            None => (given_start.unwrap_or(before.start_us), given_stop.unwrap_or(before.stop_us)),
        };
        let changed = given_start.is_some() || given_stop.is_some();
        let empty = self.for_ms == Some(0)
            || changed && stop_us.is_some_and(|stop| stop <= start_us.unwrap_or(i64::MIN));
        if empty {
            return Err(UpdateError::Order);
        }
        Ok(Schedule { start_us, stop_us })
    }
}

/// Microseconds since the Unix epoch of a time in RFC 3339.
fn time_us(text: &str) -> Option<i64> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_micros())
}

/// The same time as text, in UTC.
pub(super) fn time_text(at_us: i64) -> String {
    DateTime::<Utc>::from_timestamp_micros(at_us)
        .map_or_else(|| at_us.to_string(), |time| time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

#[cfg(test)]
mod tests;
