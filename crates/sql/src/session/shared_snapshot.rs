//! The state that a transaction reads, for the transaction of another session to read the same.

use super::open_transaction::flushed;
use super::state::Session;
use atsdb_core::Result;
use atsdb_engine::ReadSnapshot;
use std::fmt;

/// The state of the store that a transaction reads.
#[derive(Clone)]
pub struct TransactionSnapshot(ReadSnapshot);

impl Session {
    /// The state of the store that the open transaction reads, without its own changes. `None` if no transaction is
    /// open.
    pub fn export_snapshot(&self) -> Result<Option<TransactionSnapshot>> {
        let mut transaction = self.transaction.lock();
        let Some(open) = transaction.as_mut() else { return Ok(None) };
        open.has_read = true;
        Ok(Some(TransactionSnapshot(flushed(open)?.seen()?)))
    }

    /// Lets the open transaction read a state that another one reads. Returns `false` if no transaction is open, or if
    /// it has read or changed something before. The session must be over the same store.
    pub fn import_snapshot(&self, snapshot: &TransactionSnapshot) -> Result<bool> {
        let mut transaction = self.transaction.lock();
        let Some(open) = transaction.as_mut().filter(|open| !open.has_read) else { return Ok(false) };
        open.has_read = flushed(open)?.see(&snapshot.0)?;
        Ok(open.has_read)
    }
}

impl fmt::Debug for TransactionSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TransactionSnapshot")
    }
}
