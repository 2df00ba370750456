//! The file read again while the proxy serves: what says which requests are mirrored is put in force, the rest is named.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Context;
use proxy::config::Schedule;
use proxy::{Config, Control};
use toml::{Table, Value};

use crate::args;
use crate::commands::hostname;
use crate::config::{file, raw, resolve};

/// Tables that are put in force; `run` of `[proxy]` is, too.
const LIVE: [&str; 2] = ["sampling", "route"];

/// What was read last.
#[derive(Debug)]
pub(super) struct Reload {
    flags: args::Proxy,
    control: Arc<Control>,
    /// The file of the start, by which all the rest runs.
    first: Table,
    sampling: raw::Sampling,
    schedule: Schedule,
    run: Option<String>,
}

impl Reload {
    /// `config` is what the flags and the file said at the start, `first` the file's tables.
    pub(super) fn new(
        flags: args::Proxy,
        file: &raw::Raw,
        first: Table,
        control: Arc<Control>,
        config: &Config,
    ) -> Self {
        Self {
            flags,
            control,
            first,
            sampling: file.sampling.clone(),
            schedule: config.sampling.schedule,
            run: file.proxy.run.clone(),
        }
    }

    /// Reads the file and puts it in force, or tells why not: then all stays as it is.
    pub(super) fn read_again(&mut self) {
        if self.flags.config.is_none() {
            tracing::warn!("SIGHUP: there is no file to read again, as none was given with --config");
            return;
        }
        match self.put_in_force() {
            Ok(later) if later.is_empty() => tracing::info!("SIGHUP: the file has been read again"),
            Ok(later) => {
                tracing::warn!(
                    tables = later.join(" "),
                    "SIGHUP: the sampling of the file is in force; what else has changed in these tables needs a restart"
                );
            }
            Err(error) => {
                tracing::error!(
                    error = format!("{error:#}"),
                    "SIGHUP: the file is broken: all stays as it was"
                );
            }
        }
    }

    /// Names the tables that have changed since the start and are not in force.
    fn put_in_force(&mut self) -> anyhow::Result<Vec<String>> {
        let path = self.flags.config.as_deref().context("no --config")?;
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let now = file::parse(&text)?;
        let config = resolve::proxy(&self.flags, &now, &hostname())?.config;
        let mut sampling = config.sampling;
        if same_schedule(&self.sampling, &now.sampling) {
            // A length that counts from the start does not begin anew.
            sampling.schedule = self.schedule;
        }
        let run = self.flags.run.is_none().then(|| now.proxy.run.clone()).flatten();
        let another = run.as_deref().filter(|_| run != self.run);
        let schedule = sampling.schedule;
        self.control.replace(sampling, another)?;
        (self.schedule, self.run, self.sampling) = (schedule, run, now.sampling);
        Ok(changed(&self.first, &text.parse()?))
    }
}

fn same_schedule(one: &raw::Sampling, other: &raw::Sampling) -> bool {
    let schedule = |raw: &raw::Sampling| (raw.start_at.clone(), raw.stop_at.clone(), raw.for_ms);
    schedule(one) == schedule(other)
}

/// The tables that differ, besides those that are put in force.
fn changed(before: &Table, now: &Table) -> Vec<String> {
    let fixed = |tables: &Table| {
        let mut tables = tables.clone();
        tables.retain(|name, _| !LIVE.contains(&name));
        if let Some(Value::Table(proxy)) = tables.get_mut("proxy") {
            proxy.remove("run");
        }
        tables
    };
    let (before, now) = (fixed(before), fixed(now));
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let differs = |name: &&&String| before.get(**name) != now.get(**name);
    names.iter().filter(differs).map(|name| format!("[{name}]")).collect()
}

#[cfg(test)]
mod tests;
