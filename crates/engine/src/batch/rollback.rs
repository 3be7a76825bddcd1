//! Savepoints of a batch: rolling back to one undoes what was done after it.
//!
//! A savepoint is a copy of what the batch holds in memory, and the list of the chunks and tables in its stage. While
//! there is a savepoint, a staged chunk that the batch removes is only hidden, as a rollback may need it; the commit
//! removes it.

use crate::batch::Batch;
use crate::batch::savepoint::Savepoint;
use atsdb_core::name::same_name;
use atsdb_core::{ChunkId, Error, ErrorKind, Result, StageId, TableId, TimeRange};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Batch {
    /// Sets a savepoint. If several have the same name, the name means the last one.
    pub fn savepoint(&mut self, name: &str) -> Result<()> {
        self.settle()?;
        let staged = self.staged()?;
        self.savepoints.push(Savepoint {
            name: name.to_owned(),
            pending: self.chunks.save_pending(),
            changes: self.changes.clone(),
            drafts: self.drafts.clone(),
            staged,
            row_count: self.row_count,
        });
        Ok(())
    }

    /// Removes a savepoint and all later ones, and keeps what was done. Returns how many savepoints are left.
    pub fn release_savepoint(&mut self, name: &str) -> Result<usize> {
        let at = self.find_savepoint(name)?;
        self.savepoints.truncate(at);
        Ok(at)
    }

    /// Undoes what was done after a savepoint. The savepoint stays, later ones are removed. The batch sees the same
    /// state of the store as before. If an error had made it unusable, it can be used again. Returns how many
    /// savepoints are left.
    ///
    /// Errors: [`Conflict`](ErrorKind::Conflict) if others changed the definition of a table to which rows were added
    /// before the savepoint, and the batch first read the store after that.
    pub fn rollback_to_savepoint(&mut self, name: &str) -> Result<usize> {
        let at = self.find_savepoint(name)?;
        let mut savepoint = self.savepoints[at].clone();
        let seen_since = self.changes.base().filter(|_| savepoint.changes.base().is_none()).cloned();
        if let Some(seen) = &seen_since {
            // What the batch has read since stays what it sees.
            savepoint.changes.set_base(seen)?;
        }
        // A rollback that fails halfway leaves a batch that cannot be committed; the rollback can be retried.
        self.is_half_done = true;
        self.chunks.forget_waiting();
        self.keyed.forget_all();
        if let Some(stage) = self.chunks.stage() {
            let store = Arc::clone(&self.handle.shared.store);
            let created: BTreeSet<TableId> = savepoint.changes.created().iter().map(|table| table.id).collect();
            let tables = store.stage_snapshot(stage)?.tables()?;
            for table in tables.iter().filter(|table| !created.contains(&table.id)) {
                store.unstage_table(stage, table.id)?;
                self.handle.shared.forget(table.id);
            }
            let later: Vec<ChunkId> = self.staged()?.difference(&savepoint.staged).copied().collect();
            store.unstage(stage, &later)?;
        }
        self.savepoints.truncate(at + 1);
        self.chunks.restore_pending(savepoint.pending);
        (self.changes, self.drafts, self.row_count) = (savepoint.changes, savepoint.drafts, savepoint.row_count);
        if let Some(seen) = &seen_since {
            self.rebase_drafts(seen)?;
        }
        self.is_half_done = false;
        Ok(at + 1)
    }

    /// Removes chunks from the stage, or hides them while there are savepoints.
    pub(crate) fn unstage(&mut self, stage: StageId, chunks: &[ChunkId]) -> Result<()> {
        if self.savepoints.is_empty() {
            return self.handle.shared.store.unstage(stage, chunks);
        }
        self.changes.hide(chunks);
        Ok(())
    }

    /// Removes the hidden chunks from the stage.
    pub(crate) fn unstage_hidden(&mut self) -> Result<()> {
        let hidden = self.changes.take_hidden();
        let Some(stage) = self.chunks.stage().filter(|_| !hidden.is_empty()) else { return Ok(()) };
        // Some may have been removed with their table.
        let present: Vec<ChunkId> = self.staged()?.intersection(&hidden).copied().collect();
        self.handle.shared.store.unstage(stage, &present)
    }

    /// Refuses to remove a table that the batch created before a savepoint that is still set.
    pub(crate) fn check_not_saved(&self, table: TableId) -> Result<()> {
        let is_saved = self.savepoints.last().is_some_and(|savepoint| savepoint.changes.has_created(table));
        match is_saved {
            true => {
                Err(Error::new(ErrorKind::Sql, "the table was created by the same transaction, before a savepoint")
                    .with_hint("RELEASE the savepoint, or COMMIT, before dropping or changing the table"))
            }
            false => Ok(()),
        }
    }

    /// The chunks of the stage, including the hidden ones.
    fn staged(&mut self) -> Result<BTreeSet<ChunkId>> {
        let Some(stage) = self.chunks.stage() else { return Ok(BTreeSet::new()) };
        // The stage may hold rows of a table that the commit drops, and entries of change logs.
        let base = self.base()?;
        let visible = self.changes.tables(&base);
        let all = visible.iter().chain(base.inner.hidden.iter()).chain(self.changes.created());
        let mut tables: BTreeSet<TableId> = all.map(|table| table.id).collect();
        tables.extend(self.changes.dropped());
        let snapshot = self.handle.shared.store.stage_snapshot(stage)?;
        let mut staged = BTreeSet::new();
        for table in tables {
            staged.extend(snapshot.chunks(table, TimeRange::ALL)?.iter().map(|entry| entry.id));
        }
        Ok(staged)
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        let found = self.savepoints.iter().rposition(|savepoint| same_name(&savepoint.name, name));
        found.ok_or_else(|| {
            Error::new(ErrorKind::Sql, format!("there is no savepoint {name}")).with_hint("SAVEPOINT name sets one")
        })
    }
}
