//! Integrity records of the catalogue's lists, by which a reader detects that an entry is missing or was replaced.
//!
//! Pages, descriptors, definitions and strings have their own checksums. None of these covers the lists: which tables
//! exist, which chunks a table has, which strings a dictionary contains. For each list the store records the number of
//! entries and a hash over all of them, in the transaction that changes the list. Every reader of the list compares it
//! with this record. The `list_rows` modules of the stores keep these records.
//!
//! The hash of a list is the sum of its entries' hashes modulo the prime 2^61 - 1. So a change adds and subtracts
//! hashes in any order, and SQL computes the sum without overflow. The hash of a chunk's entry is linear in its fields:
//! a server that computes the sums of the columns need not send each entry. A single wrong field always changes such a
//! hash; several wrong fields change it almost certainly.

use crate::checksum;
use crate::error::Error;
use crate::id::{ColumnId, TableId};
use crate::refusal;
use crate::store::{Finding, StageId};
use std::collections::BTreeMap;
use std::fmt;

/// Hashes are below this prime: 2^61 - 1.
pub const MODULUS: i64 = (1 << 61) - 1;

/// The column number in the keys of the list of tables and of chunk lists.
const NO_COLUMN: i64 = -1;

/// The factors of the table's number, the chunk's number, the slice's start, and both times. They are arbitrary random
/// numbers below the modulus, and never change.
const FACTORS: [i64; 5] =
    [0x0a3c_5b1f_92e7_6d85, 0x153f_d2a8_047c_e91b, 0x1c76_08d9_e5b3_2f47, 0x0691_f4ae_3bd8_5c23, 0x1b2d_8e67_5f01_a4c9];

/// Identifies a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListKey {
    /// 0 for visible entries, else the stage that contains the entries.
    pub stage: i64,
    /// 0 for the list of tables, else the table that owns the list.
    pub table: i64,
    /// The column of a dictionary, else -1.
    pub column: i64,
}

impl ListKey {
    /// The list of the visible tables, or of the tables in a stage.
    pub fn tables(stage: Option<StageId>) -> Self {
        Self { stage: number(stage), table: 0, column: NO_COLUMN }
    }

    /// The list of a table's visible chunks, or of its chunks in a stage.
    pub fn chunks(stage: Option<StageId>, table: TableId) -> Self {
        Self { stage: number(stage), table: table.0, column: NO_COLUMN }
    }

    /// The list of the strings of a mapped column.
    pub fn dictionary(table: TableId, column: ColumnId) -> Self {
        Self { stage: 0, table: table.0, column: i64::from(column.0) }
    }

    /// The error for a list that differs from its record.
    pub fn damaged(&self, found: ListState, recorded: ListState) -> Error {
        let problem = describe_mismatch(found, recorded);
        Error::corrupt(format!("{self} is damaged: {problem}")).with_hint(refusal::VERIFY)
    }

    /// Returns [`damaged`](Self::damaged) unless the list equals its record.
    pub fn check(&self, found: ListState, recorded: ListState) -> Result<(), Error> {
        if found == recorded { Ok(()) } else { Err(self.damaged(found, recorded)) }
    }
}

fn number(stage: Option<StageId>) -> i64 {
    stage.map_or(0, |stage| stage.0)
}

impl fmt::Display for ListKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.table, self.column) {
            (0, _) => f.write_str("the list of tables")?,
            (table, NO_COLUMN) => write!(f, "the list of chunks of table {table}")?,
            (table, column) => write!(f, "the dictionary of column {column} of table {table}")?,
        }
        if self.stage == 0 { Ok(()) } else { write!(f, " in stage {}", self.stage) }
    }
}

/// The damage of lists that differ from their records. A list without entries has no record.
pub fn damage_of_lists<'a>(
    found: &'a BTreeMap<ListKey, ListState>,
    recorded: &'a BTreeMap<ListKey, ListState>,
) -> impl Iterator<Item = Finding> + 'a {
    let missing = recorded.keys().filter(move |key| !found.contains_key(*key));
    found.keys().chain(missing).filter_map(move |key| {
        let [found, recorded] = [found, recorded].map(|states| states.get(key).copied().unwrap_or_default());
        (found != recorded).then(|| Finding::damage(key.to_string(), describe_mismatch(found, recorded)))
    })
}

/// Describes how a list differs from its record.
fn describe_mismatch(found: ListState, recorded: ListState) -> String {
    if found.count == recorded.count {
        return format!("some of its {} entries are not those that were written", found.count);
    }
    format!("it has {} entries, and {} were written", found.count, recorded.count)
}

/// The number of entries of a list and the sum of their hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ListState {
    /// The number of entries. It is negative for entries that a change removes.
    pub count: i64,
    /// The sum of the hashes, at least 0 and below [`MODULUS`].
    pub hash: i64,
}

impl ListState {
    /// The state of a list with one table. `name_key` is the key by which the table is found.
    pub fn for_table(table: TableId, version: i64, definition_checksum: i64, name_key: &str) -> Self {
        Self { count: 1, hash: residue(checksum::of_table(table, version, definition_checksum, name_key).into()) }
    }

    /// The state of a dictionary with `count` strings. `hashes` is the sum of the [hashes](crate::checksum::of_bytes)
    /// by which they are found.
    pub fn for_strings(count: i64, hashes: i128) -> Self {
        Self { count, hash: residue(hashes) }
    }

    /// The state of both lists together.
    pub fn plus(self, other: Self) -> Self {
        Self { count: self.count + other.count, hash: residue(i128::from(self.hash) + i128::from(other.hash)) }
    }

    /// The state of this list without the entries of the other.
    pub fn minus(self, other: Self) -> Self {
        Self { count: self.count - other.count, hash: residue(i128::from(self.hash) - i128::from(other.hash)) }
    }
}

fn residue(number: i128) -> i64 {
    number.rem_euclid(MODULUS.into()) as i64
}

/// The fields by which a chunk is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkKey {
    /// Its number.
    pub id: i64,
    /// The first time of its slice.
    pub slice_start: i64,
    /// Its earliest time.
    pub time_min: i64,
    /// Its latest time.
    pub time_max: i64,
}

impl ChunkKey {
    fn fields(&self) -> [i64; 4] {
        [self.id, self.slice_start, self.time_min, self.time_max]
    }
}

/// The number of some chunks of one table, and the sums of their fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChunkSums {
    /// The number of chunks.
    pub count: i64,
    /// The sums of the fields of [`ChunkKey`], in their order.
    pub sums: [i128; 4],
}

impl ChunkSums {
    /// The sums of one chunk.
    pub fn of(key: &ChunkKey) -> Self {
        let mut sums = Self::default();
        sums.add(key);
        sums
    }

    /// Adds a chunk.
    pub fn add(&mut self, key: &ChunkKey) {
        self.count += 1;
        for (sum, field) in self.sums.iter_mut().zip(key.fields()) {
            *sum += i128::from(field);
        }
    }

    /// Removes a chunk that was added.
    pub fn subtract(&mut self, key: &ChunkKey) {
        self.count -= 1;
        for (sum, field) in self.sums.iter_mut().zip(key.fields()) {
            *sum -= i128::from(field);
        }
    }

    /// The state of these chunks in the chunk list of their table.
    pub fn state(&self, table: TableId) -> ListState {
        let owner = i128::from(table.0) * i128::from(self.count);
        let fields = std::iter::once(owner).chain(self.sums);
        let hash = fields
            .zip(FACTORS)
            .fold(0, |hash, (sum, factor)| i128::from(residue(hash + i128::from(residue(sum)) * i128::from(factor))));
        ListState { count: self.count, hash: residue(hash) }
    }
}

/// The changes of a transaction to lists, gathered before they are recorded.
#[derive(Debug, Default)]
pub struct ListChanges(BTreeMap<ListKey, ListState>);

impl ListChanges {
    /// Adds entries to a list.
    pub fn add(&mut self, key: ListKey, entries: ListState) {
        let state = self.0.entry(key).or_default();
        *state = state.plus(entries);
    }

    /// Removes entries from a list.
    pub fn subtract(&mut self, key: ListKey, entries: ListState) {
        let state = self.0.entry(key).or_default();
        *state = state.minus(entries);
    }

    /// Returns each list that changes, and the difference.
    pub fn iter(&self) -> impl Iterator<Item = (ListKey, ListState)> {
        self.0.iter().map(|(key, state)| (*key, *state)).filter(|(_, state)| *state != ListState::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: ChunkKey = ChunkKey { id: 7, slice_start: -86_400, time_min: i64::MIN, time_max: i64::MAX };

    #[test]
    fn what_is_added_and_taken_away_leaves_nothing() {
        let (key, table) = (ListKey::chunks(None, TableId(3)), TableId(3));
        let other = ChunkKey { id: 8, ..KEY };
        let mut changes = ListChanges::default();
        changes.add(key, ChunkSums::of(&KEY).state(table));
        changes.add(key, ChunkSums::of(&other).state(table));
        let mut both = ChunkSums::of(&other);
        both.add(&KEY);
        assert_eq!(changes.iter().collect::<Vec<_>>(), [(key, both.state(table))]);
        changes.subtract(key, both.state(table));
        assert_eq!(changes.iter().count(), 0);
    }

    #[test]
    fn lists_that_differ_from_their_records_are_damaged() {
        let state = |count: i64| ListState { count, hash: 5 };
        let [same, changed, unrecorded, missing, empty] =
            [1, 2, 3, 4, 5].map(|table| ListKey::chunks(None, TableId(table)));
        let found = BTreeMap::from([(same, state(1)), (changed, state(2)), (unrecorded, state(3))]);
        let recorded =
            BTreeMap::from([(same, state(1)), (changed, state(1)), (missing, state(4)), (empty, ListState::default())]);
        let damage: Vec<Finding> = damage_of_lists(&found, &recorded).collect();
        assert_eq!(
            damage,
            [
                Finding::damage(changed.to_string(), "it has 2 entries, and 1 were written"),
                Finding::damage(unrecorded.to_string(), "it has 3 entries, and 0 were written"),
                Finding::damage(missing.to_string(), "it has 0 entries, and 4 were written"),
            ]
        );
    }

    #[test]
    fn each_bit_of_an_entry_changes_the_hash() {
        let state = |key: &ChunkKey, table: i64| ChunkSums::of(key).state(TableId(table));
        let whole = state(&KEY, 3);
        for bit in 0..64 {
            let flip = 1_i64.wrapping_shl(bit);
            let flipped = [
                state(&KEY, 3 ^ flip),
                state(&ChunkKey { id: KEY.id ^ flip, ..KEY }, 3),
                state(&ChunkKey { slice_start: KEY.slice_start ^ flip, ..KEY }, 3),
                state(&ChunkKey { time_min: KEY.time_min ^ flip, ..KEY }, 3),
                state(&ChunkKey { time_max: KEY.time_max ^ flip, ..KEY }, 3),
            ];
            for other in flipped {
                assert!((0..MODULUS).contains(&other.hash) && other != whole, "bit {bit}");
            }
        }
    }

    #[test]
    fn a_list_is_named_by_what_it_is_of() {
        let stage = Some(StageId(9));
        for (key, name) in [
            (ListKey::tables(None), "the list of tables"),
            (ListKey::chunks(None, TableId(3)), "the list of chunks of table 3"),
            (ListKey::chunks(stage, TableId(3)), "the list of chunks of table 3 in stage 9"),
            (ListKey::dictionary(TableId(3), ColumnId(1)), "the dictionary of column 1 of table 3"),
        ] {
            assert_eq!(key.to_string(), name);
        }
    }
}
