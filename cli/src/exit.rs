//! Exit codes, and which errors lead to which.

use std::process::ExitCode;

/// The tool itself failed.
pub(crate) const TOOL: u8 = 3;

/// Wrong usage or configuration (`EX_USAGE` of sysexits.h).
pub(crate) const USAGE: u8 = 64;

/// Marks an error as the user's to mend: it ends with [`USAGE`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

impl Usage {
    /// Turns an error with all its causes into one of usage.
    pub(crate) fn of(error: impl Into<anyhow::Error>) -> anyhow::Error {
        Self(format!("{:#}", error.into())).into()
    }
}

/// Prints an error and gives its exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    crate::logging::say(&format!("error: {error:#}"));
    if error.downcast_ref::<Usage>().is_some() { USAGE.into() } else { TOOL.into() }
}
