//! Bytes that lie in several pieces, read and changed in place: only what is changed is copied.

use std::cell::Cell;
use std::ops::Range;

use bytes::Bytes;

/// A part that is replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) at: Range<usize>,
    pub(super) with: Vec<u8>,
}

/// The pieces.
pub(super) struct Pieces<'b> {
    pieces: &'b [Bytes],
    length: usize,
    /// A piece and where it begins: bytes are mostly read in order.
    near: Cell<(usize, usize)>,
}

impl<'b> Pieces<'b> {
    pub(super) fn new(pieces: &'b [Bytes]) -> Self {
        let length = pieces.iter().map(Bytes::len).sum();
        Self { pieces, length, near: Cell::new((0, 0)) }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// The byte at that place.
    pub(super) fn get(&self, at: usize) -> Option<u8> {
        if at >= self.length {
            return None;
        }
        let (mut piece, mut start) = self.near.get();
        if at < start {
            (piece, start) = (0, 0);
        }
        while let Some(bytes) = self.pieces.get(piece) {
            if at < start + bytes.len() {
                self.near.set((piece, start));
                return bytes.get(at - start).copied();
            }
            start += bytes.len();
            piece += 1;
        }
        None
    }

    /// A copy of a part, which is not longer than `most`.
    pub(super) fn copy(&self, part: Range<usize>, most: usize) -> Option<Vec<u8>> {
        if part.end > self.length || part.len() > most {
            return None;
        }
        part.map(|at| self.get(at)).collect()
    }

    /// Adds a part to `out`, not copied.
    pub(super) fn share(&self, part: Range<usize>, out: &mut Vec<Bytes>) {
        let mut start = 0;
        for piece in self.pieces {
            let end = start + piece.len();
            let (from, to) = (part.start.max(start), part.end.min(end));
            if from < to {
                out.push(piece.slice(from - start..to - start));
            }
            start = end;
        }
    }

    /// Adds a part to `out` with the edits in it, which are in order, made.
    pub(super) fn edited(&self, part: Range<usize>, edits: Vec<Edit>, out: &mut Vec<Bytes>) {
        let mut from = part.start;
        for edit in edits {
            self.share(from..edit.at.start, out);
            from = edit.at.end;
            if !edit.with.is_empty() {
                out.push(edit.with.into());
            }
        }
        self.share(from..part.end, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces() -> Vec<Bytes> {
        ["ab", "", "cde", "f"].map(|piece| Bytes::from_static(piece.as_bytes())).into()
    }

    #[test]
    fn bytes_are_found_in_any_order() {
        let all = pieces();
        let pieces = Pieces::new(&all);
        let read = |at| pieces.get(at).map(char::from);
        assert_eq!(
            [5, 0, 2, 1, 4, 6].map(read),
            [Some('f'), Some('a'), Some('c'), Some('b'), Some('e'), None]
        );
        assert_eq!(pieces.copy(1..5, 4).unwrap(), b"bcde");
        assert_eq!((pieces.copy(1..5, 3), pieces.copy(5..7, 9)), (None, None));
    }

    #[test]
    fn what_is_not_changed_is_not_copied() {
        let all = pieces();
        let mut out = Vec::new();
        let edits = vec![Edit { at: 1..3, with: b"XYZ".to_vec() }, Edit { at: 5..5, with: b"-".to_vec() }];
        Pieces::new(&all).edited(0..6, edits, &mut out);
        assert_eq!(out.concat(), b"aXYZde-f");
        assert_eq!(out[0].as_ptr(), all[0].as_ptr());
        assert_eq!(out.last().unwrap().as_ptr(), all[3].as_ptr());
    }
}
