//! Allocation of numbers for tables, stages and chunks. None is allocated twice; those of chunks follow the order of
//! commits.

use crate::connection::Connection;
use crate::error::Attempt;
use crate::pool::Pool;
use atsdb_core::Error;
use parking_lot::Mutex;
use std::ops::Range;

/// The number of payload numbers that are allocated together.
const NUMBERS_PER_ALLOCATION: i64 = 32;

/// Allocates the next number of a table or stage.
pub(crate) fn next(connection: &mut dyn Connection, of: &str) -> Attempt<i64> {
    allocate(connection, of, 1).map(|range| range.start)
}

fn allocate(connection: &mut dyn Connection, of: &str, count: i64) -> Attempt<Range<i64>> {
    connection.execute("UPDATE atsdb_number SET last = last + $1 WHERE name = $2", &[count.into(), of.into()])?;
    let row = connection.query_first("SELECT last FROM atsdb_number WHERE name = $1", &[of.into()])?;
    let last = row.ok_or_else(|| lost(of))?.int(0)?;
    Ok(last - count + 1..last + 1)
}

fn lost(of: &str) -> Error {
    Error::corrupt(format!("the store has lost the number of its last {of}"))
}

/// The payload numbers of chunks, under which their pages are stored. They are allocated before the commit.
#[derive(Debug, Default)]
pub(crate) struct PayloadNumbers(Mutex<Range<i64>>);

impl PayloadNumbers {
    /// Allocates `count` unused numbers.
    pub(crate) fn allocate(&self, pool: &Pool, count: usize) -> Attempt<Range<i64>> {
        let count = count as i64;
        let mut left = self.0.lock();
        if left.end - left.start < count {
            let together = count.max(NUMBERS_PER_ALLOCATION);
            *left = pool.transaction(|connection| allocate(connection, "chunk", together))?;
        }
        let first = left.start;
        left.start += count;
        Ok(first..first + count)
    }
}

/// The lock under which everything visible changes, and the allocation of the numbers of committed chunks. It is held
/// until the end of the transaction.
pub(crate) struct ChangeLock<'a> {
    pub(crate) connection: &'a mut dyn Connection,
    last: i64,
}

impl<'a> ChangeLock<'a> {
    /// Waits for the lock and takes it.
    pub(crate) fn acquire(connection: &'a mut dyn Connection) -> Attempt<Self> {
        let row = connection.query_first("SELECT last FROM atsdb_number WHERE name = 'chunk' FOR UPDATE", &[])?;
        let last = row.ok_or_else(|| lost("chunk"))?.int(0)?;
        Ok(Self { connection, last })
    }

    /// Allocates `count` numbers higher than all earlier ones, and returns the first.
    pub(crate) fn allocate(&mut self, count: usize) -> i64 {
        let first = self.last + 1;
        self.last += count as i64;
        first
    }

    /// Records the allocated numbers, even if there are none: by this row replicating servers detect that two of them
    /// changed something at once.
    pub(crate) fn record(self) -> Attempt<()> {
        let last = self.last + 1;
        self.connection.execute("UPDATE atsdb_number SET last = $1 WHERE name = 'chunk'", &[last.into()])?;
        Ok(())
    }
}
