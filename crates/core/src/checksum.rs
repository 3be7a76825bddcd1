//! Checksums of what page checksums do not cover: dictionary strings and table definitions.
//!
//! XXH3-64 detects accidents, not forgery. It is seeded with the location that the bytes belong to, so that a row in
//! the wrong place fails like a damaged one.

use crate::id::{ColumnId, TableId};
use twox_hash::XxHash3_64;

/// The checksum of a dictionary string.
pub fn of_string(table: TableId, column: ColumnId, index: u32, value: &[u8]) -> i64 {
    let mut location = [0; 14];
    location[..8].copy_from_slice(&table.0.to_le_bytes());
    location[8..10].copy_from_slice(&column.0.to_le_bytes());
    location[10..].copy_from_slice(&index.to_le_bytes());
    checksum(&location, value)
}

/// The checksum of the counter of an identity column: its restarts and its last number.
pub fn of_counter(table: TableId, column: ColumnId, restarts: u32, last: i64) -> i64 {
    let mut location = [0; 10];
    location[..8].copy_from_slice(&table.0.to_le_bytes());
    location[8..].copy_from_slice(&column.0.to_le_bytes());
    let mut state = [0; 12];
    state[..4].copy_from_slice(&restarts.to_le_bytes());
    state[4..].copy_from_slice(&last.to_le_bytes());
    checksum(&location, &state)
}

/// The checksum of a table definition, as stored.
pub fn of_definition(table: TableId, json: &str) -> i64 {
    checksum(&table.0.to_le_bytes(), json.as_bytes())
}

/// The checksum of an entry in the list of tables: the table's number, its definition's version and checksum, and its
/// name key.
pub fn of_table(table: TableId, version: i64, definition_checksum: i64, name_key: &str) -> i64 {
    let mut location = [0; 24];
    location[..8].copy_from_slice(&table.0.to_le_bytes());
    location[8..16].copy_from_slice(&version.to_le_bytes());
    location[16..].copy_from_slice(&definition_checksum.to_le_bytes());
    checksum(&location, name_key.as_bytes())
}

fn checksum(location: &[u8], bytes: &[u8]) -> i64 {
    XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(location), bytes).cast_signed()
}

/// The hash of bytes, independent of where they are stored. A string is looked up in its dictionary by it.
pub fn of_bytes(bytes: &[u8]) -> i64 {
    XxHash3_64::oneshot(bytes).cast_signed()
}
