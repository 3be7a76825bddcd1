//! Numbers of tables, stages and chunks: never given twice. Those of chunks are given in the order of commits.

use crate::connection::Connection;
use crate::error::Attempt;
use crate::pool::Pool;
use atsdb_core::Error;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// How many numbers are drawn together for chunks that are being written.
const DRAWN_TOGETHER: i64 = 32;

/// Draws the next number for tables or stages.
pub(crate) fn next(connection: &mut dyn Connection, of: &str) -> Attempt<i64> {
    draw(connection, of, 1).map(|range| range.start)
}

fn draw(connection: &mut dyn Connection, of: &str, count: i64) -> Attempt<Range<i64>> {
    connection.execute("UPDATE atsdb_number SET last = last + $1 WHERE name = $2", &[count.into(), of.into()])?;
    let row = connection.query_first("SELECT last FROM atsdb_number WHERE name = $1", &[of.into()])?;
    let last = row.ok_or_else(|| lost(of))?.int(0)?;
    Ok(last - count + 1..last + 1)
}

fn lost(of: &str) -> Error {
    Error::corrupt(format!("the store has lost the number of its last {of}"))
}

/// Numbers for chunks that are written before their commit: their pages lie under these.
#[derive(Debug, Default)]
pub(crate) struct PayloadNumbers(Mutex<Range<i64>>);

impl PayloadNumbers {
    /// That many numbers, which nobody else has.
    pub(crate) fn take(&self, pool: &Pool, count: usize) -> Attempt<Range<i64>> {
        let count = count as i64;
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if left.end - left.start < count {
            let together = count.max(DRAWN_TOGETHER);
            *left = pool.transaction(|connection| draw(connection, "chunk", together))?;
        }
        let first = left.start;
        left.start += count;
        Ok(first..first + count)
    }
}

/// The lock under which everything changes that is visible, and the numbers of the chunks that become so. It is held to
/// the transaction's end.
pub(crate) struct ChangeLock<'a> {
    pub(crate) connection: &'a mut dyn Connection,
    last: i64,
}

impl<'a> ChangeLock<'a> {
    /// Waits for the lock.
    pub(crate) fn take(connection: &'a mut dyn Connection) -> Attempt<Self> {
        let row = connection.query_first("SELECT last FROM atsdb_number WHERE name = 'chunk' FOR UPDATE", &[])?;
        let last = row.ok_or_else(|| lost("chunk"))?.int(0)?;
        Ok(Self { connection, last })
    }

    /// The first of that many numbers, all higher than any given before.
    pub(crate) fn draw(&mut self, count: usize) -> i64 {
        let first = self.last + 1;
        self.last += count as i64;
        first
    }

    /// Notes what was drawn. It is noted even if that is nothing: servers that replicate find out by this row that two of
    /// them changed something at once.
    pub(crate) fn note(self) -> Attempt<()> {
        let last = self.last + 1;
        self.connection.execute("UPDATE atsdb_number SET last = $1 WHERE name = 'chunk'", &[last.into()])?;
        Ok(())
    }
}
