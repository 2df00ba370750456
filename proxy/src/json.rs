//! Replaces values in a JSON text and leaves every other byte as it is.
//!
//! A tokenizer of its own, because what inference servers write is not always JSON: `NaN`, `Infinity` and numbers past any
//! type must pass unread, and a member that is dropped takes its comma along, for which parsers give no positions. It is lenient
//! only where a value is passed over: a text whose structure is in doubt is refused, for then a secret could hide in it.

pub(crate) mod places;
mod text;

use std::ops::Range;

use crate::config::redaction::Action;
use places::{Places, Step};
pub(crate) use text::{compacted, unescaped};

/// Levels of nesting; more are refused.
const MAX_DEPTH: usize = 256;

/// Values that are written without quotes, a sign aside: those of JSON, and those that Python and C++ write besides.
const WORDS: [&[u8]; 7] = [b"true", b"false", b"null", b"NaN", b"Infinity", b"nan", b"inf"];

/// Not JSON, or not surely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not JSON")]
pub(crate) struct NotJson;

/// What takes the place of a part of the text; nothing when it is dropped.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) at: Range<usize>,
    pub(crate) with: Vec<u8>,
}

/// Gives the JSON that takes the place of a value, by the value's text; `None` leaves it.
pub(crate) trait StandIn {
    /// # Errors
    /// When the value's text is none.
    fn for_value(&self, value: &[u8], action: Action) -> Result<Option<String>, NotJson>;
}

/// The edits, in order, that one JSON text needs, or several that follow each other as in JSON lines. `whole` is what becomes of
/// each text as a whole.
///
/// # Errors
/// When the text is no JSON.
pub(crate) fn edits(
    text: &[u8],
    places: &Places<'_>,
    whole: Option<Action>,
    stand_in: &dyn StandIn,
) -> Result<Vec<Edit>, NotJson> {
    let mut walk = Walk { text, at: 0, places: places.clone(), stand_in, edits: Vec::new() };
    if text.starts_with(b"\xef\xbb\xbf") {
        walk.at = 3;
    }
    walk.space();
    let top = walk.at;
    while walk.at < text.len() {
        let start = walk.at;
        // Numbers in a row are a table, not JSON: of several texts, each is an object or an array.
        if start > top && !matches!((text[top], text[start]), (b'{' | b'[', b'{' | b'[')) {
            return Err(NotJson);
        }
        walk.value(whole.is_none(), 0)?;
        match whole {
            // A document that is dropped leaves a document.
            Some(Action::Drop) => walk.edits.push(Edit { at: start..walk.at, with: b"null".to_vec() }),
            Some(action) => walk.replace(start, action)?,
            None => {}
        }
        walk.space();
    }
    Ok(walk.edits)
}

/// The text with the edits made.
pub(crate) fn apply(text: &[u8], edits: &[Edit]) -> Vec<u8> {
    let added: usize = edits.iter().map(|edit| edit.with.len()).sum();
    let mut out = Vec::with_capacity(text.len() + added);
    let mut from = 0;
    for edit in edits {
        out.extend_from_slice(&text[from..edit.at.start]);
        out.extend_from_slice(&edit.with);
        from = edit.at.end;
    }
    out.extend_from_slice(&text[from..]);
    out
}

struct Walk<'t, 'r> {
    text: &'t [u8],
    at: usize,
    places: Places<'r>,
    stand_in: &'t dyn StandIn,
    /// In order, none over another.
    edits: Vec<Edit>,
}

impl Walk<'_, '_> {
    /// Passes one value; `watch` says whether a rule may hold within it.
    fn value(&mut self, watch: bool, depth: usize) -> Result<(), NotJson> {
        match self.peek() {
            Some(b'{') => self.container(b'}', watch && self.places.any(), depth),
            Some(b'[') => self.container(b']', watch && self.places.any(), depth),
            Some(b'"') => self.string().map(drop),
            _ => self.bare(),
        }
    }

    fn container(&mut self, close: u8, watch: bool, depth: usize) -> Result<(), NotJson> {
        if depth == MAX_DEPTH {
            return Err(NotJson);
        }
        self.at += 1;
        self.space();
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(());
        }
        let first = self.at;
        let mut kept = None;
        for index in 0.. {
            let start = self.at;
            let action = self.member(close, index, watch, depth)?;
            let (end, dropped) = (self.at, action == Some(Action::Drop));
            self.space();
            let next = self.peek();
            self.at += 1;
            if next == Some(b',') {
                self.space();
                if dropped {
                    self.drop_part(start..self.at);
                } else {
                    kept = Some(end);
                }
            } else if next == Some(close) {
                if dropped {
                    // The comma before it goes too.
                    self.drop_part(kept.unwrap_or(first)..end);
                }
                return Ok(());
            } else {
                break;
            }
        }
        Err(NotJson)
    }

    /// Passes a member of an object or an element of an array, and replaces its value where that is to be.
    fn member(
        &mut self,
        close: u8,
        index: usize,
        watch: bool,
        depth: usize,
    ) -> Result<Option<Action>, NotJson> {
        let mut action = None;
        if close == b'}' {
            let name = self.string()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(NotJson);
            }
            self.at += 1;
            self.space();
            if watch {
                action = self.places.down(Step::Name(&unescaped(&self.text[name])?));
            }
        } else if watch {
            action = self.places.down(Step::Index(index));
        }
        let start = self.at;
        self.value(watch && action.is_none(), depth + 1)?;
        if watch {
            self.places.up();
        }
        if let Some(action @ (Action::Mask | Action::Hash)) = action {
            self.replace(start, action)?;
        }
        Ok(action)
    }

    /// Leaves a part out, with all that was replaced in it.
    fn drop_part(&mut self, at: Range<usize>) {
        while self.edits.last().is_some_and(|edit| edit.at.start >= at.start) {
            self.edits.pop();
        }
        self.edits.push(Edit { at, with: Vec::new() });
    }

    /// Replaces the value from `start` to the present place.
    fn replace(&mut self, start: usize, action: Action) -> Result<(), NotJson> {
        let at = start..self.at;
        if let Some(with) = self.stand_in.for_value(&self.text[at.clone()], action)? {
            self.edits.push(Edit { at, with: with.into_bytes() });
        }
        Ok(())
    }

    /// Passes a string; gives where its inner text is.
    fn string(&mut self) -> Result<Range<usize>, NotJson> {
        if self.peek() != Some(b'"') {
            return Err(NotJson);
        }
        let start = self.at + 1;
        let mut at = start;
        loop {
            let rest = self.text.get(at..).unwrap_or_default();
            at += memchr::memchr2(b'"', b'\\', rest).ok_or(NotJson)?;
            if self.text[at] == b'"' {
                break;
            }
            at += 2;
        }
        self.at = at + 1;
        Ok(start..at)
    }

    /// Passes a number of any size, or one of [`WORDS`].
    fn bare(&mut self) -> Result<(), NotJson> {
        let rest = &self.text[self.at..];
        let letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = rest.iter().position(|byte| !letter(byte)).unwrap_or(rest.len());
        let bare = &rest[..length];
        let digits = bare.iter().all(|byte| b"0123456789+-.eE".contains(byte));
        let number = digits && bare.iter().any(u8::is_ascii_digit);
        if !number && !WORDS.contains(&bare.strip_prefix(b"-").unwrap_or(bare)) {
            return Err(NotJson);
        }
        self.at += length;
        Ok(())
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests;
