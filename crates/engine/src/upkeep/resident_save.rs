//! Saved rows: on request the rows of tables in memory are stored as ordinary chunks.
//!
//! The chunks are read at a table's first use in a process ([`read::resident`](crate::read::resident)), and by sealing,
//! verification and copies. Changes of the rows in memory do not affect them until the rows are saved again.

use crate::batch::Batch;
use crate::shared::handle::Handle;
use crate::shared::hold::SealingHold;
use atsdb_core::{CommitOutcome, Error, ErrorKind, Result, Table};

/// The maximum number of attempts to save while other processes replace the chunks.
const ATTEMPTS_MAX: usize = 10;

/// Saves the rows of tables in memory, and returns how many there are.
pub(crate) fn save_resident(handle: &Handle, tables: &[Table]) -> Result<u64> {
    let hold = SealingHold::new(&handle.shared);
    hold.lease()?;
    for _ in 0..ATTEMPTS_MAX {
        let mut batch = Batch::new(handle.clone(), None);
        let snapshot = batch.snapshot()?;
        let mut row_count = 0;
        for table in tables {
            if let Some(state) = snapshot.resident_in_use(table)? {
                row_count += batch.save_resident(table, &state)?;
            }
        }
        match batch.commit() {
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            committed => return committed.map(|_| row_count),
        }
    }
    Err(Error::new(ErrorKind::Conflict, "other processes keep saving the same tables").with_hint("retry"))
}

/// Commits a batch with rows of a table. If the table is in memory, the commit saves its rows, unless the store is in
/// memory, too.
pub(crate) fn commit_saved(handle: &Handle, mut batch: Batch, table: &Table) -> Result<CommitOutcome> {
    if !table.definition.is_in_memory() || handle.shared.store.url() == "memory:" {
        return batch.commit();
    }
    let hold = SealingHold::new(&handle.shared);
    hold.lease()?;
    let state = batch.snapshot()?.resident(table)?;
    batch.save_resident(table, &state)?;
    batch.commit()
}
