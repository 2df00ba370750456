//! SIGTERM and SIGINT ask for an orderly stop, SIGHUP for the file to be read again.

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that stop a command, caught from the moment this is made.
pub(crate) struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    /// Catches the signals.
    pub(crate) fn catch() -> anyhow::Result<Self> {
        let catch = |kind| signal(kind).context("signals cannot be caught");
        Ok(Self { terminate: catch(SignalKind::terminate())?, interrupt: catch(SignalKind::interrupt())? })
    }

    /// Resolves at the first signal.
    pub(crate) async fn wait(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// The signal after which the file is read again, caught from the moment this is made.
pub(crate) struct Again(Signal);

impl Again {
    /// Catches the signal.
    pub(crate) fn catch() -> anyhow::Result<Self> {
        Ok(Self(signal(SignalKind::hangup()).context("signals cannot be caught")?))
    }

    /// Resolves at the next signal; `None` when there can be no more.
    pub(crate) async fn next(&mut self) -> Option<()> {
        self.0.recv().await
    }
}
