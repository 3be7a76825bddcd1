//! A map of what was used lately.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// This many most recently used values are always kept; up to as many others may be.
const KEPT_MIN: usize = 256;

/// The values that were used lately, by their keys.
#[derive(Debug)]
pub(crate) struct RecentlyUsed<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V> Default for RecentlyUsed<K, V> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<K: Eq + Hash, V: Clone> RecentlyUsed<K, V> {
    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        if let Some(kept) = self.young.get(key) {
            return Some(kept.clone());
        }
        let (key, kept) = self.old.remove_entry(key)?;
        self.put(key, kept.clone());
        Some(kept)
    }

    pub(crate) fn put(&mut self, key: K, value: V) {
        if self.young.len() >= KEPT_MIN {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_again_stays() {
        let mut kept = RecentlyUsed::default();
        for number in 0..10 * KEPT_MIN {
            kept.put(number, number + 1);
            assert_eq!(kept.get(&0), Some(1));
        }
        assert_eq!(kept.get(&1), None);
        assert_eq!(kept.get(&(9 * KEPT_MIN + 1)), Some(9 * KEPT_MIN + 2));
    }
}
