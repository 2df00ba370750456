//! Warnings that repeat, told at most once in ten seconds for each text.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(10);
/// Texts remembered; beyond it, all are forgotten, which costs a repeated line.
const TEXTS: usize = 64;

/// What was told when.
#[derive(Debug, Default)]
pub(super) struct Notice {
    told: BTreeMap<String, (Instant, u64)>,
}

impl Notice {
    /// Warns of `error`, unless the same was told just now.
    pub(super) fn warn(&mut self, error: &dyn Display, event: &'static str) {
        let text = error.to_string();
        if let Some(repeats) = self.is_due(&text, Instant::now()) {
            tracing::warn!(error = text, repeats, "{event}");
        }
    }

    /// How often the text was held back since it was told, if it may be told now.
    fn is_due(&mut self, text: &str, now: Instant) -> Option<u64> {
        if let Some((at, held_back)) = self.told.get_mut(text) {
            if now.saturating_duration_since(*at) < INTERVAL {
                *held_back += 1;
                return None;
            }
            *at = now;
            return Some(std::mem::take(held_back));
        }
        if self.told.len() >= TEXTS {
            self.told.clear();
        }
        self.told.insert(text.to_owned(), (now, 0));
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_held_back_counted_and_bounded() {
        let mut notice = Notice::default();
        let now = Instant::now();
        assert_eq!(notice.is_due("a", now), Some(0));
        assert_eq!(notice.is_due("a", now), None);
        assert_eq!(notice.is_due("b", now), Some(0));
        assert_eq!(notice.is_due("a", now + INTERVAL), Some(1));
        for text in 0..1000 {
            notice.is_due(&text.to_string(), now);
        }
        assert!(notice.told.len() <= TEXTS);
    }
}
