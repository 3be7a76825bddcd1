//! What a batch writes into change logs ([`chunk::change_log`](crate::chunk::change_log)).

use crate::batch::Batch;
use crate::chunk::change_log::log_chunk;
use crate::chunk::times::times_of;
use atsdb_core::{ChunkId, Result, TimeRange};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Batch {
    /// Notes in the logs what the batch removes, as far as that is not done yet. A chunk that the batch itself added is
    /// nobody's loss.
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
