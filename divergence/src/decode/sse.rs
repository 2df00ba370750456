//! Server-sent events (<https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream>), of a stream that
//! has been captured to its end: where its chunks were cut does not matter.

use std::borrow::Cow;

/// Whether a body looks like an event stream, whatever its media type says.
pub(super) fn looks_like(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let start = body.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(0);
    ["data:", "event:", "id:", ":", "retry:"].iter().any(|field| body[start..].starts_with(field.as_bytes()))
}

/// The data of each event that has any. An event that the stream ends in counts as a whole one.
pub(super) fn events(body: &[u8]) -> Vec<Cow<'_, [u8]>> {
    let mut events = Vec::new();
    let mut data: Option<Cow<'_, [u8]>> = None;
    for line in lines(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)) {
        if line.is_empty() {
            events.extend(data.take());
        } else if let Some(value) = value(line) {
            match &mut data {
                None => data = Some(Cow::Borrowed(value)),
                Some(data) => {
                    let data = data.to_mut();
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
            }
        }
    }
    events.extend(data);
    events
}

/// The value of a `data` line, without the one blank that may come first. Servers that leave it out exist.
fn value(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"data")?;
    match rest.split_first() {
        None => Some(rest),
        Some((b':', value)) => Some(value.strip_prefix(b" ").unwrap_or(value)),
        Some(_) => None,
    }
}

/// Lines, which end with CR, LF or both.
fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = body;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        rest = after.strip_prefix(b"\r\n").unwrap_or(after.get(1..).unwrap_or_default());
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(body: &str) -> Vec<String> {
        events(body.as_bytes()).iter().map(|data| String::from_utf8_lossy(data).into_owned()).collect()
    }

    #[test]
    fn every_line_end_and_form_of_field_is_read() {
        assert_eq!(
            texts("data: a\n\ndata:b\r\n\r\ndata:  c\r\rid: 7\nevent: x\ndata: d\n\n"),
            ["a", "b", " c", "d"]
        );
        assert_eq!(texts("\u{feff}data: a\n\n"), ["a"]);
        assert_eq!(texts("data: a\ndata: b\n\n"), ["a\nb"]);
    }

    #[test]
    fn comments_and_other_fields_are_no_data_and_the_end_ends_an_event() {
        assert_eq!(texts(": keep-alive\n\ndatum: x\n\nretry: 5\n\ndata\n\ndata: a"), ["", "a"]);
        assert_eq!(texts(""), [""; 0]);
    }

    #[test]
    fn a_stream_is_told_from_json_by_its_first_line() {
        assert!(looks_like(b"data: {}") && looks_like(b": ping\n\n") && looks_like(b"\n\nevent: x\n"));
        assert!(!looks_like(b"{\"data\": 1}") && !looks_like(b"") && !looks_like(b"[1]"));
    }
}
