//! Finds the groups of keys by the keys' hashes.

/// The marker of a slot without a group, which no group has as its number.
pub(super) const FREE: u32 = u32::MAX;

/// The number of keys whose slots are read together.
pub(super) const BLOCK_KEYS: usize = 64;

/// The number of slots of the smallest index, a power of two.
const SLOTS_MIN: usize = 64;

/// The minimum number of slots for each group, so that a search ends after few steps.
const SLOTS_OF_A_GROUP: usize = 2;

/// A hash table with open addressing. The upper half of a key's hash points to a slot, and the key's group is in the
/// first slot from there that was free. The keys are held elsewhere, so a slot takes only eight bytes.
///
/// But for collisions, groups are in the order of their hashes. So an index that grows is copied from its beginning to
/// its end, without jumps in memory.
#[derive(Debug, Clone, Default)]
pub(super) struct HashIndex {
    /// A power of two of slots, or none.
    slots: Vec<Slot>,
    /// The number of bits of the upper half of a hash that do not belong to a slot's position.
    shift: u32,
    group_count: usize,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// The upper half of the key's hash.
    half: u32,
    group: u32,
}

const FREE_SLOT: Slot = Slot { half: 0, group: FREE };

fn upper_half(hash: u64) -> u32 {
    u32::try_from(hash >> u32::BITS).unwrap_or(u32::MAX)
}

impl HashIndex {
    /// The groups that keys with these hashes most likely have, or [`FREE`] for keys without a group. Whether a group
    /// has the key remains to be compared. The first slots of all keys are read one directly after the other, so that
    /// the processor waits for them together.
    pub(super) fn likely_groups(&self, hashes: &[u64; BLOCK_KEYS]) -> [u32; BLOCK_KEYS] {
        let Some(last) = self.slots.len().checked_sub(1) else { return [FREE; BLOCK_KEYS] };
        let first = |hash: u64| (upper_half(hash) >> self.shift) as usize;
        let mut slots = [FREE_SLOT; BLOCK_KEYS];
        for (slot, hash) in slots.iter_mut().zip(hashes) {
            *slot = self.slots[first(*hash)];
        }
        for (slot, hash) in slots.iter_mut().zip(hashes) {
            let mut at = first(*hash);
            while slot.group != FREE && slot.half != upper_half(*hash) {
                at = (at + 1) & last;
                *slot = self.slots[at];
            }
        }
        slots.map(|slot| slot.group)
    }

    /// The group of a key with this hash, or else the position at which [`insert`](Self::insert) adds it. `is_same`
    /// returns whether a group has this key.
    pub(super) fn find(&mut self, hash: u64, is_same: impl Fn(u32) -> bool) -> Result<u32, usize> {
        if (self.group_count + 1) * SLOTS_OF_A_GROUP > self.slots.len() {
            self.reserve(self.group_count + 1);
        }
        let (half, last) = (upper_half(hash), self.slots.len() - 1);
        let mut at = (half >> self.shift) as usize;
        loop {
            let slot = self.slots[at];
            if slot.group == FREE {
                return Err(at);
            }
            if slot.half == half && is_same(slot.group) {
                return Ok(slot.group);
            }
            at = (at + 1) & last;
        }
    }

    /// Adds a group whose key has this hash. The position is that which [`find`](Self::find) returned last.
    pub(super) fn insert(&mut self, at: usize, hash: u64, group: u32) {
        self.slots[at] = Slot { half: upper_half(hash), group };
        self.group_count += 1;
    }

    /// Removes all groups, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.slots.fill(FREE_SLOT);
        self.group_count = 0;
    }

    /// Makes room for this many groups in all.
    pub(super) fn reserve(&mut self, group_count: usize) {
        let slot_count = (group_count * SLOTS_OF_A_GROUP).next_power_of_two().max(SLOTS_MIN);
        if slot_count > self.slots.len() {
            self.grow(slot_count);
        }
    }

    fn grow(&mut self, slot_count: usize) {
        self.shift = u32::BITS.saturating_sub(slot_count.ilog2());
        let slots = vec![FREE_SLOT; slot_count];
        let before = std::mem::replace(&mut self.slots, slots);
        let last = self.slots.len() - 1;
        for slot in before.into_iter().filter(|slot| slot.group != FREE) {
            let mut at = (slot.half >> self.shift) as usize;
            while self.slots[at].group != FREE {
                at = (at + 1) & last;
            }
            self.slots[at] = slot;
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The group of a key, which is its own hash, among groups whose keys are `keys`.
    fn group(index: &mut HashIndex, keys: &mut Vec<u64>, hash: u64) -> u32 {
        match index.find(hash, |group| keys[group as usize] == hash) {
            Ok(group) => group,
            Err(at) => {
                let group = keys.len() as u32;
                index.insert(at, hash, group);
                keys.push(hash);
                group
            }
        }
    }

    #[test]
    fn each_key_keeps_its_group_while_the_index_grows() {
        // Hashes with equal upper halves, with the largest one, and with those that differ in single bits.
        let hashes: Vec<u64> = (0..64)
            .map(|bit| 1_u64 << bit)
            .chain((0..500).map(|low| u64::MAX - low))
            .chain((0..5_000).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect();
        let (mut index, mut keys) = (HashIndex::default(), Vec::new());
        for _ in 0..2 {
            let groups: Vec<u32> = hashes.iter().map(|hash| group(&mut index, &mut keys, *hash)).collect();
            let again: Vec<u32> = hashes.iter().map(|hash| group(&mut index, &mut keys, *hash)).collect();
            assert_eq!(groups, again);
            assert!(groups.iter().zip(&hashes).all(|(group, hash)| keys[*group as usize] == *hash));
            assert_eq!(keys.len(), index.group_count);
            for (hashes, groups) in hashes.chunks(BLOCK_KEYS).zip(groups.chunks(BLOCK_KEYS)) {
                let mut block = [1 << 20; BLOCK_KEYS];
                block[..hashes.len()].copy_from_slice(hashes);
                // Of hashes with equal upper halves, any may be taken for another one.
                let is_likely = |(likely, group): (&u32, &u32)| {
                    *likely != FREE && upper_half(keys[*likely as usize]) == upper_half(keys[*group as usize])
                };
                assert!(index.likely_groups(&block).iter().zip(groups).all(is_likely));
            }
            assert_eq!(index.likely_groups(&[5 << u32::BITS; BLOCK_KEYS]), [FREE; BLOCK_KEYS], "an unknown hash");
            index.clear();
            keys.clear();
        }
    }

    #[test]
    fn an_index_grows_only_without_room() {
        for group_count in [1, 31, 32, 33, 64, 1_000] {
            let (mut index, mut keys) = (HashIndex::default(), Vec::new());
            index.reserve(group_count);
            let reserved = index.memory_bytes();
            let hash = |number: usize| (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for number in 1..=group_count {
                group(&mut index, &mut keys, hash(number));
            }
            assert_eq!(index.memory_bytes(), reserved, "{group_count} groups");
            for number in group_count + 1..=2 * group_count + SLOTS_MIN {
                group(&mut index, &mut keys, hash(number));
            }
            assert!(index.memory_bytes() > reserved, "twice as many groups and more");
        }
    }
}
