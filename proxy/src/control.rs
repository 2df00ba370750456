//! Changes of the sampling and of the run while the proxy serves.

use std::sync::{Arc, Mutex, PoisonError};

use crate::account::{Runs, RunsError};
use crate::config::{Config, Redaction, RedactionError, Sampling, Update, UpdateError, describe};
use crate::sample::{Plan, Sampler};

/// What can be changed of a running proxy. A change is in force for each request whose head is read after it; no connection is touched.
#[derive(Debug)]
pub struct Control {
    pub(crate) sampler: Sampler,
    pub(crate) runs: Runs,
    /// Its rules name routes, which must stay: a rule that no longer held would let out what it hides.
    redaction: Redaction,
    /// One change at a time.
    changing: Mutex<()>,
}

/// Why a change was not made; what was in force stays so.
#[derive(Debug, thiserror::Error, PartialEq)]
#[error(transparent)]
pub struct ChangeError(#[from] Why);

impl ChangeError {
    /// Whether it is the runs so far that stand in the way, and not the change itself.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self.0, Why::Run(_))
    }
}

/// The reasons of a [`ChangeError`].
#[derive(Debug, thiserror::Error, PartialEq)]
enum Why {
    #[error(transparent)]
    Update(#[from] UpdateError),
    #[error(transparent)]
    Redaction(#[from] RedactionError),
    #[error(transparent)]
    Run(#[from] RunsError),
}

impl Control {
    /// What is in force at first.
    #[must_use]
    pub fn new(config: &Config) -> Arc<Self> {
        let shadows: Vec<String> = config.shadows.iter().map(|shadow| shadow.target.name.clone()).collect();
        let runs = Runs::new(shadows);
        let run = runs.begin(config.run.clone()).expect("the first run has no name before it");
        let plan = Plan::new(config.sampling.clone(), run, runs.shadows(), None);
        let redaction = config.redaction.clone();
        Arc::new(Self { sampler: Sampler::new(plan), runs, redaction, changing: Mutex::default() })
    }

    /// Changes some of what is in force.
    ///
    /// # Errors
    /// When a value is none, or a run of that name cannot begin: then nothing is changed.
    pub fn update(&self, update: &Update) -> Result<(), ChangeError> {
        let change =
            |before: &Sampling| update.apply(before, self.runs.shadows(), crate::now_us()).map_err(Why::from);
        Ok(self.change(change, update.run.as_deref())?)
    }

    /// Puts another sampling in force as a whole and, where it is another name, begins a run.
    ///
    /// # Errors
    /// When a run of that name cannot begin: then nothing is changed.
    pub fn replace(&self, sampling: Sampling, run: Option<&str>) -> Result<(), ChangeError> {
        Ok(self.change(|_| Ok(sampling), run)?)
    }

    fn change(
        &self,
        sampling: impl FnOnce(&Sampling) -> Result<Sampling, Why>,
        run: Option<&str>,
    ) -> Result<(), Why> {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.sampler.plan();
        let sampling = sampling(&before.sampling)?;
        self.redaction.validate(sampling.routes.iter().map(|route| route.name.as_str()))?;
        let run = match run.filter(|run| *run != before.run.id) {
            Some(run) => self.runs.begin(run.to_owned())?,
            None => before.run.clone(),
        };
        let plan = Plan::new(sampling, run, self.runs.shadows(), Some(&before));
        self.sampler.follow(plan);
        tracing::info!(sampling = %self.describe(), "what is mirrored has been set anew");
        Ok(())
    }

    /// What is in force, in the terms of an [`Update`].
    #[must_use]
    pub fn describe(&self) -> serde_json::Value {
        let plan = self.sampler.plan();
        describe(&plan.sampling, &plan.run.id, self.runs.shadows())
    }
}
