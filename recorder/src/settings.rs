//! What to record, how, and where to.

use std::path::PathBuf;

use crate::Rotation;

/// Which bodies are kept in the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bodies {
    /// Those of every exchange.
    #[default]
    All,
    /// Those of exchanges whose class is neither `WITHIN_TOL` nor `BIT_EQUAL`.
    Divergent,
    /// None, nor the bytes of messages that cannot be read; lengths, digests and the decoded outputs stay.
    None,
}

impl Bodies {
    /// Whether the bodies of an exchange of that class are kept.
    #[must_use]
    pub fn keeps(self, class: divergence::Class) -> bool {
        match self {
            Self::All => true,
            Self::Divergent => !matches!(class, divergence::Class::WithinTol | divergence::Class::BitEqual),
            Self::None => false,
        }
    }
}

/// How to record.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Folder of the set; made when it is not there.
    pub out: PathBuf,
    /// How to decode and compare.
    pub rules: divergence::Rules,
    /// When a file is full.
    pub rotation: Rotation,
    /// Which bodies to keep.
    pub bodies: Bodies,
    /// How many decoded elements of each leg to keep; text outputs get as many strings and eight bytes for each.
    pub values_cap: usize,
}

impl Settings {
    /// The defaults, with the set in `out`: all bodies, 4,096 values for each leg.
    #[must_use]
    pub fn new(out: impl Into<PathBuf>) -> Self {
        Self {
            out: out.into(),
            rules: divergence::Rules::default(),
            rotation: Rotation::default(),
            bodies: Bodies::default(),
            values_cap: 4096,
        }
    }
}
