//! The summary for a terminal.

use std::fmt::Write as _;

use super::table::{Align, Table};
use super::tables;
use crate::Summary;
use crate::text::{count, threshold};
use crate::verdict::{Severity, Status};

/// How to write for the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalStyle {
    /// Whether to use ANSI colours.
    pub color: bool,
    /// Columns of the terminal; less than 60 is taken as 60.
    pub width: usize,
}

impl Default for TerminalStyle {
    fn default() -> Self {
        Self { color: false, width: 100 }
    }
}

const RED: &str = "1;31";
const GREEN: &str = "1;32";
const YELLOW: &str = "1;33";
const BOLD: &str = "1";
const DIM: &str = "2";

impl TerminalStyle {
    fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn columns(self) -> usize {
        self.width.max(60)
    }
}

/// The report as text: the verdict first, then what it rests on.
#[must_use]
pub fn terminal(summary: &Summary, style: &TerminalStyle) -> String {
    let style = *style;
    let mut out = String::new();
    verdict(&mut out, summary, style);
    for target in &summary.targets {
        let head = format!(
            "{}: {} rows, serious {}",
            plain(&tables::name(target)),
            count(target.rows),
            target.serious.text()
        );
        let _ = writeln!(out, "\n{}", style.paint(BOLD, &head));
        for table in tables::of_target(target, summary.options.confidence) {
            write_table(&mut out, &table, style);
        }
    }
    for table in tables::ledger(summary) {
        write_table(&mut out, &table, style);
    }
    if summary.set.dead_letters > 0 {
        let _ =
            writeln!(out, "\n{} messages could not be read (dead_letters/)", count(summary.set.dead_letters));
    }
    let _ = writeln!(out, "\n{}", style.paint(BOLD, "Not covered"));
    for line in &summary.verdict.not_covered {
        wrap(&mut out, "  - ", &plain(line), style);
    }
    out
}

fn verdict(out: &mut String, summary: &Summary, style: TerminalStyle) {
    let (code, word) = match summary.verdict.status {
        Status::Pass => (GREEN, "PASS"),
        Status::Fail => (RED, "FAIL"),
        Status::Inconclusive => (YELLOW, "INCONCLUSIVE"),
    };
    let set = &summary.set;
    let span = match (&set.received_from, &set.received_to) {
        (Some(from), Some(to)) => format!(", {from} to {to}"),
        _ => String::new(),
    };
    let _ =
        writeln!(out, "{}  {} rows{span}", style.paint(code, &format!("VERDICT {word}")), count(set.rows));
    let _ = writeln!(
        out,
        "{}",
        style.paint(
            DIM,
            &format!("serious divergence may be at most {}", threshold(summary.options.min_rate))
        )
    );
    if summary.verdict.status == Status::Pass {
        for reason in &summary.verdict.reasons {
            wrap(out, "  ", &plain(reason), style);
        }
    }
    for finding in &summary.verdict.findings {
        let (code, mark) = match finding.severity {
            Severity::Block => (RED, "block"),
            Severity::Insufficient => (YELLOW, "insufficient"),
            Severity::Warn => (YELLOW, "warning"),
        };
        let target =
            if finding.target.is_empty() { String::new() } else { format!(" ({})", plain(&finding.target)) };
        let _ = writeln!(out, "\n{}{target} {}", style.paint(code, finding.name), style.paint(DIM, mark));
        wrap(out, "  ", &plain(&finding.text), style);
        if !finding.examples.is_empty() {
            let ids: Vec<String> =
                finding.examples.iter().take(3).map(|example| plain(&example.exchange_id)).collect();
            wrap(out, "  ", &format!("examples: {}", ids.join(" ")), style);
        }
    }
}

/// Text without control characters: names come from the traffic and must not steer the terminal.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn wrap(out: &mut String, indent: &str, text: &str, style: TerminalStyle) {
    let room = style.columns() - indent.chars().count();
    let mut lead = indent.to_owned();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            let _ = writeln!(out, "{lead}{line}");
            lead = " ".repeat(indent.chars().count());
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(out, "{lead}{line}");
}

fn write_table(out: &mut String, table: &Table, style: TerminalStyle) {
    if table.rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n  {}", style.paint(BOLD, &table.title));
    if !table.note.is_empty() {
        let mut note = String::new();
        wrap(&mut note, "  ", &table.note, style);
        let _ = write!(out, "{}", style.paint(DIM, &note));
    }
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(|cell| plain(cell)).collect()).collect();
    let widths = widths(table, &rows, style.columns());
    let header: Vec<String> = table.columns.iter().map(|(name, _)| plain(name)).collect();
    let _ = writeln!(out, "{}", style.paint(DIM, &line(&header, table, &widths)));
    for row in &rows {
        let _ = writeln!(out, "{}", line(row, table, &widths));
    }
}

/// Width of each column; where the row is too long, the widest columns of plain text give way, down to eight.
fn widths(table: &Table, rows: &[Vec<String>], room: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = table.columns.iter().map(|(name, _)| name.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    while widths.iter().map(|width| width + 2).sum::<usize>() > room {
        let texts = widths.iter_mut().zip(&table.columns).filter(|(_, (_, align))| *align == Align::Text);
        let Some((widest, _)) = texts.max_by_key(|(width, _)| **width) else { break };
        if *widest <= 8 {
            break;
        }
        *widest -= 1;
    }
    widths
}

fn line(cells: &[String], table: &Table, widths: &[usize]) -> String {
    let mut text = String::new();
    for ((cell, (_, align)), width) in cells.iter().zip(&table.columns).zip(widths) {
        let cell = cut(cell, *width);
        let _ = match align {
            Align::Number => write!(text, "  {cell:>width$}"),
            Align::Text | Align::Whole => write!(text, "  {cell:<width$}"),
        };
    }
    text.truncate(text.trim_end().len());
    text
}

fn cut(cell: &str, width: usize) -> String {
    if cell.chars().count() <= width {
        return cell.to_owned();
    }
    cell.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
