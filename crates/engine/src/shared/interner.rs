//! Interns the strings of one mapped column: each distinct string gets a small local number at once, without locks. The
//! store's indices are requested later, many at a time.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// The value that stands for "no local number".
const NONE: u32 = u32::MAX;

/// Distinct strings in order of arrival, numbered from 0.
pub(crate) struct Interner {
    hasher: DefaultHashBuilder,
    table: HashTable<u32>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The string that followed each string last time, as an index. Measurements arrive in rounds, so this guess
    /// usually makes hashing unnecessary.
    successors: Vec<u32>,
    previous: u32,
    /// The store's indices of the resolved strings, which come first.
    indices: Vec<u32>,
}

impl Interner {
    pub(crate) fn new() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            table: HashTable::new(),
            bytes: Vec::new(),
            ends: Vec::new(),
            successors: Vec::new(),
            previous: NONE,
            indices: Vec::new(),
        }
    }

    /// The local number of a string.
    #[inline]
    pub(crate) fn intern(&mut self, text: &[u8]) -> u32 {
        let guess = self.successors.get(self.previous as usize).copied().unwrap_or(NONE);
        let number = if guess != NONE && self.text(guess) == text { guess } else { self.find_or_add(text) };
        self.previous = number;
        number
    }

    fn find_or_add(&mut self, text: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(text);
        let known = self.table.find(hash, |number| self.text(*number) == text).copied();
        let number = known.unwrap_or_else(|| self.add(text, hash));
        if let Some(successor) = self.successors.get_mut(self.previous as usize) {
            *successor = number;
        }
        number
    }

    fn add(&mut self, text: &[u8], hash: u64) -> u32 {
        let number = self.ends.len() as u32;
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        self.successors.push(NONE);
        let Self { hasher, table, bytes, ends, .. } = self;
        table.insert_unique(hash, number, |number| hasher.hash_one(text_of(bytes, ends, *number)));
        number
    }

    fn text(&self, number: u32) -> &[u8] {
        text_of(&self.bytes, &self.ends, number)
    }

    /// Forgets the strings after the first `count`. Strings that have an index of the store stay.
    pub(crate) fn truncate(&mut self, count: usize) {
        let count = count.max(self.indices.len());
        for number in count..self.ends.len() {
            let hash = self.hasher.hash_one(self.text(number as u32));
            if let Ok(entry) = self.table.find_entry(hash, |other| *other as usize == number) {
                entry.remove();
            }
        }
        self.ends.truncate(count);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
        self.successors.truncate(count);
        let is_gone = |number: &u32| *number != NONE && *number as usize >= count;
        self.successors
            .iter_mut()
            .chain([&mut self.previous])
            .filter(|number| is_gone(number))
            .for_each(|number| *number = NONE);
    }

    /// The strings that have no index of the store yet, in order of their local numbers.
    pub(crate) fn unresolved(&self) -> Vec<&[u8]> {
        (self.indices.len()..self.ends.len()).map(|number| self.text(number as u32)).collect()
    }

    /// Sets the store's indices of the [`unresolved`](Self::unresolved) strings.
    pub(crate) fn resolve(&mut self, indices: &[u32]) {
        self.indices.extend_from_slice(indices);
    }

    /// The store's index of each local number. All strings must be resolved.
    pub(crate) fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Returns whether the store has given each string an index.
    pub(crate) fn is_resolved(&self) -> bool {
        self.indices.len() == self.ends.len()
    }

    /// Size in bytes.
    pub(crate) fn byte_count(&self) -> usize {
        self.bytes.len() + self.ends.len() * 24
    }
}

fn text_of<'a>(bytes: &'a [u8], ends: &[usize], number: u32) -> &'a [u8] {
    let number = number as usize;
    let start = if number == 0 { 0 } else { ends[number - 1] };
    &bytes[start..ends[number]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_have_equal_numbers_in_any_order() {
        let mut interner = Interner::new();
        let words = ["a", "", "b", "a", "b", "", "a\0", "a", "c", "a", "", "b"];
        let numbers: Vec<u32> = words.iter().map(|word| interner.intern(word.as_bytes())).collect();
        assert_eq!(numbers, [0, 1, 2, 0, 2, 1, 3, 0, 4, 0, 1, 2]);
        assert_eq!(interner.unresolved(), [&b"a"[..], b"", b"b", b"a\0", b"c"]);
        interner.resolve(&[7, 8, 9, 10, 11]);
        assert!(interner.unresolved().is_empty());
        assert_eq!(interner.intern(b"d"), 5);
        assert_eq!(interner.unresolved(), [b"d"]);
    }

    #[test]
    fn strings_that_nothing_uses_are_forgotten() {
        let mut interner = Interner::new();
        for word in ["a", "b"] {
            interner.intern(word.as_bytes());
        }
        interner.resolve(&[7, 8]);
        // "b" follows "a", and "c" follows "b": a guess must not lead to a forgotten string.
        for word in ["a", "b", "c", "d"] {
            interner.intern(word.as_bytes());
        }
        interner.truncate(3);
        assert_eq!(interner.unresolved(), [b"c"]);
        interner.truncate(0);
        assert!(interner.unresolved().is_empty());
        let numbers: Vec<u32> = ["a", "b", "e", "c"].iter().map(|word| interner.intern(word.as_bytes())).collect();
        assert_eq!((numbers, interner.unresolved()), (vec![0, 1, 2, 3], vec![&b"e"[..], b"c"]));
    }
}
