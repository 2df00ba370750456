//! File and flags together, as the proxy's validated configuration. Pure: the host's name is an argument.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use exchange::Role;
use proxy::config::{Config, Limits, Shadow};
use proxy::publish::{KafkaSettings, SpoolSettings};
use proxy::selftest::Ask;

use super::target::{listener, primary, shadow_target};
use super::traces::traces;
use super::{raw, redact, sampling, selftest};
use crate::args;

/// Topic without a word about it.
pub(crate) const TOPIC: &str = "shadowdiff";

/// What `shadowdiff proxy` runs with.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) config: Config,
    pub(crate) listen: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) to: Destination,
    /// What a self-test asks, where it is not readiness.
    pub(crate) ask: Option<Ask>,
    pub(crate) threads: Threads,
}

/// On what the proxy runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Threads {
    /// So many workers, each with a runtime, a listener and connections of its own.
    PerCore(usize),
    /// One runtime with so many threads, which take work from each other.
    Shared(usize),
}

/// Where exchanges go.
#[derive(Debug)]
pub(crate) enum Destination {
    Kafka(KafkaSettings, Option<SpoolSettings>),
    Folder(PathBuf),
}

/// Joins file and flags; flags win.
///
/// # Errors
/// When a value is none, or what is needed is not there.
pub(crate) fn proxy(flags: &args::Proxy, file: &raw::Raw, hostname: &str) -> anyhow::Result<Proxy> {
    let listen = flags.listen.or(file.proxy.listen).unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8080)));
    let admin = flags.admin.or(file.proxy.admin).unwrap_or(SocketAddr::from(([127, 0, 0, 1], 9901)));
    let name = flags.name.clone().or_else(|| file.proxy.name.clone());
    let run = flags.run.clone().or_else(|| file.proxy.run.clone());
    let mut limits = limits(&file.limits);
    let to = destination(flags, file, limits.message)?;
    if matches!(to, Destination::Folder(_)) && file.limits.message_bytes.is_none() {
        // No broker is in between: nothing needs to be cut.
        limits.message = usize::MAX;
    }
    let shadows = shadows(flags, file)?;
    let names: Vec<String> = shadows.iter().map(|shadow| shadow.target.name.clone()).collect();
    let sampling = sampling::resolve(flags.sample.as_deref(), file, &names, now_us())?;
    let config = Config {
        listener: listener(&file.listener)?,
        name: name.unwrap_or_else(|| format!("{hostname}-{}", listen.port())),
        run: run.unwrap_or_else(|| exchange::Uuid::now_v7().to_string()),
        primary: primary(&file.primary, &flags.primary)?,
        shadows,
        sampling,
        limits,
        secrets: file.proxy.secrets.clone(),
        redaction: redact::redaction(&file.redact)?,
        ledger_every: Duration::from_millis(file.proxy.ledger_every_ms.unwrap_or(10_000).max(100)),
        traces: traces(&file.traces)?,
        resolver: Arc::new(proxy::resolve::System),
        drain: Duration::from_millis(file.proxy.drain_ms.unwrap_or(20_000)),
    };
    config.validate()?;
    if matches!(to, Destination::Folder(_)) {
        in_file_names(&config.name)?;
    }
    Ok(Proxy {
        config,
        listen,
        admin,
        to,
        ask: selftest::ask(&file.self_test)?,
        threads: threads(&file.proxy)?,
    })
}

/// The spool, where one is given: room for a few of the largest messages at least.
fn spool(flags: &args::Proxy, kafka: &raw::Kafka) -> anyhow::Result<Option<SpoolSettings>> {
    const LEAST: u64 = 16 << 20;
    let bytes = kafka.spool_bytes.unwrap_or(SpoolSettings::BYTES);
    if bytes < LEAST {
        bail!("spool_bytes of [kafka] is {bytes}: give at least {LEAST} (16 MiB)");
    }
    let dir = flags.spool.as_ref().or(kafka.spool.as_ref());
    Ok(dir.map(|dir| SpoolSettings { dir: dir.clone(), bytes }))
}

/// Microseconds since the Unix epoch.
pub(crate) fn now_us() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

fn destination(flags: &args::Proxy, file: &raw::Raw, max_message: usize) -> anyhow::Result<Destination> {
    if let Some(out) = &flags.out {
        return Ok(Destination::Folder(out.clone()));
    }
    if let Some(brokers) = flags.kafka.as_ref().or(file.kafka.brokers.as_ref()) {
        let topic = flags.topic.as_ref().or(file.kafka.topic.as_ref()).map_or(TOPIC, String::as_str);
        let mut settings = KafkaSettings::new(brokers.as_str(), topic);
        settings.max_message = max_message;
        settings.queue_messages = file.kafka.queue_messages.unwrap_or(settings.queue_messages);
        settings.queue_kib = file.kafka.queue_kib.unwrap_or(settings.queue_kib);
        if let Some(timeout) = file.kafka.delivery_timeout_ms {
            settings.delivery_timeout = Duration::from_millis(timeout);
        }
        if settings.queue_messages == 0 || settings.queue_kib == 0 {
            bail!(
                "queue_messages and queue_kib of [kafka]: at least 1, as nothing else bounds what waits for Kafka"
            );
        }
        settings.options = file.kafka.options.clone().into_iter().collect();
        return Ok(Destination::Kafka(settings, spool(flags, &file.kafka)?));
    }
    if let Some(out) = &file.record.out {
        return Ok(Destination::Folder(out.clone()));
    }
    bail!("nowhere to record to: give --kafka BROKERS or --out DIR")
}

/// Without Kafka the name of the proxy is part of the names of files.
fn in_file_names(name: &str) -> anyhow::Result<()> {
    let legal = |letter: char| letter.is_ascii_alphanumeric() || ['.', '_', '-'].contains(&letter);
    if !name.chars().all(legal) || !(1..=180).contains(&name.len()) {
        bail!(
            "proxy name `{name}` cannot be part of a file name: give --name with 1 to 180 of a-z A-Z 0-9 . _ -"
        );
    }
    Ok(())
}

fn threads(raw: &raw::Proxy) -> anyhow::Result<Threads> {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = raw.threads.unwrap_or_else(cores);
    if threads == 0 {
        bail!("threads of [proxy] is 0: at least 1, or leave it out for one per core");
    }
    match raw.runtime.as_deref() {
        None | Some("per_core") => Ok(Threads::PerCore(threads)),
        Some("shared") => Ok(Threads::Shared(threads)),
        Some(other) => bail!("runtime `{other}` of [proxy]: write per_core or shared"),
    }
}

fn limits(raw: &raw::Limits) -> Limits {
    let default = Limits::default();
    Limits {
        connections: raw.connections.unwrap_or(default.connections),
        mirror_inflight: raw.mirror_inflight.unwrap_or(default.mirror_inflight),
        mirror_bytes: raw.mirror_bytes.unwrap_or(default.mirror_bytes),
        body: raw.body_bytes.unwrap_or(default.body),
        message: raw.message_bytes.unwrap_or(default.message),
    }
}

/// Shadows of the flags replace those of the file with the same role.
fn shadows(flags: &args::Proxy, file: &raw::Raw) -> anyhow::Result<Vec<Shadow>> {
    let mut shadows = Vec::new();
    for (role, urls) in [(Role::Candidate, &flags.candidate), (Role::Control, &flags.control)] {
        if !urls.is_empty() {
            shadows
                .push(Shadow { target: shadow_target(&raw::Target::default(), urls, role.as_str())?, role });
        }
    }
    for raw in &file.shadow {
        let role = match raw.role.as_deref() {
            None | Some("candidate") => Role::Candidate,
            Some("control") => Role::Control,
            Some(other) => bail!("role `{other}` of a shadow: write candidate or control"),
        };
        let replaced = match role {
            Role::Candidate => !flags.candidate.is_empty(),
            Role::Control => !flags.control.is_empty(),
        };
        if !replaced {
            shadows.push(Shadow { target: shadow_target(raw, &[], role.as_str())?, role });
        }
    }
    Ok(shadows)
}
