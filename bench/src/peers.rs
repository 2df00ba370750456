//! The same load on each entry, in alternating rounds. Every process runs on this machine and shares its cores: read the ratios of one run, not the
//! absolute figures. Fails when an entry loses or invents copies.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rdkafka::mocking::MockCluster;

use crate::entry::{Entry, Ground};
use crate::load::{self, Load};
use crate::process::{Held, Server, held};
use crate::table::{self, Line, Round};
use crate::upstream::Steering;

/// How long a started entry may take to answer.
const READY: Duration = Duration::from_secs(20);

/// How long copies under way may take to arrive.
const DRAIN: Duration = Duration::from_secs(10);

/// What is sent, and what the candidate does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Scenario {
    /// 1 KB of JSON each way over HTTP/1.1.
    Json,
    /// 1 MB each way over HTTP/1.1.
    Large,
    /// Unary gRPC, 1 KB each way, 4 connections.
    Grpc,
    /// As `json` with 10 ms of service time, and the candidate answers nothing while it lasts.
    Hang,
    /// As `json`, over 2 connections only: one core may get both.
    Few,
}

/// Settings of the comparison.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[arg(long, value_enum, default_value = "json")]
    scenario: Scenario,
    /// Entries, in this order.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "direct,floor-plain,nginx-plain,pingap-plain,ours-plain,floor-mirror,nginx-mirror,envoy-mirror,pingap-mirror,ours-mirror"
    )]
    only: Vec<Entry>,
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of one entry in one round.
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Brokers of a real Kafka; without it, a mock one runs in this process.
    #[arg(long)]
    brokers: Option<String>,
    #[arg(long, default_value = "nginx")]
    nginx: PathBuf,
    #[arg(long, default_value = "envoy")]
    envoy: PathBuf,
    #[arg(long, default_value = "pingap")]
    pingap: PathBuf,
    /// The binary to measure; default: the one beside this.
    #[arg(long)]
    shadowdiff: Option<PathBuf>,
    /// Another build to measure beside it, as the entry `other-mirror`.
    #[arg(long, default_value = "shadowdiff")]
    other: PathBuf,
    /// More arguments of `shadowdiff proxy`.
    #[arg(last = true)]
    options: Vec<String>,
}

/// Runs all rounds and prints the table.
///
/// # Errors
/// When an entry cannot be measured: not installed, it does not start, requests fail, or copies are lost.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let mock = MockCluster::new(1).map_err(|error| anyhow::anyhow!("{error}"))?;
    mock.create_topic("bench", 16, 1).map_err(|error| anyhow::anyhow!("{error}"))?;
    let beside = std::env::current_exe()?.with_file_name("shadowdiff");
    let ground = Ground {
        folder: std::env::temp_dir().join(format!("shadowdiff-peers-{}", std::process::id())),
        nginx: args.nginx.clone(),
        envoy: args.envoy.clone(),
        pingap: args.pingap.clone(),
        shadowdiff: args.shadowdiff.clone().unwrap_or(beside),
        other: args.other.clone(),
        brokers: args.brokers.clone().unwrap_or_else(|| mock.bootstrap_servers()),
        grpc: args.scenario == Scenario::Grpc,
        options: args.options.clone(),
    };
    let mut lines = Vec::new();
    for entry in &args.only {
        match entry.missing(&ground) {
            Some(why) => println!("{} is left out: {why}", entry.name()),
            None => lines.push(Line { entry: *entry, rounds: Vec::new() }),
        }
    }
    for round in 0..args.rounds {
        // Another one is first each time, and every second round runs backwards: what comes before matters less.
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.rotate_left(round % lines.len().max(1));
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order {
            let entry = lines[at].entry;
            lines[at].rounds.push(measure(entry, &ground, args).with_context(|| entry.name())?);
        }
    }
    let kafka = if args.brokers.is_some() { "real" } else { "mock" };
    println!(
        "Scenario {:?}, {} rounds of {} s, medians; {kafka} Kafka.\n",
        args.scenario, args.rounds, args.seconds
    );
    table::print(&lines);
    // Logs and configuration of what ran well are of no use to anybody.
    let _ = std::fs::remove_dir_all(&ground.folder);
    Ok(())
}

fn measure(entry: Entry, ground: &Ground, args: &Args) -> anyhow::Result<Round> {
    let body = if args.scenario == Scenario::Large { 1 << 20 } else { 1024 };
    let delay = if args.scenario == Scenario::Hang { 10_000 } else { 0 };
    let load = match args.scenario {
        Scenario::Grpc => Load { connections: 4, streams: 8, body, grpc: true },
        Scenario::Few => Load { connections: 2, streams: 1, body, grpc: false },
        Scenario::Large => Load { connections: 8, streams: 1, body, grpc: false },
        Scenario::Json | Scenario::Hang => Load { connections: 32, streams: 1, body, grpc: false },
    };
    let mut primary = Steering::start(ground.grpc, delay, body)?;
    let mut candidate = Steering::start(ground.grpc, delay, body)?;
    let mut proxy = entry.start(ground, primary.process.address, candidate.process.address)?;
    let address = proxy.as_ref().map_or(primary.process.address, |proxy| proxy.address);
    ready(&mut proxy, address, load)?;
    load::run(address, load, Duration::from_secs(1))?;
    if entry.mirrors() {
        drained(&mut primary, &mut candidate)?;
    }
    let counts = (primary.count()?, candidate.count()?);
    let before = proxy.as_ref().map(Server::held).unwrap_or_default();
    let cpu = |proxy: &Option<Server>| proxy.as_ref().map_or(Ok(0.0), Server::cpu_seconds);
    let begun = cpu(&proxy)?;
    if args.scenario == Scenario::Hang {
        candidate.process.say("hang")?;
    }
    let family = proxy.as_ref().map(Server::family).unwrap_or_default();
    let (tally, peak) = watched(&family, || load::run(address, load, Duration::from_secs(args.seconds)))?;
    candidate.process.say("ok")?;
    if entry.mirrors() && args.scenario != Scenario::Hang {
        drained(&mut primary, &mut candidate).context("copies are missing")?;
    }
    let used = cpu(&proxy)? - begun;
    let arrived = (primary.count()? - counts.0, candidate.count()? - counts.1);
    if entry.mirrors() && args.scenario != Scenario::Hang {
        ensure!(arrived.1 >= arrived.0 || entry.may_lose(), "{} of {} copies arrived", arrived.1, arrived.0);
    }
    if args.scenario == Scenario::Hang {
        settled(&proxy, before);
    }
    let after = proxy.as_ref().map(Server::held).unwrap_or_default();
    // A mirror that holds its clients while the candidate hangs is a finding, not a failure of the run.
    if let (Some(error), false) = (&tally.error, args.scenario == Scenario::Hang) {
        ensure!(tally.errors < tally.latencies.len(), "{} errors, the first: {error}", tally.errors);
    }
    Ok(Round {
        per_second: tally.per_second(),
        p50_ms: tally.percentile(50.0),
        p99_ms: tally.percentile(99.0),
        cpu_per_100k: used * 1e5 / arrived.0.max(1) as f64,
        rss_mb: [before.rss_mb, peak.rss_mb.max(before.rss_mb), after.rss_mb],
        descriptors: peak.descriptors,
        mirrored: arrived.1 as f64 / arrived.0.max(1) as f64,
        errors: tally.errors,
    })
}

/// Waits until a request is answered through the entry.
fn ready(proxy: &mut Option<Server>, address: SocketAddr, load: Load) -> anyhow::Result<()> {
    let until = Instant::now() + READY;
    let one = Load { connections: 1, streams: 1, ..load };
    loop {
        let answered = load::run(address, one, Duration::from_millis(20));
        if answered.is_ok_and(|tally| tally.errors == 0 && !tally.latencies.is_empty()) {
            return Ok(());
        }
        if proxy.as_mut().is_some_and(|proxy| !proxy.runs()) {
            bail!("it ended before it answered");
        }
        ensure!(Instant::now() < until, "no answer within {} s", READY.as_secs());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until as many requests have arrived at the candidate as at the primary.
fn drained(primary: &mut Steering, candidate: &mut Steering) -> anyhow::Result<()> {
    let until = Instant::now() + DRAIN;
    loop {
        let (sent, copied) = (primary.count()?, candidate.count()?);
        if copied >= sent || Instant::now() > until {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the memory is no more than it was, for a while.
fn settled(proxy: &Option<Server>, before: Held) {
    let until = Instant::now() + DRAIN;
    while Instant::now() < until && proxy.as_ref().is_some_and(|proxy| proxy.held().rss_mb > before.rss_mb) {
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Runs the load and looks at the memory and descriptors of these processes meanwhile.
fn watched<T>(family: &[u32], run: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(T, Held)> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut peak = Held::default();
            while !done.load(Ordering::Relaxed) {
                let now = held(family);
                peak.rss_mb = peak.rss_mb.max(now.rss_mb);
                peak.descriptors = peak.descriptors.max(now.descriptors);
                std::thread::sleep(Duration::from_millis(100));
            }
            peak
        });
        let ended = run();
        done.store(true, Ordering::Relaxed);
        let peak = watching.join().map_err(|_| anyhow::anyhow!("the watching thread died"))?;
        Ok((ended?, peak))
    })
}
