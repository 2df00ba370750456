//! `shadowdiff analyze DIR`.

use std::io::IsTerminal;
use std::path::Path;

use analyzer::{Options, Summary, report};
use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args;
use crate::config::resolve;
use crate::exit::Usage;
use crate::logging::{self, Color};

pub(crate) fn run(args: args::Analyze, color: Color) -> anyhow::Result<u8> {
    let options = Options {
        load_bins: usize::from(args.load_bins),
        worst: usize::from(args.worst),
        min_rate: resolve::fraction(&args.max_rate).context("--max-rate").map_err(Usage::of)?.get(),
        ..Options::default()
    };
    let summary = summarize(&args.dir, &options)?;
    let to_stdout = args.json.as_deref().is_some_and(|path| path == Path::new("-"));
    if let Some(path) = &args.html {
        write(path, &report::html(&summary))?;
    }
    match &args.json {
        Some(path) if !to_stdout => write(path, &report::json(&summary))?,
        _ => {}
    }
    if to_stdout {
        logging::print(&report::json(&summary))?;
    } else {
        logging::print(&report::terminal(&summary, &style(color)))?;
    }
    Ok(summary.verdict.exit_code())
}

/// Analyses a set, with a progress bar where somebody watches.
pub(crate) fn summarize(dir: &Path, options: &Options) -> anyhow::Result<Summary> {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template("  analyzing {bar:40} {pos}/{len} files  {msg} rows") {
        bar.set_style(style);
    }
    let summary = analyzer::analyze(dir, options, &|progress| {
        bar.set_length(progress.files as u64);
        bar.set_position(progress.files_done as u64);
        bar.set_message(progress.rows.to_string());
    });
    bar.finish_and_clear();
    Ok(summary?)
}

/// How the terminal report is to look.
pub(crate) fn style(color: Color) -> report::TerminalStyle {
    let stdout = std::io::stdout();
    let width = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    report::TerminalStyle { color: color.on(&stdout), width: if stdout.is_terminal() { width } else { 100 } }
}

/// Writes a report, whole or not at all.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let partial = path.with_extension("partial");
    std::fs::write(&partial, text)
        .and_then(|()| std::fs::rename(&partial, path))
        .with_context(|| format!("{} cannot be written", path.display()))
}
