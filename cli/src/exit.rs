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
        Self(text(&error.into())).into()
    }
}

/// The error and its causes, each once: many errors already name their cause.
fn text(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Prints an error and gives its exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    crate::logging::say(&format!("error: {}", text(error)));
    if error.downcast_ref::<Usage>().is_some() { USAGE.into() } else { TOOL.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_cause_that_is_named_already_is_not_named_again() {
        let full = Err::<(), _>(std::io::Error::other("disk full")).context("cannot write set: disk full");
        assert_eq!(text(&full.context("recording").unwrap_err()), "recording: cannot write set: disk full");
    }
}
