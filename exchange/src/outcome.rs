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
    /// A whole answer came, and the client had gone away before its end.
    ClientCancelled,
    /// A connection that had carried a request before was closed before a byte of an answer, and the request was not sent again.
    ResetOnReuse,
    /// Not sent: a request that cannot be mirrored, such as a protocol upgrade.
    Unsupported,
}

/// The three rows of the ledger that an [`Outcome`] can fall into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// Answered to the end, whether or not the client waited for it.
    Answered,
    /// Sent, or tried, and not answered.
    Failed,
    /// Never sent, by a bound of the proxy's own.
    Dropped,
}

impl Outcome {
    /// All outcomes, in the order of their wire numbers (1 first).
    pub const ALL: [Self; 12] = [
        Self::Answered,
        Self::Refused,
        Self::TimedOut,
        Self::Reset,
        Self::Incomplete,
        Self::ClientGone,
        Self::Shed,
        Self::BodyTooLarge,
        Self::Shutdown,
        Self::ClientCancelled,
        Self::ResetOnReuse,
        Self::Unsupported,
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
            Self::ClientCancelled => "client_cancelled",
            Self::ResetOnReuse => "reset_on_reuse",
            Self::Unsupported => "unsupported",
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
            Self::Answered | Self::ClientCancelled => Ending::Answered,
            Self::Refused | Self::TimedOut | Self::Reset | Self::Incomplete | Self::ResetOnReuse => {
                Ending::Failed
            }
            Self::ClientGone | Self::Shed | Self::BodyTooLarge | Self::Shutdown | Self::Unsupported => {
                Ending::Dropped
            }
        }
    }

    /// Whether a whole answer is there, which can be decoded and compared.
    #[must_use]
    pub fn is_answer(self) -> bool {
        self.ending() == Ending::Answered
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

    #[test]
    fn an_answer_is_whole_whether_or_not_the_client_waited() {
        let whole: Vec<_> = Outcome::ALL.into_iter().filter(|outcome| outcome.is_answer()).collect();
        assert_eq!(whole, [Outcome::Answered, Outcome::ClientCancelled]);
    }
}
