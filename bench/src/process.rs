//! A server process: started, found by the address it logs or by its port, measured with its children, stopped.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::Context;

/// Clock ticks per second of `/proc/PID/stat`: fixed for user space on Linux.
const TICKS: f64 = 100.0;

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    pub(crate) address: SocketAddr,
}

/// What a server holds at one moment, its children included.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Held {
    /// Resident memory, MB.
    pub(crate) rss_mb: f64,
    /// Open descriptors.
    pub(crate) descriptors: usize,
}

impl Server {
    /// Starts the binary and waits for its `listening addr=…` line.
    pub(crate) fn start(binary: &Path, args: &[&str]) -> anyhow::Result<Self> {
        let mut command = Command::new(binary);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| binary.display().to_string())?;
        let mut lines = BufReader::new(child.stderr.take().context("standard error is piped")?).lines();
        let address = loop {
            let line = lines.next().context("the server ended before it listened")??;
            if let Some(rest) = line.split_once("listening addr=") {
                break rest.1.split_whitespace().next().context("an address")?.parse()?;
            }
        };
        // Read on, so that the process never blocks on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let (input, output) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        Ok(Self { child, input, output, address })
    }

    /// Starts a server that says nothing; whoever calls waits until it answers at that address.
    pub(crate) fn start_silent(
        mut command: Command,
        address: SocketAddr,
        log: &Path,
    ) -> anyhow::Result<Self> {
        let log = fs::File::create(log)?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("{:?}", command.get_program()))?;
        Ok(Self { child, input: None, output: None, address })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Whether it still runs.
    pub(crate) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Writes a line to its standard input.
    pub(crate) fn say(&mut self, word: &str) -> anyhow::Result<()> {
        let input = self.input.as_mut().context("standard input is piped")?;
        writeln!(input, "{word}")?;
        Ok(input.flush()?)
    }

    /// Reads a line of its standard output.
    pub(crate) fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.output.as_mut().context("standard output is piped")?.read_line(&mut line)?;
        Ok(line)
    }

    /// CPU seconds used so far, user and system, of it and its children (proc(5), fields 14 to 17 of `stat`).
    pub(crate) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let mut ticks = 0.0;
        for pid in self.family() {
            let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
            let (_, fields) = stat.rsplit_once(')').context("a stat line")?;
            for field in fields.split_whitespace().skip(11).take(4) {
                ticks += field.parse::<f64>()?;
            }
        }
        Ok(ticks / TICKS)
    }

    /// Memory and descriptors now.
    pub(crate) fn held(&self) -> Held {
        held(&self.family())
    }

    /// It and its children: a server may serve in processes of their own.
    pub(crate) fn family(&self) -> Vec<u32> {
        let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        for pid in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
            let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
            let parent =
                stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
            children.entry(parent.unwrap_or(0)).or_default().push(pid);
        }
        let mut family = vec![self.child.id()];
        let mut at = 0;
        while let Some(pid) = family.get(at) {
            family.extend(children.remove(pid).unwrap_or_default());
            at += 1;
        }
        family
    }
}

/// Memory and descriptors of some processes.
pub(crate) fn held(family: &[u32]) -> Held {
    let mut held = Held::default();
    for pid in family {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let kb = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.trim().split(' ').next()?.parse().ok());
        held.rss_mb += kb.unwrap_or(0.0) / 1024.0;
        held.descriptors += fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    }
    held
}

impl Drop for Server {
    fn drop(&mut self) {
        // The children of a server that is killed would live on: those of nginx do.
        for pid in self.family().into_iter().skip(1) {
            let _ = Command::new("kill").arg(pid.to_string()).status();
        }
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
