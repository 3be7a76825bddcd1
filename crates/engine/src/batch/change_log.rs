//! Writing to change logs ([`chunk::change_log`](crate::chunk::change_log)) in a batch.

use crate::batch::Batch;
use crate::chunk::change_log::log_chunk;
use crate::chunk::times::times_of;
use atsdb_core::{ChunkId, Result, TimeRange};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Batch {
    /// Adds the times of the removed chunks to the change logs of their tables, once for each chunk. Chunks that the
    /// batch itself added are not logged: no rollup has seen them.
    pub(crate) fn log_removed(&mut self) -> Result<()> {
        if !self.changes.has_unlogged() {
            return Ok(());
        }
        let base = self.base()?;
        let shared = Arc::clone(&self.handle.shared);
        for (table, chunks) in self.changes.take_unlogged() {
            let Some(table) = base.tables().iter().find(|other| other.id == table) else { continue };
            let Some(log) = base.log_of(table).filter(|log| !self.changes.dropped().contains(&log.id)) else {
                continue;
            };
            let chunks: BTreeSet<ChunkId> = chunks.into_iter().collect();
            let entries = base.inner.store.chunks(table.id, TimeRange::ALL)?;
            let times = times_of(entries.iter().filter(|entry| chunks.contains(&entry.id)));
            if !times.is_empty() {
                self.changes.name_definition(log)?;
                let chunk = log_chunk(shared.environment.chunk_uid()?, log.id, table.id, &times)?;
                self.keep(chunk)?;
            }
        }
        Ok(())
    }
}
