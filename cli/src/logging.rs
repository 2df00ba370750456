//! Logs and words for people, all on standard error: standard output is for results.

use std::io::{ErrorKind, IsTerminal, Write};

use clap::ValueEnum;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::SubscriberBuilder;
use tracing_subscriber::fmt::format::{self, DefaultFields};

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

/// How logs are written.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// A line for people.
    Text,
    /// One JSON object a line, its fields at the top level.
    Json,
}

/// Starts logging.
pub(crate) fn init(level: Level, format: Format, color: Color) {
    let level = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    let lines = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false)
        .with_ansi(color.on(&std::io::stderr()))
        .with_writer(std::io::stderr);
    match format {
        Format::Text => lines.init(),
        Format::Json => json(lines).init(),
    }
}

/// Lines of JSON of the same level and to the same place.
fn json<W>(
    lines: SubscriberBuilder<DefaultFields, format::Format<format::Full>, LevelFilter, W>,
) -> SubscriberBuilder<format::JsonFields, format::Format<format::Json>, LevelFilter, W> {
    lines.json().flatten_event(true).with_current_span(false).with_span_list(false)
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

    #[derive(Clone, Default)]
    struct Kept(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_of_json_is_one_object_with_its_fields_at_the_top() {
        let kept = Kept::default();
        let writer = kept.clone();
        let lines = tracing_subscriber::fmt()
            .with_max_level(LevelFilter::INFO)
            .with_target(false)
            .with_ansi(false)
            .with_writer(move || writer.clone());
        tracing::subscriber::with_default(json(lines).finish(), || {
            tracing::debug!("not told");
            tracing::warn!(node = "a:1", failures = 3_u64, "a \"node\" fails");
        });
        let bytes = kept.0.lock().unwrap().clone();
        let line: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(
            (&line["level"], &line["node"], &line["failures"]),
            (&"WARN".into(), &"a:1".into(), &3.into())
        );
        assert_eq!(line["message"], "a \"node\" fails");
        assert!(line["timestamp"].as_str().is_some_and(|at| at.ends_with('Z')), "{line}");
    }

    #[test]
    fn a_reader_that_has_had_enough_does_not_change_the_exit_code() {
        print_to(&mut Fails(ErrorKind::BrokenPipe), "report").unwrap();
        print_to(&mut Fails(ErrorKind::StorageFull), "report").unwrap_err();
    }
}
