//! `shadowdiff analyze DIR`.

use std::io::IsTerminal;
use std::path::Path;

use analyzer::{AnalyzeError, Options, Summary, report};
use anyhow::{Context, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use proxy::config::Fraction;

use crate::args;
use crate::exit::Usage;
use crate::logging::{self, Color};

pub(crate) fn run(args: args::Analyze, color: Color) -> anyhow::Result<u8> {
    let options = Options {
        load_bins: usize::from(args.load_bins),
        worst: usize::from(args.worst),
        min_rate: args.max_rate.parse::<Fraction>().context("--max-rate").map_err(Usage::of)?.get(),
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
    summary.map_err(|error| match error {
        AnalyzeError::Option { name: "min_rate", value, allowed } => {
            Usage::of(anyhow!("--max-rate {value}: give a share {allowed}"))
        }
        AnalyzeError::Option { .. } => Usage::of(error),
        other => other.into(),
    })
}

/// How the terminal report is to look.
pub(crate) fn style(color: Color) -> report::TerminalStyle {
    let stdout = std::io::stdout();
    let width = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    report::TerminalStyle { color: color.on(&stdout), width: if stdout.is_terminal() { width } else { 100 } }
}

/// Writes a report, whole or not at all where the path is a file, and into it where it is a device or a pipe.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    written(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

fn written(path: &Path, text: &str) -> std::io::Result<()> {
    // A link stays one: what it leads to is replaced.
    let file = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if file.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return std::fs::write(file, text);
    }
    let mut partial = file.clone().into_os_string();
    partial.push(".partial");
    let replaced = std::fs::write(&partial, text).and_then(|()| std::fs::rename(&partial, file));
    if replaced.is_err() {
        // The first error says more than one about the part that is left.
        let _ = std::fs::remove_file(&partial);
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_pipes_stay_what_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("file"), "old").unwrap();
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        write(&path("link"), "new").unwrap();
        assert!(path("link").is_symlink());
        assert_eq!(std::fs::read_to_string(path("file")).unwrap(), "new");

        assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        let reading = std::thread::spawn({
            let pipe = path("pipe");
            move || std::fs::read_to_string(pipe)
        });
        write(&path("pipe"), "report").unwrap();
        assert!(!path("pipe").is_file(), "the pipe was replaced by a file");
        assert_eq!(reading.join().unwrap().unwrap(), "report");
        assert_eq!(dir.path().read_dir().unwrap().count(), 3, "nothing else is left");
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = format!("{:#}", write(&dir.path().join("none/report.html"), "").unwrap_err());
        assert!(error.contains("none/report.html cannot be written"), "{error}");
    }
}
