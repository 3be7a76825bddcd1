//! The limits of a query about the catalogue: the memory of the server's queries, and an interrupt of its session.

use crate::pg::error::PgError;
use crate::pg::store::StoreSession;
use atsdb::sql::KeptMemory;
use std::cell::Cell;

/// The size in bytes that a value of a joined row is taken to have.
const VALUE_BYTES: usize = 48;

/// The number of rows after which memory is reserved and interrupts are noticed.
const ROWS_PER_CHECK: usize = 512;

/// The limits of one query.
pub(in crate::pg) struct Limits<'a> {
    session: &'a StoreSession,
    memory: KeptMemory,
    /// Rows since the last check.
    rows: Cell<usize>,
    /// Values of joined rows since the last check.
    values: Cell<usize>,
}

impl<'a> Limits<'a> {
    /// The limits of a query that begins now.
    pub(in crate::pg) fn begin(session: &'a StoreSession) -> Self {
        session.begin_interruptible();
        Self { session, memory: session.kept_memory(), rows: Cell::new(0), values: Cell::new(0) }
    }

    /// Counts a row, and the values that it adds to what the query holds. Fails if the memory is used up, or if the
    /// session was interrupted.
    pub(in crate::pg) fn count_row(&self, values: usize) -> Result<(), PgError> {
        self.values.set(self.values.get() + values);
        self.rows.set(self.rows.get() + 1);
        if self.rows.get() < ROWS_PER_CHECK {
            return Ok(());
        }
        self.rows.set(0);
        self.session.check_interrupt()?;
        Ok(self.memory.grow(self.values.take() * VALUE_BYTES)?)
    }

    /// Counts the bytes of a text that was computed.
    pub(in crate::pg) fn count_bytes(&self, bytes: usize) -> Result<(), PgError> {
        Ok(self.memory.grow(bytes)?)
    }
}
