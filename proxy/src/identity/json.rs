//! A text or a number in a JSON document, found without building it.

use exchange::Leg;
use jiter::{Jiter, Peek};

/// The text at `pointer` (RFC 6901) in the leg's answer: of a binary answer of the Open Inference Protocol, in its head. `None` where the
/// answer is not whole, is compressed, is no JSON, or has there no text, number or truth value.
pub(super) fn value(leg: &Leg, pointer: &str) -> Option<String> {
    let encoded = leg.header("content-encoding").is_some_and(|name| !name.eq_ignore_ascii_case("identity"));
    if leg.body.truncated || encoded {
        return None;
    }
    let head = leg.header("inference-header-content-length").map(|length| length.trim().parse::<usize>());
    let json = match head {
        Some(length) => leg.body.bytes.get(..length.ok()?)?,
        None => &leg.body.bytes[..],
    };
    at(json, pointer)
}

/// The text at `pointer` in a JSON document; numbers as they are written there. NaN and infinities are numbers here, as servers write them.
pub(crate) fn at(json: &[u8], pointer: &str) -> Option<String> {
    let mut jiter = Jiter::new(json).with_allow_inf_nan();
    let mut peek = jiter.peek().ok()?;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        peek = if peek == Peek::Object {
            member(&mut jiter, &token)?
        } else if peek == Peek::Array {
            element(&mut jiter, token.parse().ok()?)?
        } else {
            return None;
        };
    }
    if peek == Peek::String {
        return jiter.known_str().ok().map(str::to_owned);
    }
    if peek == Peek::Array || peek == Peek::Object || peek == Peek::Null {
        return None;
    }
    let from = jiter.current_index();
    jiter.known_skip(peek).ok()?;
    Some(String::from_utf8_lossy(&json[from..jiter.current_index()]).trim().to_owned())
}

fn member(jiter: &mut Jiter<'_>, name: &str) -> Option<Peek> {
    let mut key = jiter.known_object().ok()?.map(|key| key == name);
    while !key? {
        jiter.next_skip().ok()?;
        key = jiter.next_key().ok()?.map(|key| key == name);
    }
    jiter.peek().ok()
}

fn element(jiter: &mut Jiter<'_>, index: usize) -> Option<Peek> {
    let mut peek = jiter.known_array().ok()?;
    for _ in 0..index {
        jiter.known_skip(peek?).ok()?;
        peek = jiter.array_step().ok()?;
    }
    peek
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_leads_to_a_value_of_any_plain_kind() {
        let json =
            br#"{"a": [NaN, {"b~/c": "x\ty"}, -1.50e3, true, 18446744073709551616], "": {"": 7}, "n": null}"#;
        for (pointer, value) in [
            ("/a/1/b~0~1c", Some("x\ty")),
            ("/a/2", Some("-1.50e3")),
            ("/a/0", Some("NaN")),
            ("/a/3", Some("true")),
            ("/a/4", Some("18446744073709551616")),
            ("//", Some("7")),
            ("/a/5", None),
            ("/a/x", None),
            ("/a", None),
            ("/n", None),
            ("/b", None),
            ("/a/2/0", None),
            ("", None),
        ] {
            assert_eq!(at(json, pointer).as_deref(), value, "{pointer}");
        }
        assert_eq!(at(b"\"whole\"", "").as_deref(), Some("whole"));
    }

    #[test]
    fn what_is_no_json_has_no_values() {
        let deep = "[".repeat(100_000);
        for json in ["", "{", "{\"a\"", "{\"a\":", "{\"b\":1,", "\u{0}", "{\"a\": \"unclosed", deep.as_str()]
        {
            assert_eq!(at(json.as_bytes(), "/a"), None, "{json:.20}");
        }
    }
}
