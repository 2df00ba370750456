//! What all outputs show together, and the class that follows: the first rule that matches.

use std::collections::{BTreeMap, BTreeSet};

use super::degenerate::{OneSided, Sign};
use crate::Class;

/// A move, in the order in which they name a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Move {
    /// The largest element, or the best item.
    Top,
    Crossed,
    Token,
    Label,
    Detections,
    Reason,
    Text,
    /// From here on, moves that noise explains.
    NearTop,
    NearCrossed,
    NearToken,
    NearDetections,
    /// From here on, moves below the top.
    Order,
    Members,
}

impl Move {
    fn class(self) -> Class {
        if self < Self::Order { Class::Flip } else { Class::Rank }
    }

    fn is_real(self) -> bool {
        self < Self::NearTop
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Top => "real",
            Self::Crossed => "real:threshold",
            Self::Token => "real:token",
            Self::Label => "real:label",
            Self::Detections => "real:detections",
            Self::Reason => "real:reason",
            Self::Text => "real:text",
            Self::NearTop => "near_tie",
            Self::NearCrossed => "near_tie:threshold",
            Self::NearToken => "near_tie:token",
            Self::NearDetections => "near_tie:detections",
            Self::Order => "",
            Self::Members => "members",
        }
    }
}

/// Why a pair is gross, first match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gross {
    Ratio,
    Tolerance,
    Cosine,
    Sign,
}

impl Gross {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ratio => "ratio",
            Self::Tolerance => "tolerance",
            Self::Cosine => "cosine",
            Self::Sign => "sign",
        }
    }
}

/// Where something was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) output: String,
    pub(super) index: usize,
    pub(super) row: Option<u64>,
}

/// What the outputs show together.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) count: usize,
    pub(super) beyond: usize,
    pub(super) differs: bool,
    /// Generated text that ends early, as a detail.
    pub(super) truncated: Option<String>,
    /// Signs of the primary and of the shadow.
    pub(super) signs: [BTreeSet<Sign>; 2],
    pub(super) one_sided: OneSided,
    pub(super) gross: Option<Gross>,
    /// Whether there is a row with a largest element.
    pub(super) ranked: bool,
    pub(super) moves: BTreeMap<Move, Place>,
    /// Whether counts differ that follow from other outputs.
    pub(super) counts: bool,
}

impl Totals {
    /// Notes a move; of moves of one kind the first counts.
    pub(super) fn moved(&mut self, what: Move, place: impl FnOnce() -> Place) {
        self.moves.entry(what).or_insert_with(place);
    }

    /// Notes what makes the pair gross.
    pub(super) fn gross(&mut self, gross: Option<Gross>) {
        self.gross = [self.gross, gross].into_iter().flatten().min();
    }

    /// Whether the largest element of a row moved, and whether every such move is a near tie.
    pub(super) fn argmax(&self) -> (Option<bool>, Option<bool>) {
        let (real, near) = (self.moves.contains_key(&Move::Top), self.moves.contains_key(&Move::NearTop));
        (self.ranked.then_some(real || near), (real || near).then_some(!real))
    }

    /// The class, what within it, and where it shows when that is not the element with the most tolerance units.
    pub(super) fn class(&self) -> (Class, String, Option<&Place>) {
        if let Some(detail) = &self.truncated {
            return (Class::Structure, detail.clone(), None);
        }
        if let Some(sign) = self.one_sided.shadow {
            return (Class::Degenerate, format!("shadow_only:{}", sign.as_str()), None);
        }
        if let Some(gross) = self.gross {
            return (Class::Gross, gross.as_str().into(), None);
        }
        let beyond = self.beyond > 0;
        // Text follows the numbers it is made from: it is a decision of its own only where the numbers agree.
        let mut moves = self.moves.iter().filter(|(what, _)| **what != Move::Text || !beyond);
        let first = moves.next();
        if let Some((what, place)) = first.filter(|(what, _)| what.is_real()) {
            return (what.class(), what.as_str().into(), Some(place));
        }
        // It counts against nobody, so it must not hide what does.
        if let Some(sign) = self.one_sided.primary {
            return (Class::Degenerate, format!("primary_only:{}", sign.as_str()), None);
        }
        let text = if self.moves.contains_key(&Move::Text) { "text" } else { "" };
        match first {
            Some((what, place)) if what.class() == Class::Rank && !text.is_empty() => {
                (Class::Rank, text.into(), Some(place))
            }
            Some((what, place)) => (what.class(), what.as_str().into(), Some(place)),
            None if beyond => (Class::Numeric, text.into(), None),
            None if self.counts => (Class::Numeric, "count".into(), None),
            None if self.differs => (Class::WithinTol, String::new(), None),
            None => (Class::BitEqual, String::new(), None),
        }
    }
}
