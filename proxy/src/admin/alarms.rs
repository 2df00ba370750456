//! What is wrong with a shadow as a whole, as far as counts say.

use exchange::{Item, Outcome};

use crate::account::Counts;

/// Answers after which a class of status that is always the same says something.
const ENOUGH: u64 = 10;

/// Something that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// Copies have ended, and none was sent.
    ReceivedNothing,
    /// Copies were sent, and none was answered.
    AnsweredNothing,
    /// All answers are of 400 to 499, and the primary answers the same requests well.
    Only4xx,
}

impl Alarm {
    /// All there are.
    pub(crate) const ALL: [Self; 3] = [Self::ReceivedNothing, Self::AnsweredNothing, Self::Only4xx];

    /// Name in metrics.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ReceivedNothing => "received_nothing",
            Self::AnsweredNothing => "answered_nothing",
            Self::Only4xx => "only_4xx",
        }
    }

    /// In words.
    pub(crate) fn say(self, shadow: &str) -> String {
        match self {
            Self::ReceivedNothing => {
                format!("{shadow} has received nothing: no copy could be sent. Is its address right?")
            }
            Self::AnsweredNothing => format!("{shadow} has answered nothing of what it was sent"),
            Self::Only4xx => format!(
                "only 4xx from {shadow}, where the primary answers well: misrouted? Look at its host, path and authentication"
            ),
        }
    }
}

/// Copies of a shadow that were sent.
pub(crate) fn received(counts: &Counts, shadow: usize) -> u64 {
    let sent = |item| match item {
        Item::Outcome(Outcome::Refused) => false,
        Item::Outcome(outcome) => outcome.ending() != exchange::Ending::Dropped,
        _ => false,
    };
    counts.total(Some(shadow), sent)
}

/// What is wrong with a shadow, the worst of it.
pub(crate) fn of(counts: &Counts, shadow: usize) -> Option<Alarm> {
    let ended = counts.total(Some(shadow), |item| matches!(item, Item::Outcome(_)));
    let seen = counts.seen(shadow);
    let answered = seen.answered();
    if ended == 0 {
        None
    } else if received(counts, shadow) == 0 {
        Some(Alarm::ReceivedNothing)
    } else if answered == 0 {
        Some(Alarm::AnsweredNothing)
    } else if answered >= ENOUGH && seen.answers[4] == answered && seen.only_here > 0 {
        Some(Alarm::Only4xx)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Account;
    use exchange::Leg;

    fn leg(outcome: Outcome, status: Option<u16>) -> Leg {
        Leg { status, ..Leg::unsent(outcome, "") }
    }

    fn alarm(ended: &[(Outcome, Option<u16>, u16, u64)]) -> Option<Alarm> {
        let account = Account::new(&["candidate".into()]);
        for (outcome, status, primary, times) in ended {
            let primary = leg(Outcome::Answered, Some(*primary));
            (0..*times).for_each(|_| account.ended(0, &primary, &leg(*outcome, *status)));
        }
        of(&account.counts(), 0)
    }

    #[test]
    fn a_shadow_that_gets_nothing_or_says_nothing_is_told() {
        assert_eq!(alarm(&[]), None, "nothing has been mirrored");
        assert_eq!(alarm(&[(Outcome::Refused, None, 200, 1)]), Some(Alarm::ReceivedNothing));
        assert_eq!(
            alarm(&[(Outcome::Refused, None, 200, 9), (Outcome::Shed, None, 200, 9)]),
            Some(Alarm::ReceivedNothing)
        );
        assert_eq!(alarm(&[(Outcome::TimedOut, None, 200, 3)]), Some(Alarm::AnsweredNothing));
        assert_eq!(alarm(&[(Outcome::TimedOut, None, 200, 3), (Outcome::Answered, Some(200), 200, 1)]), None);
    }

    #[test]
    fn only_refusals_where_the_primary_answers_are_told() {
        let refused = |primary, times| (Outcome::Answered, Some(404), primary, times);
        assert_eq!(alarm(&[refused(200, 10)]), Some(Alarm::Only4xx));
        assert_eq!(alarm(&[refused(200, 9)]), None, "too few");
        assert_eq!(alarm(&[refused(404, 50)]), None, "the requests are wrong");
        assert_eq!(alarm(&[refused(200, 50), (Outcome::Answered, Some(200), 200, 1)]), None);
    }
}
