//! Saved rows: tables in memory keep their rows in the store on request, as ordinary chunks of theirs.
//!
//! The chunks are read whole, at a table's first use in a process ([`read::resident`](crate::read::resident)), and by
//! sealing, verification and copies. What a process does to its rows does not touch them until they are saved again.

use crate::batch::Batch;
use crate::shared::handle::Handle;
use crate::shared::hold::Hold;
use atsdb_core::{Error, ErrorKind, Result, Table};

/// How often rows are saved anew because another process replaced the chunks meanwhile.
const ATTEMPTS_MAX: usize = 10;

/// Saves the rows of tables in memory, and says how many they were.
pub(crate) fn save_resident(handle: &Handle, tables: &[Table]) -> Result<u64> {
    let hold = Hold::new(&handle.shared);
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
    Err(Error::new(ErrorKind::Conflict, "others save the same tables all the time").with_hint("try again"))
}
