//! A server process: started, found by the address it logs, measured, stopped.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context;

/// Clock ticks per second of `/proc/PID/stat`: fixed for user space on Linux.
const TICKS: f64 = 100.0;

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts the binary and waits for its `listening addr=…` line.
    pub(crate) fn start(binary: &Path, args: &[&str]) -> anyhow::Result<Self> {
        let mut child =
            Command::new(binary).args(args).stderr(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        let mut lines = BufReader::new(child.stderr.take().context("standard error is piped")?).lines();
        let address = loop {
            let line = lines.next().context("the server ended before it listened")??;
            if let Some(rest) = line.split_once("listening addr=") {
                break rest.1.split_whitespace().next().context("an address")?.parse()?;
            }
        };
        // Read on, so that the process never blocks on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, address })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// CPU seconds used so far, user and system (proc(5), fields 14 and 15 of `stat`).
    pub(crate) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, fields) = stat.rsplit_once(')').context("a stat line")?;
        let ticks = |index: usize| -> anyhow::Result<f64> {
            Ok(fields.split_whitespace().nth(index).context("a field")?.parse()?)
        };
        Ok((ticks(11)? + ticks(12)?) / TICKS)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
