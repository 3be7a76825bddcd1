//! Numbers of chunks: given in the order of commits, never twice.
//!
//! SQLite notes the highest number given in `sqlite_sequence`: one page of the log for each commit, of which a commit of
//! one row writes but five. So a writer notes some numbers more than it needs, and uses them up as long as the note is its
//! own: any other writer notes higher ones first, and whoever finds that takes still higher ones. Numbers that nobody
//! uses are left out.

use crate::error::Attempt;
use rusqlite::{Connection, OptionalExtension, params};
use std::cell::Cell;

/// How many numbers are noted together.
const NOTED_TOGETHER: i64 = 32;

/// The numbers from `next` to `noted` are this writer's, if `noted` is still what the file has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    next: i64,
    noted: i64,
}

/// The first of so many numbers, all higher than any given before. What is rolled back must not be used. `numbers` are the writer's.
pub(crate) fn take(transaction: &Connection, numbers: &Cell<Option<Numbers>>, count: usize) -> Attempt<i64> {
    let count = count as i64;
    let noted = transaction
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'atsdb_chunk'")?
        .query_row([], |row| row.get::<_, i64>(0))
        .optional()?;
    let own = numbers.get().filter(|own| noted == Some(own.noted));
    if let Some(own) = own.filter(|own| own.next + count <= own.noted + 1) {
        numbers.set(Some(Numbers { next: own.next + count, ..own }));
        return Ok(own.next);
    }
    let first = noted.unwrap_or(0) + 1;
    let last = first + count.max(NOTED_TOGETHER) - 1;
    let sql = match noted {
        Some(_) => "UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'atsdb_chunk'",
        None => "INSERT INTO sqlite_sequence (name, seq) VALUES ('atsdb_chunk', ?1)",
    };
    transaction.prepare_cached(sql)?.execute(params![last])?;
    numbers.set(Some(Numbers { next: first + count, noted: last }));
    Ok(first)
}
