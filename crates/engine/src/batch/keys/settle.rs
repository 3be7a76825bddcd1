//! Keys in a batch: the rows that wait, when they are settled, and the guards of their commit.

use crate::batch::Batch;
use crate::batch::keys::keyed_rows::KeyedRows;
use arrow::array::RecordBatch;
use atsdb_core::{ChunkGuard, ConflictPolicy, Error, ErrorKind, Result, Table, TableId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows wait up to this many bytes. As long as all rows of a batch wait, a commit that loses against another writer can
/// settle them again.
const WAITING_BYTES_MAX: usize = 48 << 20;

impl Batch {
    /// The number of rows skipped by [`ConflictPolicy::Keep`] because their key existed. It is final after the commit,
    /// or after [`settle_keys`](Self::settle_keys) for the rows added before.
    pub fn skipped_rows(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.keyed.skipped_rows)
    }

    /// The number of rows that were replaced by [`ConflictPolicy::Replace`] or merged by [`ConflictPolicy::Merge`]
    /// because a row with their key was added later. Rows of tables in memory are not counted. It is final when
    /// [`skipped_rows`](Self::skipped_rows) is.
    pub fn replaced_rows(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.keyed.replaced_rows)
    }

    /// Compares the waiting rows with each other and with the store, so that a
    /// [`DuplicateKey`](ErrorKind::DuplicateKey) is reported now rather than by the commit. The commit then fails with
    /// [`ErrorKind::Conflict`] if another writer adds a row of the same key before it. After a `DuplicateKey` the
    /// waiting rows are discarded and the batch can be used further; after any other error it cannot be committed.
    pub fn settle_keys(&mut self) -> Result<()> {
        let settled = self.settle_waiting();
        match &settled {
            Err(error) if error.kind() == ErrorKind::DuplicateKey => settled,
            _ => self.note_half_done(settled),
        }
    }

    fn settle_waiting(&mut self) -> Result<()> {
        let skipped_in_memory = self.drafts.settle()?;
        self.count_skipped_in_memory(skipped_in_memory);
        self.keyed.waiting().into_iter().try_for_each(|table| self.settle_table(table))
    }

    /// Counts the skipped rows of tables in memory, given as their total so far.
    pub(crate) fn count_skipped_in_memory(&mut self, total: u64) {
        let more = total.saturating_sub(self.keyed.skipped_in_memory);
        self.keyed.skipped_in_memory += more;
        self.keyed.skipped_rows.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn push_keyed(&mut self, table: &Table, rows: RecordBatch, policy: ConflictPolicy) -> Result<()> {
        let known = self.keyed.tables.get(&table.id).map(|(_, rows)| rows.policy());
        match known {
            Some(Some(other)) if other != policy => self.settle_table(table.id)?,
            Some(_) => {}
            None => {
                let rows = KeyedRows::new(&table.definition)?;
                self.keyed.tables.insert(table.id, (table.clone(), rows));
            }
        }
        let Some((_, keyed)) = self.keyed.tables.get_mut(&table.id) else {
            return Err(Error::internal("rows with keys belong to no table"));
        };
        keyed.push(rows, policy);
        let byte_count: usize = self.keyed.tables.values().map(|(_, rows)| rows.byte_count()).sum();
        if byte_count > WAITING_BYTES_MAX { self.settle_keys() } else { Ok(()) }
    }

    fn settle_table(&mut self, id: TableId) -> Result<()> {
        let Some((table, mut keyed)) = self.keyed.tables.remove(&id) else { return Ok(()) };
        let (waiting, grows) = keyed.take();
        if !waiting.rows.is_empty() {
            self.keyed.note_policy(id, waiting.policy);
        }
        let snapshot = match grows && !self.keyed.rewritten.contains(&id) {
            true => self.base(),
            false => self.snapshot(),
        };
        let is_created = self.changes.has_created(id);
        let settled = snapshot.and_then(|snapshot| {
            if !is_created {
                snapshot.require(&table)?;
            }
            keyed.settle(&table, &waiting, grows, &snapshot)
        });
        self.keyed.tables.insert(id, (table.clone(), keyed));
        let settled = settled?;
        self.guard_keys(id)?;
        for (chunk, successor) in settled.replaced {
            self.replace(&table, chunk, successor)?;
        }
        self.keyed.skipped_rows.fetch_add(settled.skipped, Ordering::Relaxed);
        self.keyed.replaced_rows.fetch_add(settled.replaced_rows, Ordering::Relaxed);
        settled.rows.into_iter().try_for_each(|rows| self.push_rows(&table, rows))
    }

    /// Adds rows in stored form whose keys are known to be new.
    pub(crate) fn push_settled(&mut self, table: &Table, rows: RecordBatch) -> Result<()> {
        let ready = self.settle_table(table.id).and_then(|()| self.guard_keys(table.id));
        self.note_half_done(ready)?;
        // The series clocks have not seen these rows.
        self.keyed.note_rewritten(table.id);
        self.push_rows(table, rows)
    }

    /// Makes the store refuse the commit if another writer adds rows to the table that this batch has not seen. The
    /// batch then compares its rows with these, and commits under a raised guard ([`recheck`](super::recheck)).
    pub(crate) fn guard_keys(&mut self, id: TableId) -> Result<()> {
        if !self.changes.has_created(id) && !self.changes.has_guard(id) {
            let newest = self.base()?.inner.store.newest_chunk()?;
            self.changes.guard(ChunkGuard { table: id, newest });
            if self.is_parent(id)? {
                self.know(id)?;
            }
        }
        Ok(())
    }
}
