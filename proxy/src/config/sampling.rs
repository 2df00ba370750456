//! Which requests get a copy, how many, and when: what can be changed while the proxy runs.

mod update;

use std::collections::BTreeMap;

use http::HeaderName;

use super::{Fraction, Route};

pub use update::{Update, UpdateError};

/// How requests are chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// Share of the requests that a route allows that get a copy.
    pub fraction: Fraction,
    /// What decides about one request.
    pub by: By,
    /// Seed of the choice.
    pub seed: u64,
    /// Bound on copies per second.
    pub cap: Option<Cap>,
    /// Copies of a chosen request per shadow, by name of the shadow; 1 where nothing is said.
    pub copies: BTreeMap<String, f64>,
    /// When anything is mirrored at all.
    pub schedule: Schedule,
    /// Which requests may be mirrored; the first route that matches decides, no match means not mirrored.
    pub routes: Vec<Route>,
}

impl Default for Sampling {
    /// Every inference call, once for each shadow, at any time.
    fn default() -> Self {
        Self {
            fraction: Fraction::ALL,
            by: By::Random,
            seed: 0,
            cap: None,
            copies: BTreeMap::new(),
            schedule: Schedule::default(),
            routes: vec![Route::default()],
        }
    }
}

impl Sampling {
    /// Copies of a chosen request that a shadow gets, on average.
    #[must_use]
    pub fn copies_of(&self, shadow: &str) -> f64 {
        self.copies.get(shadow).copied().unwrap_or(1.0)
    }
}

/// What decides whether a request is among the chosen share. Hashes are XXH3 with the seed: the same on every proxy and after restarts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum By {
    /// Chance.
    #[default]
    Random,
    /// The hash of this header, so that one value of it is always or never mirrored. Requests without it are chosen by chance.
    Header(HeaderName),
    /// The hash of the body, so that one input is always or never mirrored. It is known when the body has ended.
    Body,
}

/// A bound on how many copies are sent to all shadows together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cap {
    /// Copies per second, in the long run.
    pub per_second: f64,
    /// Copies at once after a pause.
    pub burst: f64,
}

/// From when to when anything is mirrored, in microseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Schedule {
    /// Nothing before this moment.
    pub start_us: Option<i64>,
    /// Nothing from this moment on.
    pub stop_us: Option<i64>,
}

impl Schedule {
    /// Whether it says anything.
    #[must_use]
    pub fn is_set(self) -> bool {
        self.start_us.is_some() || self.stop_us.is_some()
    }

    /// Whether requests are mirrored at that moment.
    #[must_use]
    pub fn open(self, at_us: i64) -> bool {
        self.start_us.is_none_or(|start| start <= at_us) && !self.over(at_us)
    }

    /// Whether nothing is mirrored at that moment and later.
    #[must_use]
    pub fn over(self, at_us: i64) -> bool {
        self.stop_us.is_some_and(|stop| stop <= at_us)
    }
}

/// Says what is in force, in the terms of an [`Update`].
#[must_use]
pub fn describe(sampling: &Sampling, run: &str, shadows: &[String]) -> serde_json::Value {
    let copies: BTreeMap<&str, f64> =
        shadows.iter().map(|shadow| (shadow.as_str(), sampling.copies_of(shadow))).collect();
    serde_json::json!({
        "run": run,
        "sample": sampling.fraction,
        "by": sampling.by.to_string(),
        "seed": sampling.seed,
        "max_per_second": sampling.cap.map(|cap| cap.per_second),
        "burst": sampling.cap.map(|cap| cap.burst),
        "copies": copies,
        "start_at": sampling.schedule.start_us.map(update::time_text),
        "stop_at": sampling.schedule.stop_us.map(update::time_text),
        "routes": sampling.routes,
    })
}

impl std::fmt::Display for By {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Random => f.write_str("random"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Body => f.write_str("body"),
        }
    }
}

impl std::str::FromStr for By {
    type Err = UpdateError;

    fn from_str(text: &str) -> Result<Self, UpdateError> {
        let header = text.strip_prefix("header:").and_then(|name| name.trim().parse().ok());
        match (text, header) {
            ("random", _) => Ok(Self::Random),
            ("body", _) => Ok(Self::Body),
            (_, Some(name)) => Ok(Self::Header(name)),
            _ => Err(UpdateError::By(text.to_owned())),
        }
    }
}
