//! The `shadowdiff` binary: arguments, configuration files, logging and exit codes; what it does is in the libraries.
//!
//! Exit codes: 0 pass or done, 1 the gate failed, 2 inconclusive, 3 the tool failed, 64 wrong usage or configuration.

mod args;
mod commands;
mod config;
mod descriptors;
mod exit;
mod folder;
mod logging;
mod signals;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

/// A mirrored request allocates and frees on one worker; glibc's allocator spends twice as much on it (bench/RESULTS.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Printing to a closed pipe is no failure of ours.
            let _ = error.print();
            return if error.use_stderr() { exit::USAGE.into() } else { ExitCode::SUCCESS };
        }
    };
    // The demo tells its own story; the parts it is made of log only what goes wrong.
    let quiet = matches!(args.command, Command::Demo(_));
    let level = args.log.unwrap_or(if quiet { logging::Level::Warn } else { logging::Level::Info });
    logging::init(level, args.log_format, args.color);
    let result = match args.command {
        Command::Proxy(args) => commands::proxy::run(*args),
        Command::Record(args) => commands::record::run(args),
        Command::Analyze(command) => commands::analyze::run(command, args.color),
        Command::Decode(args) => commands::decode::run(args),
        Command::Diff(args) => commands::diff::run(args),
        Command::Calibrate(args) => commands::calibrate::run(args),
        Command::Demo(command) => commands::demo::run(command, args.color),
        Command::DemoServer(args) => commands::demo_server::run(args),
        Command::Completions(args) => commands::completions::run(args),
    };
    match result {
        Ok(code) => code.into(),
        Err(error) => exit::report(&error),
    }
}
