//! Allocation of chunk numbers, in the order of commits. No number is allocated twice.
//!
//! SQLite records the highest allocated number in `sqlite_sequence`. That is one page of the log for each commit, and a
//! commit of one row writes only five. So a writer reserves more numbers than it needs, and uses them as long as the
//! record is its own. Any other writer records higher numbers first, and a writer that finds these reserves still
//! higher ones. Unused numbers are skipped.

use crate::error::Attempt;
use rusqlite::{Connection, OptionalExtension, params};
use std::cell::Cell;

/// The number of numbers that are reserved together.
const NUMBERS_RESERVED_TOGETHER: i64 = 32;

/// The numbers from `next` to `recorded` belong to this writer as long as the file still contains `recorded`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReservedNumbers {
    next: i64,
    recorded: i64,
}

/// Allocates `count` numbers that are higher than all earlier ones, and returns the first. Numbers of a transaction
/// that is rolled back must not be used. `numbers` are the writer's reserved ones.
pub(crate) fn allocate(
    transaction: &Connection,
    numbers: &Cell<Option<ReservedNumbers>>,
    count: usize,
) -> Attempt<i64> {
    let count = count as i64;
    let recorded = transaction
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'atsdb_chunk'")?
        .query_row([], |row| row.get::<_, i64>(0))
        .optional()?;
    let own = numbers.get().filter(|own| recorded == Some(own.recorded));
    if let Some(own) = own.filter(|own| own.next + count <= own.recorded + 1) {
        numbers.set(Some(ReservedNumbers { next: own.next + count, ..own }));
        return Ok(own.next);
    }
    let first = recorded.unwrap_or(0) + 1;
    let last = first + count.max(NUMBERS_RESERVED_TOGETHER) - 1;
    let sql = match recorded {
        Some(_) => "UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'atsdb_chunk'",
        None => "INSERT INTO sqlite_sequence (name, seq) VALUES ('atsdb_chunk', ?1)",
    };
    transaction.prepare_cached(sql)?.execute(params![last])?;
    numbers.set(Some(ReservedNumbers { next: first + count, recorded: last }));
    Ok(first)
}
