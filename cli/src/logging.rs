//! Logs and words for people, all on standard error: standard output is for results.

use std::io::{ErrorKind, IsTerminal, Write};

use clap::ValueEnum;
use tracing_subscriber::filter::LevelFilter;

/// When to colour.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Color {
    /// When the output is a terminal and NO_COLOR is not set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Whether to colour what goes to `stream`.
    pub(crate) fn on(self, stream: &impl IsTerminal) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
        }
    }
}

/// Least level that is logged.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Level {
    /// Data was lost, or an operator is needed.
    Error,
    /// Something is wrong and nothing was lost.
    Warn,
    /// What goes on.
    Info,
    /// Single requests that fail.
    Debug,
    /// Everything.
    Trace,
}

/// Starts logging.
pub(crate) fn init(level: Level, color: Color) {
    let level = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false)
        .with_ansi(color.on(&std::io::stderr()))
        .with_writer(std::io::stderr)
        .init();
}

/// Says something to the person at the terminal.
pub(crate) fn say(text: &str) {
    // Nobody is left to tell when standard error is closed.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Writes a result to standard output. A closed pipe is no failure: the reader has had enough, and the exit code stays that
/// of the result.
///
/// # Errors
/// When standard output cannot be written.
pub(crate) fn print(text: &str) -> std::io::Result<()> {
    print_to(&mut std::io::stdout().lock(), text)
}

fn print_to(out: &mut impl Write, text: &str) -> std::io::Result<()> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written = out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(end.as_bytes()))
        .and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fails(ErrorKind);

    impl Write for Fails {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_has_had_enough_does_not_change_the_exit_code() {
        print_to(&mut Fails(ErrorKind::BrokenPipe), "report").unwrap();
        print_to(&mut Fails(ErrorKind::StorageFull), "report").unwrap_err();
    }
}
