//! The faults a server can be given, and how they are written on a command line.

use std::fmt;
use std::num::{NonZeroU64, NonZeroUsize};
use std::str::FromStr;

/// Most workspaces a racing server may have.
pub const MAX_SLOTS: usize = 4096;

/// Largest factor by which a server may be slowed.
pub const MAX_FACTOR: f64 = 1000.0;

/// One thing that is wrong with a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// All scores are 0, in the right shape and with status 200, at any load: the kernel did not run and its output buffer
    /// was never written.
    Zero,
    /// Requests share this many workspaces and do not wait for a free one: right answers up to so many at a time, above it
    /// requests overwrite each other.
    Race {
        /// Number of workspaces.
        slots: NonZeroUsize,
    },
    /// Every inference takes this many times as long.
    Slow {
        /// Factor, above 0.
        factor: f64,
    },
    /// Every n-th inference fails with status 500.
    Error {
        /// n.
        every: NonZeroU64,
    },
    /// Every n-th inference gets no answer while the server runs.
    Hang {
        /// n.
        every: NonZeroU64,
    },
}

/// A fault that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// No fault has that name, or it misses its number.
    #[error("unknown fault {text:?}: write zero, race:SLOTS, slow:FACTOR, error:EVERY or hang:EVERY")]
    Unknown {
        /// What was written.
        text: String,
    },
    /// The number after the colon is none or out of range.
    #[error("fault {text:?}: {number:?} must be {expected}")]
    Number {
        /// What was written.
        text: String,
        /// The part after the colon.
        number: String,
        /// What it must be.
        expected: &'static str,
    },
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let wrong = |number: &str, expected| FaultError::Number {
            text: text.to_owned(),
            number: number.to_owned(),
            expected,
        };
        let every = |number: &str| {
            number
                .parse()
                .map_err(|_| wrong(number, "a whole number from 1 on: every how many requests it happens"))
        };
        match text.split_once(':') {
            None if text == "zero" => Ok(Self::Zero),
            Some(("race", number)) => match number.parse::<NonZeroUsize>() {
                Ok(slots) if slots.get() <= MAX_SLOTS => Ok(Self::Race { slots }),
                _ => Err(wrong(number, "a number of workspaces from 1 to 4096")),
            },
            Some(("slow", number)) => match number.parse::<f64>() {
                Ok(factor) if factor > 0.0 && factor <= MAX_FACTOR => Ok(Self::Slow { factor }),
                _ => Err(wrong(number, "a factor above 0 and up to 1000")),
            },
            Some(("error", number)) => Ok(Self::Error { every: every(number)? }),
            Some(("hang", number)) => Ok(Self::Hang { every: every(number)? }),
            _ => Err(FaultError::Unknown { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("zero"),
            Self::Race { slots } => write!(f, "race:{slots}"),
            Self::Slow { factor } => write!(f, "slow:{factor}"),
            Self::Error { every } => write!(f, "error:{every}"),
            Self::Hang { every } => write!(f, "hang:{every}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_as_they_are_written() {
        for text in ["zero", "race:8", "slow:2.5", "error:10", "hang:1"] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        assert_eq!("race:8".parse(), Ok(Fault::Race { slots: NonZeroUsize::new(8).unwrap() }));
        assert_eq!("slow:2".parse(), Ok(Fault::Slow { factor: 2.0 }));
    }

    #[test]
    fn what_is_no_fault_is_refused_with_the_remedy() {
        for text in ["", "zero:1", "race", "Race:8", "melt:3", "error"] {
            let error = text.parse::<Fault>().unwrap_err();
            assert_eq!(error, FaultError::Unknown { text: text.into() });
            assert!(error.to_string().contains("race:SLOTS"), "{error}");
        }
        for text in [
            "race:0",
            "race:4097",
            "race:x",
            "slow:0",
            "slow:-1",
            "slow:NaN",
            "slow:inf",
            "error:0",
            "hang:1.5",
        ] {
            let error = text.parse::<Fault>().unwrap_err();
            assert!(matches!(error, FaultError::Number { .. }), "{error}");
            assert!(error.to_string().starts_with(&format!("fault {text:?}: ")), "{error}");
        }
    }
}
