//! How a leg of an exchange ended.

/// Every way in which a leg can end. Each one makes a record: a failed shadow is data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// A whole answer came, whatever its status.
    Answered,
    /// No connection could be made.
    Refused,
    /// The proxy's own deadline passed.
    TimedOut,
    /// The connection broke before the head of an answer.
    Reset,
    /// The answer began and did not end: broken mid-body.
    Incomplete,
    /// The client did not finish its upload, so the leg had no whole request to answer.
    ClientGone,
    /// Not sent: a bound of the mirror (copies in flight, bytes held) was reached.
    Shed,
    /// Not sent: the request body passed the capture cap.
    BodyTooLarge,
    /// Not sent, or cut short: the proxy was stopping.
    Shutdown,
}

/// The three rows of the ledger that an [`Outcome`] can fall into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// Answered.
    Answered,
    /// Sent, or tried, and not answered.
    Failed,
    /// Never sent, by a bound of the proxy's own.
    Dropped,
}

impl Outcome {
    /// All outcomes, in the order of their wire numbers (1 first).
    pub const ALL: [Self; 9] = [
        Self::Answered,
        Self::Refused,
        Self::TimedOut,
        Self::Reset,
        Self::Incomplete,
        Self::ClientGone,
        Self::Shed,
        Self::BodyTooLarge,
        Self::Shutdown,
    ];

    /// The name used in columns, metrics and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Refused => "refused",
            Self::TimedOut => "timed_out",
            Self::Reset => "reset",
            Self::Incomplete => "incomplete",
            Self::ClientGone => "client_gone",
            Self::Shed => "shed",
            Self::BodyTooLarge => "body_too_large",
            Self::Shutdown => "shutdown",
        }
    }

    /// The outcome of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == name)
    }

    /// Which row of the ledger this outcome belongs to.
    #[must_use]
    pub fn ending(self) -> Ending {
        match self {
            Self::Answered => Ending::Answered,
            Self::Refused | Self::TimedOut | Self::Reset | Self::Incomplete => Ending::Failed,
            Self::ClientGone | Self::Shed | Self::BodyTooLarge | Self::Shutdown => Ending::Dropped,
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_outcome() {
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::from_name(outcome.as_str()), Some(outcome));
        }
        assert_eq!(Outcome::from_name("lost"), None);
    }
}
