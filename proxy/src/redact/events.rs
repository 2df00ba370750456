//! Server-sent events whose data is JSON (HTML Standard, section 9.2.6), one by one; what is no data stays as it is.

use exchange::Pairs;

use super::body::Rules;
use super::unreadable::Unreadable;

/// Ends the stream of an OpenAI-shaped server.
const DONE: &[u8] = b"[DONE]";

/// Whether the body is a stream of events: it says so, or begins like one.
pub(super) fn are(headers: &Pairs, text: &[u8]) -> bool {
    let media = exchange::leg::header(headers, "content-type").unwrap_or_default();
    media.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
        || [&b"data:"[..], b"event:", b"id:", b"retry:", b":"].iter().any(|start| text.starts_with(start))
}

/// The stream with the data of its events redacted, or `None` when no rule held.
///
/// # Errors
/// When data is neither JSON nor the mark of the end, or a line is no field of an event.
pub(super) fn redacted(text: &[u8], rules: &Rules<'_>) -> Result<Option<Vec<u8>>, Unreadable> {
    let mut out = Vec::with_capacity(text.len());
    let mut changed = false;
    let mut event = Event::default();
    for line in Lines(text) {
        let content = line.content;
        if content.is_empty() {
            changed |= event.end(&mut out, rules)?;
            out.extend_from_slice(line.whole);
        } else if let Some(data) = field(content, b"data") {
            event.add(content, data, &line.whole[content.len()..]);
        } else if content.starts_with(b":") || OTHERS.iter().any(|name| field(content, name).is_some()) {
            event.other(line.whole);
        } else {
            return Err(Unreadable::NotJson);
        }
    }
    changed |= event.end(&mut out, rules)?;
    Ok(changed.then_some(out))
}

/// Fields of an event that hold no data of the model.
const OTHERS: [&[u8]; 3] = [b"event", b"id", b"retry"];

/// The value of a field of that name, after the colon and one space.
fn field<'l>(line: &'l [u8], name: &[u8]) -> Option<&'l [u8]> {
    let rest = line.strip_prefix(name)?;
    if rest.is_empty() {
        return Some(rest);
    }
    let value = rest.strip_prefix(b":")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

/// The lines of one event.
#[derive(Default)]
struct Event<'t> {
    /// All that is no data, before the data, between and after it.
    before: Vec<u8>,
    after: Vec<u8>,
    /// What stands before the data in its first line, such as `data: `.
    start: &'t [u8],
    line_end: &'t [u8],
    lines: Vec<&'t [u8]>,
}

impl<'t> Event<'t> {
    fn add(&mut self, content: &'t [u8], data: &'t [u8], line_end: &'t [u8]) {
        if self.lines.is_empty() {
            (self.start, self.line_end) = (&content[..content.len() - data.len()], line_end);
        }
        self.lines.push(data);
    }

    fn other(&mut self, line: &[u8]) {
        let to = if self.lines.is_empty() { &mut self.before } else { &mut self.after };
        to.extend_from_slice(line);
    }

    /// Writes the event; says whether it was changed.
    fn end(&mut self, out: &mut Vec<u8>, rules: &Rules<'_>) -> Result<bool, Unreadable> {
        let event = std::mem::take(self);
        // An event of several lines is their text joined (HTML Standard, section 9.2.6): no JSON string holds a line end.
        let data = event.lines.join(&b'\n');
        let redacted = if data.is_empty() || data == DONE { None } else { rules.json(&data)? };
        let changed = redacted.is_some();
        let data = redacted.unwrap_or(data);
        out.extend_from_slice(&event.before);
        if !event.lines.is_empty() {
            for line in data.split(|byte| *byte == b'\n') {
                out.extend_from_slice(event.start);
                out.extend_from_slice(line);
                out.extend_from_slice(event.line_end);
            }
        }
        out.extend_from_slice(&event.after);
        Ok(changed)
    }
}

struct Line<'t> {
    whole: &'t [u8],
    /// Without its end.
    content: &'t [u8],
}

/// Lines that end in CR LF, LF or CR.
struct Lines<'t>(&'t [u8]);

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;

    fn next(&mut self) -> Option<Line<'t>> {
        if self.0.is_empty() {
            return None;
        }
        let length = self.0.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(self.0.len());
        let (content, rest) = self.0.split_at(length);
        let end = match rest {
            [b'\r', b'\n', ..] => 2,
            [] => 0,
            _ => 1,
        };
        let (whole, rest) = self.0.split_at(length + end);
        self.0 = rest;
        Some(Line { whole, content })
    }
}
