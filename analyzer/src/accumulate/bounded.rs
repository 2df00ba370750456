//! Counts by key, bounded: the first keys in their order are kept one by one, the rest together.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Counts of at most `LIMIT` keys. A key among the first `LIMIT` of the whole is among the first of every part, so it is
/// never given up and its count is exact however the set was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(serialize = "K: Serialize", deserialize = "K: Deserialize<'de> + Ord"))]
pub(crate) struct Bounded<K, const LIMIT: usize> {
    #[serde(with = "super::pairs")]
    counts: BTreeMap<K, u64>,
    /// Count of the keys that were given up.
    pub(crate) other: u64,
}

impl<K, const LIMIT: usize> Default for Bounded<K, LIMIT> {
    fn default() -> Self {
        Self { counts: BTreeMap::new(), other: 0 }
    }
}

impl<K: Ord, const LIMIT: usize> Bounded<K, LIMIT> {
    pub(crate) fn add<Q>(&mut self, key: &Q, count: u64)
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(known) = self.counts.get_mut(key) {
            *known += count;
            return;
        }
        self.counts.insert(key.to_owned(), count);
        if self.counts.len() > LIMIT
            && let Some((_, last)) = self.counts.pop_last()
        {
            self.other += last;
        }
    }

    pub(crate) fn merge(&mut self, from: Self)
    where
        K: Clone,
    {
        self.other += from.other;
        for (key, count) in from.counts {
            self.add(&key, count);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, u64)> {
        self.counts.iter().map(|(key, count)| (key, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_does_not_depend_on_the_cut() {
        let keys: Vec<String> = (0..40).map(|i| format!("k{:02}", i * 7 % 20)).collect();
        let mut whole = Bounded::<String, 5>::default();
        keys.iter().for_each(|key| whole.add(key.as_str(), 1));
        for cut in [1, 13, 39] {
            let (mut left, mut right) = (Bounded::<String, 5>::default(), Bounded::<String, 5>::default());
            keys[..cut].iter().for_each(|key| left.add(key.as_str(), 1));
            keys[cut..].iter().for_each(|key| right.add(key.as_str(), 1));
            right.merge(left);
            assert_eq!(right, whole);
        }
        assert_eq!((whole.iter().count(), whole.other), (5, 30));
    }
}
