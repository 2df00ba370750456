//! From files to an accumulator. Row groups are read in parallel, each into its own accumulator, and merged.

mod exchanges;
mod ledger;
mod set;
mod table;

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::accumulate::Accumulator;
use crate::error::AnalyzeError;
use crate::{Options, Progress};
use set::Set;
use table::Table;

/// Nodes of one shadow that are told apart; more would be a mistake in naming them, and would not fit in memory.
const NODE_LIMIT: usize = 4096;

/// How far the pass has come, and whom to tell.
struct Course<'a> {
    files: usize,
    files_done: AtomicUsize,
    rows: AtomicU64,
    on_progress: &'a (dyn Fn(Progress) + Sync),
}

impl Course<'_> {
    fn rows(&self, rows: usize) {
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
        self.tell();
    }

    fn file_done(&self) {
        self.files_done.fetch_add(1, Ordering::Relaxed);
        self.tell();
    }

    fn tell(&self) {
        (self.on_progress)(Progress {
            files_done: self.files_done.load(Ordering::Relaxed),
            files: self.files,
            rows: self.rows.load(Ordering::Relaxed),
        });
    }
}

/// Reads the whole set in `dir`.
pub(crate) fn scan(
    dir: &Path,
    options: &Options,
    on_progress: &(dyn Fn(Progress) + Sync),
) -> Result<Accumulator, AnalyzeError> {
    let set = Set::list(dir)?;
    let course = Course {
        files: set.exchanges.len() + set.ledger.len() + set.dead_letters.len(),
        files_done: AtomicUsize::new(0),
        rows: AtomicU64::new(0),
        on_progress,
    };
    let exchanges = each(&set.exchanges, &course, |file| exchanges_of(file, options, &course))?;
    let ledgers = each(&set.ledger, &course, ledger::read)?;
    let dead_letters = each(&set.dead_letters, &course, |file| {
        let dead_letters = Table::open(file, &[], &[])?.rows();
        Ok(Accumulator { dead_letters, ..Accumulator::default() })
    })?;
    merged(merged(exchanges, ledgers)?, dead_letters)
}

fn each(
    files: &[std::path::PathBuf],
    course: &Course<'_>,
    read: impl Fn(&Path) -> Result<Accumulator, AnalyzeError> + Sync,
) -> Result<Accumulator, AnalyzeError> {
    // Of several bad files the first by name is reported, whichever worker met its own first.
    let parts: Vec<Result<Accumulator, AnalyzeError>> = files
        .par_iter()
        .fold(
            || Ok(Accumulator::default()),
            |sum, file| {
                let part = sum.and_then(|sum| merged(sum, read(file)?));
                course.file_done();
                part
            },
        )
        .collect();
    parts.into_iter().try_fold(Accumulator::default(), |sum, part| merged(sum, part?))
}

fn exchanges_of(file: &Path, options: &Options, course: &Course<'_>) -> Result<Accumulator, AnalyzeError> {
    let table = Table::open(file, &exchanges::columns(), &exchanges::later_columns())?;
    let groups: Vec<usize> = (0..table.row_groups()).collect();
    let parts: Vec<Accumulator> = groups
        .into_par_iter()
        .map(|group| exchanges::read(&table, group, options.worst, &|rows| course.rows(rows)))
        .collect::<Result<_, _>>()?;
    let mut sum = parts.into_iter().try_fold(Accumulator::default(), merged)?;
    sum.rules.extend(table.rules());
    sum.unused = table.unused_rules().map(|rules| rules.into_iter().collect());
    Ok(sum)
}

fn merged(mut sum: Accumulator, part: Accumulator) -> Result<Accumulator, AnalyzeError> {
    sum.merge(part);
    if sum.targets.values().any(|target| target.nodes.len() > NODE_LIMIT) {
        return Err(AnalyzeError::TooManyNodes { limit: NODE_LIMIT });
    }
    Ok(sum)
}
