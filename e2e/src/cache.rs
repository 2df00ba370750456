//! The components that `scripts/setup.sh` installs, and what to do in a test that lacks one.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Something installed beside the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// The jars of an Apache Kafka broker.
    Kafka,
    /// Triton Inference Server.
    Triton,
    /// A Python environment with tritonclient, openai, DuckDB and pandas.
    Python,
    /// Triton's load generator, `perf_analyzer`.
    Perf,
    /// curl, wrk, h2load and nghttp on the path.
    Tools,
}

impl Component {
    fn name(self) -> &'static str {
        match self {
            Self::Kafka => "kafka",
            Self::Triton => "triton",
            Self::Python => "python",
            Self::Perf => "perf",
            Self::Tools => "tools",
        }
    }

    /// The folder it is installed in.
    #[must_use]
    pub fn dir(self) -> PathBuf {
        cache().join(self.name())
    }

    fn missing(self) -> Option<String> {
        if set("SHADOWDIFF_QUICK") {
            return Some("no real servers were asked for".to_owned());
        }
        if self.dir().join("stamp").exists() {
            return None;
        }
        let skipped = std::fs::read_to_string(cache().join(format!("{}.skipped", self.name())));
        let why = skipped.unwrap_or_else(|_| "not installed, run scripts/setup.sh".to_owned());
        Some(format!("{}: {}", self.name(), why.trim()))
    }
}

/// The root folder of the workspace.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace")
}

fn cache() -> PathBuf {
    root().join(".cache")
}

fn set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| !value.is_empty())
}

/// Whether all `components` are there. When not, says so on standard error and in `.cache/skipped.log`:
/// the test named `test` must return then.
///
/// # Panics
/// When one is missing where nothing may be skipped (`CI=true` or `SHADOWDIFF_REQUIRE=all`).
#[allow(clippy::print_stderr, reason = "a skipped test must say so")]
pub fn have(test: &str, components: &[Component]) -> bool {
    let Some(reason) = components.iter().find_map(|component| component.missing()) else {
        return true;
    };
    let line = format!("skipped: {test}: {reason}\n");
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|found| found == value);
    assert!(!is("CI", "true") && !is("SHADOWDIFF_REQUIRE", "all"), "nothing may be skipped here, but {line}");
    eprint!("{line}");
    let log = cache().join("skipped.log");
    let written = std::fs::create_dir_all(cache())
        .and_then(|()| OpenOptions::new().create(true).append(true).open(&log))
        .and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{}: {error}", log.display()));
    false
}
