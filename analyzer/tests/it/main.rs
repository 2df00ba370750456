//! The analyzer on whole sets, made here with planted faults.

mod fixture;
mod folders;
mod reports;
mod verdicts;
