//! A process that ends with the test.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::wait;

/// A running process whose output goes to a file; killed when dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command`; its output goes to `NAME.log` in `dir`.
    ///
    /// # Panics
    /// When the file cannot be made or the command cannot be started.
    pub fn spawn(name: &str, mut command: Command, dir: &Path) -> Self {
        let log = dir.join(format!("{name}.log"));
        let file = File::create(&log).unwrap_or_else(|error| panic!("{}: {error}", log.display()));
        let again = file.try_clone().expect("an open file can be cloned");
        let child = command
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(again)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {name} ({command:?}): {error}"));
        Self { name: name.to_owned(), child, log }
    }

    /// What it has written so far, to standard output and error together.
    #[must_use]
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Its exit code when it has ended; -1 when a signal ended it.
    pub fn exit_code(&mut self) -> Option<i32> {
        let status = self.child.try_wait().expect("a child can be waited for");
        status.map(|status| status.code().unwrap_or(-1))
    }

    /// Waits until `probe` gives a value from its output.
    ///
    /// # Panics
    /// When it ends first, or the deadline passes.
    pub fn wait_for<T>(&mut self, what: &str, mut probe: impl FnMut(&str) -> Option<T>) -> T {
        let what = format!("{}: {what}", self.name);
        wait::until(&what, || {
            // Asked before the output is read, so that the last lines of a short life are seen.
            let ended = self.exit_code();
            let value = probe(&self.log());
            if value.is_none()
                && let Some(code) = ended
            {
                panic!("{what}: ended with exit code {code} before");
            }
            value
        })
    }

    /// Waits until it ends by itself and gives its exit code.
    ///
    /// # Panics
    /// When the deadline passes first.
    pub fn wait(&mut self) -> i32 {
        let what = format!("{} ends", self.name);
        wait::until(&what, || self.exit_code())
    }

    /// Sends SIGTERM and waits for the end; gives the exit code.
    ///
    /// # Panics
    /// When it does not end before the deadline.
    pub fn terminate(&mut self) -> i32 {
        self.send_term();
        self.wait()
    }

    /// Sends SIGTERM and waits for the end, but kills it when it takes too long.
    pub fn terminate_quietly(&mut self) {
        self.send_term();
        let from = Instant::now();
        while self.exit_code().is_none() && from.elapsed() < Duration::from_secs(15) {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.kill();
    }

    /// Kills it at once (SIGKILL), as a crash would.
    pub fn kill(&mut self) {
        // Fails only for a process that has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The most memory that it has had resident so far, in KiB (`VmHWM` of proc(5)).
    ///
    /// # Panics
    /// When it has ended.
    #[must_use]
    pub fn peak_memory_kib(&self) -> u64 {
        let status = self.proc("status");
        let status =
            std::fs::read_to_string(&status).unwrap_or_else(|error| panic!("{}: {error}", status.display()));
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|value| value.trim().trim_end_matches(" kB").parse().ok())
            .unwrap_or_else(|| panic!("{}: no VmHWM in {status}", self.name))
    }

    /// How many files and sockets it has open.
    ///
    /// # Panics
    /// When it has ended.
    #[must_use]
    pub fn descriptors(&self) -> usize {
        let folder = self.proc("fd");
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())).count()
    }

    fn proc(&self, name: &str) -> PathBuf {
        Path::new("/proc").join(self.child.id().to_string()).join(name)
    }

    /// Asks it to read its configuration again (SIGHUP).
    pub fn hang_up(&mut self) {
        self.signal("HUP");
    }

    fn send_term(&mut self) {
        self.signal("TERM");
    }

    fn signal(&mut self, name: &str) {
        if self.exit_code().is_none() {
            // The shell's own kill: always there, and needs no unsafe code here.
            let _ = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.child.id())]).status();
        }
    }
}

/// How long a command that ends by itself may take; the demo takes the longest, about a minute.
const RUN_DEADLINE: Duration = Duration::from_secs(600);

/// Runs `command` to its end and gives what it printed.
///
/// # Panics
/// When it cannot be started, or does not end in time: with what it had printed.
#[must_use]
pub fn output(command: Command) -> Output {
    output_within(command, RUN_DEADLINE)
}

fn output_within(mut command: Command, limit: Duration) -> Output {
    // Files, not pipes: a full pipe would stop the command, and one that a grandchild holds open would never end.
    let file = || tempfile::tempfile().expect("a temporary file can be made");
    let again = |file: &File| file.try_clone().expect("an open file can be cloned");
    let (mut stdout, mut stderr) = (file(), file());
    let mut child = command
        .stdin(Stdio::null())
        .stdout(again(&stdout))
        .stderr(again(&stderr))
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let ended = wait::within(limit, || child.try_wait().expect("a child can be waited for"));
    let (stdout, stderr) = (content(&mut stdout), content(&mut stderr));
    let Some(status) = ended else {
        // Fails only when it has ended by now.
        let _ = child.kill();
        let _ = child.wait();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        panic!("{command:?} did not end in {limit:?}:\n{}{}", text(&stdout), text(&stderr));
    };
    Output { status, stdout, stderr }
}

fn content(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("a temporary file can be read");
    bytes
}

impl Drop for Process {
    #[allow(clippy::print_stderr, reason = "the test harness shows it with the failed test")]
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let tail = &lines[lines.len().saturating_sub(40)..];
            eprintln!("--- end of the output of {}:\n{}\n---", self.name, tail.join("\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_and_the_code_are_kept() {
        let output = output(shell("echo out; echo err >&2; exit 3"));
        assert_eq!(output.status.code(), Some(3));
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    }

    #[test]
    #[should_panic(expected = "did not end")]
    fn a_command_that_hangs_fails_the_test() {
        let _ = output_within(shell("exec tail -f /dev/null"), Duration::from_millis(100));
    }
}
