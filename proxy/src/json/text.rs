//! The text of a JSON value in one form, so that equal values are equal bytes.

use std::borrow::Cow;

use super::NotJson;

/// The inner text of a string with its escapes undone (RFC 8259, section 7). Half of a surrogate pair becomes U+FFFD.
///
/// # Errors
/// When an escape is none.
pub(crate) fn unescaped(inner: &[u8]) -> Result<Cow<'_, [u8]>, NotJson> {
    if !inner.contains(&b'\\') {
        return Ok(Cow::Borrowed(inner));
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let [first, tail @ ..] = rest {
        if *first != b'\\' {
            out.push(*first);
            rest = tail;
            continue;
        }
        let (letter, tail) = tail.split_first().ok_or(NotJson)?;
        rest = tail;
        out.push(match letter {
            b'"' | b'\\' | b'/' => *letter,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let (letter, tail) = code_point(tail)?;
                out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                rest = tail;
                continue;
            }
            _ => return Err(NotJson),
        });
    }
    Ok(Cow::Owned(out))
}

/// The character of one `\u`, or of a pair of them, whose first hex digits `text` begins with; and what follows.
fn code_point(text: &[u8]) -> Result<(char, &[u8]), NotJson> {
    let (high, rest) = unit(text).ok_or(NotJson)?;
    let low = rest.strip_prefix(b"\\u").and_then(unit);
    if let (0xD800..0xDC00, Some((low @ 0xDC00..0xE000, after))) = (high, low) {
        let joined = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        return Ok((char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER), after));
    }
    Ok((char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), rest))
}

fn unit(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let digits = digits.iter().map(|digit| char::from(*digit).to_digit(16));
    let unit = digits.into_iter().try_fold(0, |unit, digit| Some(unit * 16 + digit?))?;
    Some((unit, rest))
}

/// A value without the white space between its tokens.
pub(crate) fn compacted(value: &[u8]) -> Vec<u8> {
    let (mut within, mut escaped) = (false, false);
    let mut keeps = |byte: &u8| {
        let keep = within || !byte.is_ascii_whitespace();
        if *byte == b'"' && !escaped {
            within = !within;
        }
        escaped = within && *byte == b'\\' && !escaped;
        keep
    };
    value.iter().copied().filter(|byte| keeps(byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        for (inner, plain) in [
            (r"plain é", "plain é"),
            (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r"\u006eame", "name"),
            (r"\ud83d\ude00!", "😀!"),
            (r"\ud83dx", "\u{fffd}x"),
            (r"\udc00\u0041", "\u{fffd}A"),
        ] {
            assert_eq!(unescaped(inner.as_bytes()).unwrap(), plain.as_bytes(), "{inner}");
        }
        for inner in [r"\", r"\x", r"\u12", r"\u12g4"] {
            assert_eq!(unescaped(inner.as_bytes()), Err(NotJson), "{inner}");
        }
    }

    #[test]
    fn space_between_tokens_goes_and_space_in_strings_stays() {
        assert_eq!(compacted(b"[ 1,\n { \"a b\\\" \\\\\" : \"c d\" } ]"), b"[1,{\"a b\\\" \\\\\":\"c d\"}]");
    }
}
