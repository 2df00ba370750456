//! The product's own binary, run as its users run it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

use serde_json::Value;

use crate::http::Client;
use crate::process::{self, Process};
use crate::wait;

/// A finished run.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Exit code; -1 when a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs `shadowdiff` with these arguments to its end.
///
/// # Panics
/// When it cannot be started, or does not end.
#[must_use]
pub fn run(arguments: &[&str]) -> Finished {
    let mut command = Command::new(binary());
    command.args(arguments);
    let output = process::output(command);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Finished {
        code: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Starts `shadowdiff` with these arguments; its output goes to `NAME.log` in `dir`.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn spawn(name: &str, dir: &Path, arguments: &[&str]) -> Process {
    let mut command = Command::new(binary());
    command.args(arguments);
    Process::spawn(name, command, dir)
}

/// A running proxy.
#[derive(Debug)]
pub struct Proxy {
    /// Base address for clients.
    pub url: String,
    /// Base address of the admin port.
    pub admin: String,
    /// The process.
    pub process: Process,
}

impl Proxy {
    /// Starts a proxy on free ports with these further arguments; its output goes to `dir`.
    ///
    /// # Panics
    /// When it does not become ready.
    #[must_use]
    pub fn started(dir: &Path, arguments: &[&str]) -> Self {
        let ports = ["proxy", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
        let mut process = spawn("proxy", dir, &[&ports, arguments].concat());
        let (url, admin) =
            process.wait_for("listens", |log| Some((address(log, "addr=")?, address(log, "admin=")?)));
        Self { url, admin, process }
    }

    /// The sum of the samples of a metric whose labels contain `label`; none when there is no such sample.
    ///
    /// # Panics
    /// When the admin port does not answer.
    #[must_use]
    pub fn metric(&self, name: &str, label: &str) -> Option<f64> {
        let text = Client::default().get(&format!("{}/metrics", self.admin)).text();
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.rsplit_once(' '))
            .filter(|(key, _)| key.split('{').next() == Some(name) && key.contains(label))
            .filter_map(|(_, value)| value.parse().ok())
            .reduce(|sum: f64, value: f64| sum + value)
    }

    /// The answer of `/status`.
    ///
    /// # Panics
    /// When the admin port does not answer with JSON.
    #[must_use]
    pub fn status(&self) -> Value {
        Client::default().get(&format!("{}/status", self.admin)).json()
    }

    /// Waits until all that was mirrored has ended and is delivered or counted as dropped; gives the last `/status`.
    ///
    /// # Panics
    /// When that does not happen before the deadline.
    pub fn settled(&self) -> Value {
        wait::until("what was mirrored is delivered or dropped", || {
            let status = self.status();
            let count = |name: &str| status[name].as_u64().unwrap_or_else(|| panic!("no {name} in {status}"));
            (count("mirrored") == count("ended") && count("ended") == count("delivered") + count("dropped"))
                .then_some(status)
        })
    }

    /// Stops it in order (SIGTERM) and gives its output.
    ///
    /// # Panics
    /// When its exit code is not 0.
    pub fn stop(mut self) -> String {
        let code = self.process.terminate();
        assert_eq!(code, 0, "the proxy's exit code");
        self.process.log()
    }
}

/// A running demo server.
#[derive(Debug)]
pub struct DemoServer {
    /// Base address.
    pub url: String,
    /// The process.
    pub process: Process,
}

impl DemoServer {
    /// Starts a demo server on a free port with these further arguments; its output goes to `NAME.log` in `dir`.
    ///
    /// # Panics
    /// When it does not become ready.
    #[must_use]
    pub fn started(name: &str, dir: &Path, arguments: &[&str]) -> Self {
        let port = ["demo-server", "--listen", "127.0.0.1:0", "--name", name];
        let mut process = spawn(name, dir, &[&port, arguments].concat());
        let url = process.wait_for("listens", |log| address(log, "addr="));
        Self { url, process }
    }
}

/// The base address behind `key` in the line that says what is listened on; colours are taken out.
fn address(log: &str, key: &str) -> Option<String> {
    let line = log.lines().find(|line| line.contains("listening"))?;
    let plain: String = line.split('\u{1b}').enumerate().fold(String::new(), |text, (at, part)| {
        text + if at == 0 { part } else { part.split_once('m').map_or("", |(_, rest)| rest) }
    });
    // In a line of JSON the message ends with a quote.
    let value = plain.split([' ', '"']).find_map(|word| word.strip_prefix(key))?.trim_end();
    Some(format!("http://{value}"))
}

/// The binary: `SHADOWDIFF_BIN`, or the one of the profile that these tests were built in, built when it is not
/// there or older than its sources.
///
/// # Panics
/// When it cannot be built.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(given) = std::env::var_os("SHADOWDIFF_BIN").filter(|given| !given.is_empty()) {
            return given.into();
        }
        let test = std::env::current_exe().expect("a running test has a path");
        let profile = test.ancestors().nth(2).expect("a test lies in target/PROFILE/deps");
        let binary = profile.join("shadowdiff");
        if !is_current(&binary) {
            build(profile);
        }
        binary
    })
}

/// Whether the binary is there and no source of it (listed by cargo beside it) is newer.
fn is_current(binary: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    let Some(built) = changed(binary) else { return false };
    let Ok(list) = std::fs::read_to_string(binary.with_extension("d")) else { return false };
    let sources = list.split_once(": ").map_or("", |(_, sources)| sources).replace("\\ ", "\u{0}");
    let newest: Option<SystemTime> = sources
        .split_whitespace()
        .filter_map(|source| changed(Path::new(&source.replace('\u{0}', " "))))
        .max();
    newest.is_some_and(|newest| newest <= built)
}

fn build(profile: &Path) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--package", "cli", "--manifest-path"])
        .arg(crate::cache::root().join("Cargo.toml"));
    match profile.file_name().and_then(|name| name.to_str()) {
        None | Some("debug") => {}
        Some(name) => {
            command.args(["--profile", name]);
        }
    }
    if let Some(target) = profile.parent() {
        command.arg("--target-dir").arg(target);
    }
    let status = command.status().unwrap_or_else(|error| panic!("cannot start cargo: {error}"));
    assert!(status.success(), "shadowdiff does not build");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_with_and_without_colours() {
        let plain = "INFO starting\nINFO listening addr=127.0.0.1:80 admin=127.0.0.1:81\n";
        let coloured =
            "\u{1b}[32mINFO\u{1b}[0m listening \u{1b}[3maddr\u{1b}[0m=127.0.0.1:80 admin=127.0.0.1:81";
        for log in [plain, coloured] {
            assert_eq!(address(log, "addr=").as_deref(), Some("http://127.0.0.1:80"));
            assert_eq!(address(log, "admin=").as_deref(), Some("http://127.0.0.1:81"));
        }
        assert_eq!(address("INFO starting addr=127.0.0.1:80", "addr="), None);
    }

    #[test]
    fn a_binary_that_is_not_there_is_not_current() {
        let dir = tempfile::tempdir().unwrap();
        let binary = dir.path().join("shadowdiff");
        assert!(!is_current(&binary));
        let source = dir.path().join("main.rs");
        std::fs::write(&source, "").unwrap();
        std::fs::write(&binary, "").unwrap();
        std::fs::write(
            dir.path().join("shadowdiff.d"),
            format!("{}: {}\n", binary.display(), source.display()),
        )
        .unwrap();
        assert!(is_current(&binary));
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        std::fs::File::options().write(true).open(&source).unwrap().set_modified(later).unwrap();
        assert!(!is_current(&binary), "a source is newer");
    }
}
