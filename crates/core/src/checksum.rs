//! Checksums of what the pages' own do not cover: strings of dictionaries and definitions of tables.
//!
//! XXH3-64, which finds accidents, not forgers; seeded with where the bytes belong, so that a row in another place fails
//! like a damaged one.

use crate::id::{ColumnId, TableId};
use twox_hash::XxHash3_64;

/// Of a string of a dictionary.
pub fn of_string(table: TableId, column: ColumnId, index: u32, value: &[u8]) -> i64 {
    let mut place = [0; 14];
    place[..8].copy_from_slice(&table.0.to_le_bytes());
    place[8..10].copy_from_slice(&column.0.to_le_bytes());
    place[10..].copy_from_slice(&index.to_le_bytes());
    checksum(&place, value)
}

/// Of a table's definition, as stored.
pub fn of_definition(table: TableId, json: &str) -> i64 {
    checksum(&table.0.to_le_bytes(), json.as_bytes())
}

/// Of a table in the list of tables: of its number, its definition's version and checksum, and the name that it is found by.
pub fn of_table(table: TableId, version: i64, definition_checksum: i64, name_key: &str) -> i64 {
    let mut place = [0; 24];
    place[..8].copy_from_slice(&table.0.to_le_bytes());
    place[8..16].copy_from_slice(&version.to_le_bytes());
    place[16..].copy_from_slice(&definition_checksum.to_le_bytes());
    checksum(&place, name_key.as_bytes())
}

fn checksum(place: &[u8], bytes: &[u8]) -> i64 {
    XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(place), bytes).cast_signed()
}

/// Of bytes wherever they are: by it a string is found in its dictionary.
pub fn of_bytes(bytes: &[u8]) -> i64 {
    XxHash3_64::oneshot(bytes).cast_signed()
}
