//! Mutates captured answers and watches that decoding and comparing neither panic nor break their promises.
//!
//!     cargo run --profile fuzz -p fuzz -- [TARGET]... [--seconds 60] [--seed 1]
//!
//! Without a target, each has its turn. No nightly compiler is needed: there is no coverage to steer by, but mutations know the
//! formats (their words, numbers and lengths). Equal seeds give equal inputs. An input that fails is written to `fuzz/failures/`
//! and belongs into the tests of the crate once it is understood.

mod capture;
mod mutate;
mod random;
mod target;

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Parser;

use capture::Capture;
use random::Random;
use target::{TARGETS, Target};

/// Fuzzes decoding and comparing.
#[derive(Debug, Parser)]
struct Options {
    /// Targets to run; all when none is given.
    targets: Vec<String>,
    /// How long each target runs.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Seed of the mutations.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder of captured answers to begin with.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../divergence/tests/captures"))]
    corpus: PathBuf,
}

/// What a target saw.
#[derive(Debug, Default)]
struct Seen {
    runs: u64,
    decoded: u64,
    slowest: Duration,
    slowest_bytes: usize,
}

#[expect(clippy::print_stdout, reason = "a tool that prints what it saw")]
fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    let corpus = capture::corpus(&options.corpus)?;
    let chosen: Vec<&Target> = match options.targets.as_slice() {
        [] => TARGETS.iter().collect(),
        names => names.iter().map(|name| target::named(name)).collect::<anyhow::Result<_>>()?,
    };
    for target in chosen {
        let corpus: Vec<&Capture> = corpus.iter().filter(|capture| target.takes(capture)).collect();
        anyhow::ensure!(
            !corpus.is_empty(),
            "no capture for the target {}: give another --corpus",
            target.name
        );
        match run(target, &corpus, &options) {
            Ok(seen) => println!(
                "{}: {} inputs from {} captures, {} decoded, slowest {:.1} ms ({} bytes)",
                target.name,
                seen.runs,
                corpus.len(),
                seen.decoded,
                seen.slowest.as_secs_f64() * 1e3,
                seen.slowest_bytes
            ),
            Err(failed) => {
                let file = kept(target, &failed)?;
                println!("{}: FAILED, the input is in {}", target.name, file.display());
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a target for its time; the input that failed otherwise.
fn run(target: &Target, corpus: &[&Capture], options: &Options) -> Result<Seen, Box<Capture>> {
    let mut random = Random::new(options.seed);
    let mut seen = Seen::default();
    let end = Instant::now() + Duration::from_secs(options.seconds);
    while Instant::now() < end {
        let input = mutate::mutated(corpus, &mut random);
        let before = Instant::now();
        let decoded = std::panic::catch_unwind(AssertUnwindSafe(|| (target.check)(&input)));
        let took = before.elapsed();
        match decoded {
            Ok(decoded) => seen.decoded += u64::from(decoded),
            Err(_) => return Err(Box::new(input)),
        }
        seen.runs += 1;
        if took > seen.slowest {
            // Once more: another process may have had the core.
            let before = Instant::now();
            (target.check)(&input);
            let took = took.min(before.elapsed());
            if took > seen.slowest {
                (seen.slowest, seen.slowest_bytes) = (took, input.body.len());
            }
        }
    }
    Ok(seen)
}

fn kept(target: &Target, failed: &Capture) -> anyhow::Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("failures");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let file = folder.join(format!("{}.answer", target.name));
    std::fs::write(&file, failed.text()).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}
