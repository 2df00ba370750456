//! Runs: the one that is filled now, and earlier ones whose last exchanges are still under way.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Account, Counts};

/// Runs that may be open at once; a change of the run waits for earlier ones to end.
const MAX_OPEN: usize = 16;

/// Runs of one process: their names are kept, as none may come twice.
const MAX_RUNS: usize = 10_000;

/// One run: what is mirrored under one name. Each pairing holds its run, which ends with the last of them.
#[derive(Debug)]
pub(crate) struct Run {
    /// Name in records.
    pub(crate) id: String,
    pub(crate) account: Account,
    /// Microseconds since the Unix epoch.
    pub(crate) started_us: i64,
}

/// All runs of this process.
#[derive(Debug)]
pub(crate) struct Runs {
    shadows: Vec<String>,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    /// In the order of their beginning, the one that is filled now last.
    open: Vec<Arc<Run>>,
    /// Sum of those that have ended.
    ended: Counts,
    names: BTreeSet<String>,
}

/// Why a run does not begin.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum RunsError {
    /// The name is taken.
    #[error("run `{0}` has been in this process: its ledger would be counted twice; give another name")]
    Twice(String),
    /// Earlier runs have not ended.
    #[error("{MAX_OPEN} runs are open: try again when exchanges of earlier ones have ended")]
    Open,
    /// More names than are kept.
    #[error("{MAX_RUNS} runs were in this process: start it anew for more")]
    Many,
}

impl Runs {
    pub(crate) fn new(shadows: Vec<String>) -> Self {
        let held = Held { open: Vec::new(), ended: Counts::new(shadows.len()), names: BTreeSet::new() };
        Self { shadows, held: Mutex::new(held) }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Nothing in between leaves it half changed.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names of the shadows.
    pub(crate) fn shadows(&self) -> &[String] {
        &self.shadows
    }

    /// Begins a run.
    ///
    /// # Errors
    /// When the name is taken, or too many runs are open.
    pub(crate) fn begin(&self, id: String) -> Result<Arc<Run>, RunsError> {
        let mut held = self.held();
        if held.names.contains(&id) {
            return Err(RunsError::Twice(id));
        }
        if held.open.len() >= MAX_OPEN {
            return Err(RunsError::Open);
        }
        if held.names.len() >= MAX_RUNS {
            return Err(RunsError::Many);
        }
        held.names.insert(id.clone());
        let account = Account::new(&self.shadows);
        let run = Arc::new(Run { id, account, started_us: crate::now_us() });
        held.open.push(run.clone());
        Ok(run)
    }

    /// Takes the runs out that nobody fills any more and that have nothing left to be published: it is time for their closing ledgers.
    pub(crate) fn take_ended(&self) -> Vec<Arc<Run>> {
        let mut held = self.held();
        // Held here only: no plan and no pairing will add to it.
        let ended = |run: &mut Arc<Run>| Arc::strong_count(run) == 1 && run.account.counts().settled();
        let ended: Vec<_> = held.open.extract_if(.., ended).collect();
        for run in &ended {
            held.ended.merge(&run.account.counts());
        }
        ended
    }

    /// The runs that are open, the one that is filled now last.
    pub(crate) fn open(&self) -> Vec<Arc<Run>> {
        self.held().open.clone()
    }

    /// Something of each run that is open. Holds no run longer than that.
    pub(crate) fn map_open<T>(&self, of: impl Fn(&Run) -> T) -> Vec<T> {
        self.held().open.iter().map(|run| of(run)).collect()
    }

    /// The counts of all runs, those that have ended too.
    pub(crate) fn totals(&self) -> Counts {
        let held = self.held();
        let mut totals = held.ended.clone();
        for run in &held.open {
            totals.merge(&run.account.counts());
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exchange::{Item, Leg, Outcome};

    fn runs() -> Runs {
        Runs::new(vec!["candidate".into()])
    }

    #[test]
    fn a_run_ends_when_nobody_holds_it_and_all_of_it_is_published() {
        let runs = runs();
        let first = runs.begin("a".into()).unwrap();
        let pairing = first.clone();
        first.account.mirrored(0, 1);
        let second = runs.begin("b".into()).unwrap();
        drop(first);
        assert!(runs.take_ended().is_empty(), "an exchange is under way");
        let leg = Leg::unsent(Outcome::Refused, "");
        pairing.account.ended(0, &leg, &leg);
        let tally = pairing.account.tally();
        drop(pairing);
        assert!(runs.take_ended().is_empty(), "it is not published");
        tally.add_delivered(1);
        let ended = runs.take_ended();
        assert_eq!(ended.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["a"]);
        second.account.mirrored(0, 3);
        assert_eq!(
            runs.totals().total(Some(0), |item| item == Item::Mirrored),
            4,
            "what has ended still counts"
        );
        assert_eq!(runs.open().len(), 1);
    }

    #[test]
    fn a_name_comes_once_and_open_runs_are_bounded() {
        let runs = runs();
        let mut held = vec![runs.begin("0".into()).unwrap()];
        assert_eq!(runs.begin("0".into()).unwrap_err(), RunsError::Twice("0".into()));
        for number in 1..MAX_OPEN {
            held.push(runs.begin(number.to_string()).unwrap());
        }
        assert_eq!(runs.begin("one more".into()).unwrap_err(), RunsError::Open);
        held.clear();
        assert_eq!(runs.take_ended().len(), MAX_OPEN);
        assert_eq!(runs.begin("0".into()).unwrap_err(), RunsError::Twice("0".into()));
        runs.begin("one more".into()).unwrap();
    }
}
