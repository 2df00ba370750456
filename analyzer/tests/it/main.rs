//! The analyzer on whole sets, made here with planted faults.

#![allow(clippy::unwrap_used, reason = "in a test a failed step is a failed test")]

mod false_alarms;
mod false_passes;
mod fixture;
mod folders;
mod ledger;
mod reports;
mod verdicts;
