//! The classes of divergence of one pair of answers, first match wins.

/// What kind of difference two answers show. The order is the order of the rules: the first that matches names the pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// There is nothing to compare: a leg failed, was not sent, or its answer could not be decoded.
    Incomparable,
    /// Names, types or shapes of the outputs differ.
    Structure,
    /// One side's answer is degenerate (all zero, constant, NaN, infinite, null, empty) and the other's is not. A degenerate
    /// primary counts against nobody, so it comes after what the rest of the answer shows: [`Gross`](Self::Gross) and real
    /// [`Flip`](Self::Flip)s.
    Degenerate,
    /// The answer belongs to another request. Never set for a pair alone: it takes the other requests of the run.
    Crosstalk,
    /// A score is off by a factor of five or more, by a hundred tolerances, in sign or in direction.
    Gross,
    /// The decision changed: the largest element, or a threshold crossed.
    Flip,
    /// The order changed below the top.
    Rank,
    /// Beyond tolerance, with no consequence.
    Numeric,
    /// Different, within tolerance.
    WithinTol,
    /// The same values, bit for bit.
    BitEqual,
}

impl Class {
    /// All classes, in the order of the rules.
    pub const ALL: [Self; 10] = [
        Self::Incomparable,
        Self::Structure,
        Self::Degenerate,
        Self::Crosstalk,
        Self::Gross,
        Self::Flip,
        Self::Rank,
        Self::Numeric,
        Self::WithinTol,
        Self::BitEqual,
    ];

    /// The name used in columns and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Incomparable => "INCOMPARABLE",
            Self::Structure => "STRUCTURE",
            Self::Degenerate => "DEGENERATE",
            Self::Crosstalk => "CROSSTALK",
            Self::Gross => "GROSS",
            Self::Flip => "FLIP",
            Self::Rank => "RANK",
            Self::Numeric => "NUMERIC",
            Self::WithinTol => "WITHIN_TOL",
            Self::BitEqual => "BIT_EQUAL",
        }
    }

    /// The class of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }
}

impl serde::Serialize for Class {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_class() {
        for class in Class::ALL {
            assert_eq!(Class::from_name(class.as_str()), Some(class));
        }
        assert_eq!(Class::from_name("gross"), None);
    }
}
