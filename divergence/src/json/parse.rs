//! A recursive descent over the bytes; nothing is copied but text with escapes.

use std::borrow::Cow;

use super::float::Scan;
use super::{Json, Number};

/// Why bytes are not read as JSON.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum JsonError {
    /// Something else stands where a value, a field name, a comma or an end belongs.
    #[error("expected {expected} at byte {at}")]
    Expected {
        /// What belongs there.
        expected: &'static str,
        /// Offset in bytes.
        at: usize,
    },
    /// Containers within containers past the bound.
    #[error("recursion limit exceeded at byte {0}")]
    Depth(usize),
    /// More values than the limit.
    #[error("more than {0} values")]
    TooMany(usize),
}

/// Parses a text that is one value.
pub(super) fn whole(bytes: &[u8], limit: usize) -> Result<Json<'_>, JsonError> {
    let mut parser = Parser { bytes, at: 0, limit, room: limit };
    let value = parser.value(0)?;
    parser.blank();
    if parser.at < bytes.len() {
        return Err(parser.expected("the end"));
    }
    Ok(value)
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    limit: usize,
    /// How many more values may come.
    room: usize,
}

impl<'a> Parser<'a> {
    fn expected(&self, expected: &'static str) -> JsonError {
        JsonError::Expected { expected, at: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn blank(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Steps over `byte`, if it is next.
    fn take(&mut self, byte: u8) -> bool {
        let next = self.peek() == Some(byte);
        self.at += usize::from(next);
        next
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.blank();
        self.count()?;
        match self.peek() {
            Some(b'{' | b'[') if depth == Json::MAX_DEPTH => Err(JsonError::Depth(self.at)),
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => self.text().map(Json::Text),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') if self.bytes[self.at..].starts_with(b"null") => self.word("null", Json::Null),
            _ => self.number().map(Json::Number),
        }
    }

    /// Counts one more value.
    fn count(&mut self) -> Result<(), JsonError> {
        self.room = self.room.checked_sub(1).ok_or(JsonError::TooMany(self.limit))?;
        Ok(())
    }

    fn word(&mut self, word: &'static str, value: Json<'a>) -> Result<Json<'a>, JsonError> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.blank();
        if self.take(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            self.blank();
            // Long arrays are numbers, and these need no more than this.
            match self.peek() {
                Some(b'0'..=b'9' | b'-') => {
                    self.count()?;
                    let start = self.at;
                    let scan = self.scan()?;
                    let text = &self.bytes[start..self.at];
                    if items.len() == items.capacity() {
                        items.reserve(1);
                    }
                    // Built where it will be: moved about, its parts would be read back before they are written.
                    items.push(Json::Number(Number::of(text, scan)));
                }
                _ => items.push(self.value(depth)?),
            }
            if self.peek() != Some(b',') {
                self.blank();
                if self.take(b']') {
                    return Ok(Json::Array(items));
                }
            }
            if !self.take(b',') {
                return Err(self.expected("`,` or `]`"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.at += 1;
        let mut fields = Vec::new();
        self.blank();
        if self.take(b'}') {
            return Ok(Json::Object(fields));
        }
        loop {
            self.blank();
            if self.peek() != Some(b'"') {
                return Err(self.expected("the name of a field"));
            }
            let name = self.text()?;
            self.blank();
            if !self.take(b':') {
                return Err(self.expected("`:`"));
            }
            fields.push((name, self.value(depth)?));
            self.blank();
            if self.take(b'}') {
                return Ok(Json::Object(fields));
            }
            if !self.take(b',') {
                return Err(self.expected("`,` or `}`"));
            }
        }
    }

    fn number(&mut self) -> Result<Number<'a>, JsonError> {
        let start = self.at;
        let scan = self.scan()?;
        Ok(Number::of(&self.bytes[start..self.at], scan))
    }

    /// Steps over a number; `None` of a word for one that is not finite.
    #[inline(always)]
    fn scan(&mut self) -> Result<Option<Scan>, JsonError> {
        let start = self.at;
        let mut scan = Scan { negative: self.take(b'-'), integer: true, ..Scan::default() };
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return self.not_finite(start);
        }
        if !self.take(b'0') {
            self.at += scan.digits(&self.bytes[self.at..]);
        }
        if self.take(b'.') {
            scan.integer = false;
            let fraction = scan.digits(&self.bytes[self.at..]);
            if fraction == 0 {
                return Err(self.expected("a digit"));
            }
            scan.fraction = u32::try_from(fraction).unwrap_or(u32::MAX);
            self.at += fraction;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            scan.integer = false;
            scan.exponent = self.exponent()?;
        }
        Ok(Some(scan))
    }

    /// The exponent, of which the letter has been stepped over.
    fn exponent(&mut self) -> Result<i32, JsonError> {
        let negative = self.take(b'-');
        if !negative {
            self.take(b'+');
        }
        let mut exponent = Scan::default();
        let digits = exponent.digits(&self.bytes[self.at..]);
        if digits == 0 {
            return Err(self.expected("a digit"));
        }
        self.at += digits;
        let magnitude =
            i32::try_from(exponent.mantissa).ok().filter(|_| exponent.digits <= 7).unwrap_or(10_000_000);
        Ok(if negative { -magnitude } else { magnitude })
    }

    #[cold]
    fn not_finite(&mut self, start: usize) -> Result<Option<Scan>, JsonError> {
        let rest = &self.bytes[self.at..];
        let word = ["infinity", "inf", "nan"].into_iter().find(|word| {
            rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
        });
        let Some(word) = word else {
            self.at = start;
            return Err(self.expected("a value"));
        };
        self.at += word.len();
        Ok(None)
    }

    /// The text whose opening quote is next.
    fn text(&mut self) -> Result<Cow<'a, str>, JsonError> {
        self.at += 1;
        let start = self.at;
        let run = self.run()?;
        if self.take(b'"') {
            let text = &self.bytes[start..start + run];
            // Text is nearly always right, and this looks at it faster.
            return Ok(
                std::str::from_utf8(text).map_or_else(|_| String::from_utf8_lossy(text), Cow::Borrowed)
            );
        }
        let mut text = String::from_utf8_lossy(&self.bytes[start..start + run]).into_owned();
        loop {
            if self.take(b'"') {
                return Ok(Cow::Owned(text));
            }
            if self.take(b'\\') {
                text.push(self.escape()?);
            }
            let start = self.at;
            let run = self.run()?;
            text.push_str(&String::from_utf8_lossy(&self.bytes[start..start + run]));
        }
    }

    /// Steps over bytes that stand for themselves, and gives their number.
    fn run(&mut self) -> Result<usize, JsonError> {
        let rest = &self.bytes[self.at..];
        let run = rest.iter().position(|byte| matches!(byte, b'"' | b'\\') || *byte < 0x20);
        self.at += run.unwrap_or(rest.len());
        match self.peek() {
            Some(b'"' | b'\\') => Ok(run.unwrap_or(rest.len())),
            _ => Err(self.expected("the end of a text")),
        }
    }

    /// The character of the escape whose backslash has been stepped over.
    fn escape(&mut self) -> Result<char, JsonError> {
        let byte = self.peek().ok_or_else(|| self.expected("an escape"))?;
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => self.code_point()?,
            _ => {
                self.at -= 1;
                return Err(self.expected("an escape"));
            }
        })
    }

    fn code_point(&mut self) -> Result<char, JsonError> {
        let high = self.four_digits()?;
        // Half of a surrogate pair alone has no character: `from_u32` refuses it.
        if !(0xd800..0xdc00).contains(&high) || !self.bytes[self.at..].starts_with(b"\\u") {
            return Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let after_high = self.at;
        self.at += 2;
        let low = self.four_digits()?;
        if !(0xdc00..0xe000).contains(&low) {
            self.at = after_high;
            return Ok(char::REPLACEMENT_CHARACTER);
        }
        let joined = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        Ok(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four_digits(&mut self) -> Result<u32, JsonError> {
        let digits =
            self.bytes.get(self.at..self.at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.ok_or_else(|| self.expected("four hexadecimal digits"))?;
        self.at += 4;
        Ok(digits.iter().fold(0, |code, digit| {
            code << 4 | char::from(*digit).to_digit(16).expect("hexadecimal digits were checked")
        }))
    }
}
