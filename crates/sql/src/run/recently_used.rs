//! A map of what was used lately, bounded by number and by size. It is written by hand: it is a few lines, and its
//! owner has the lock that a library's cache would bring.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// The number of most recently used values that are always kept, unless they are too large. Up to as many others may be
/// kept.
const KEPT_MIN: usize = 256;

/// The values that were used lately, by their keys.
#[derive(Debug)]
pub(crate) struct RecentlyUsed<K, V> {
    /// The maximum size in bytes of the values in each of the two maps.
    bytes_max: usize,
    young: HashMap<K, SizedValue<V>>,
    young_bytes: usize,
    old: HashMap<K, SizedValue<V>>,
}

#[derive(Debug)]
struct SizedValue<V> {
    value: V,
    bytes: usize,
}

impl<K: Eq + Hash, V: Clone> RecentlyUsed<K, V> {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, young: HashMap::new(), young_bytes: 0, old: HashMap::new() }
    }

    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        if let Some(kept) = self.young.get(key) {
            return Some(kept.value.clone());
        }
        let (key, SizedValue { value, bytes }) = self.old.remove_entry(key)?;
        self.put(key, value.clone(), bytes);
        Some(value)
    }

    /// Keeps a value that counts as this many bytes. It replaces a value for the same key.
    pub(crate) fn put(&mut self, key: K, value: V, bytes: usize) {
        self.old.remove(&key);
        if let Some(replaced) = self.young.remove(&key) {
            self.young_bytes -= replaced.bytes;
        }
        if bytes > self.bytes_max {
            return;
        }
        if self.young.len() >= KEPT_MIN || self.young_bytes + bytes > self.bytes_max {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += bytes;
        self.young.insert(key, SizedValue { value, bytes });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_again_stays() {
        let mut kept = RecentlyUsed::new(usize::MAX);
        for number in 0..10 * KEPT_MIN {
            kept.put(number, number + 1, 1);
            assert_eq!(kept.get(&0), Some(1));
        }
        assert_eq!(kept.get(&1), None);
        assert_eq!(kept.get(&(9 * KEPT_MIN + 1)), Some(9 * KEPT_MIN + 2));
    }

    #[test]
    fn no_more_bytes_are_kept_than_two_times_the_bound() {
        let mut kept = RecentlyUsed::new(10);
        for number in 0..100 {
            kept.put(number, (), 4);
            let bytes = |values: &HashMap<i32, SizedValue<()>>| values.values().map(|kept| kept.bytes).sum::<usize>();
            assert!(bytes(&kept.young) + bytes(&kept.old) <= 20);
            assert_eq!(bytes(&kept.young), kept.young_bytes);
            assert_eq!((kept.get(&number), kept.get(&0)), (Some(()), Some(())));
        }
        kept.put(0, (), 11);
        assert_eq!(kept.get(&0), None, "it is too large");
    }
}
