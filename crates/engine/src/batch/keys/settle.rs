//! Keys in a batch: looking keys up, the rows that wait, when they are settled, and the guards of their commit.

use crate::batch::Batch;
use crate::batch::keys::conflicting_rows::{ConflictingRows, rows_kept};
use crate::batch::keys::index::KeyIndex;
use crate::batch::keys::key::{Key, KeyColumns};
use arrow::array::RecordBatch;
use atsdb_core::{ChunkGuard, ConflictPolicy, Error, ErrorKind, Result, Table, TableId};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Rows wait up to this many bytes. As long as all rows of a batch wait, a commit that loses against another writer can
/// settle them again.
const WAITING_BYTES_MAX: usize = 48 << 20;

impl Batch {
    /// The number of rows skipped by [`ConflictPolicy::Keep`] because their key existed. It is final after the commit,
    /// or after [`settle_keys`](Self::settle_keys) for the rows added before.
    pub fn skipped_rows(&self) -> Arc<AtomicU64> {
        Arc::clone(self.keyed.skipped_rows())
    }

    /// The number of rows that were replaced by [`ConflictPolicy::Replace`] or merged by [`ConflictPolicy::Merge`]
    /// because a row with their key was added later. Rows of tables in memory are not counted. It is final when
    /// [`skipped_rows`](Self::skipped_rows) is.
    pub fn replaced_rows(&self) -> Arc<AtomicU64> {
        Arc::clone(self.keyed.replaced_rows())
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
        self.keyed.count_skipped_in_memory(skipped_in_memory);
        self.keyed.waiting().into_iter().try_for_each(|table| self.settle_table(table))
    }

    /// An index of the keys of a table as this batch sees it. Waiting rows become chunks first. The index stays valid
    /// as long as all rows are added to the table by [`append_indexed`](Self::append_indexed).
    pub fn key_index(&mut self, table: &Table) -> Result<KeyIndex> {
        KeyIndex::new(table, &self.snapshot()?)
    }

    /// Adds rows whose keys were added to the index before; their keys are not checked again. `policy` is what the
    /// caller has applied to rows whose key existed. The commit fails with [`ErrorKind::Conflict`] if another writer
    /// adds a row of the same key before it.
    pub fn append_indexed(&mut self, index: &KeyIndex, rows: &RecordBatch, policy: ConflictPolicy) -> Result<()> {
        self.keyed.note_policy(index.table().id, policy);
        self.append_settled(index.table(), rows)
    }

    /// Finds the stored rows that have the same key as new rows. `key` is the key's position in
    /// [`unique`](atsdb_core::TableDefinition::unique). The new rows have all columns, as [`complete`](Self::complete)
    /// returns them.
    pub fn conflicting_rows(&mut self, table: &Table, key: usize, rows: &RecordBatch) -> Result<ConflictingRows> {
        let key = match table.definition.unique.get(key) {
            Some(unique) => Key::of(&table.definition, unique)?,
            None => return Err(Error::usage(format!("table {} has no key {key}", table.definition.name))),
        };
        self.keyed.note_decided(table.id);
        let columns = self.stored_key(table, &key, rows)?;
        ConflictingRows::find(&self.snapshot()?, table, key, columns, rows.num_rows())
    }

    /// Returns for each of some complete rows whether [`ConflictPolicy::Keep`] would add it.
    pub fn would_insert(&mut self, table: &Table, rows: &RecordBatch) -> Result<Vec<bool>> {
        if table.definition.is_in_memory() {
            let state = self.snapshot()?.resident(table)?;
            return state.rows_kept(rows.columns().to_vec(), rows.num_rows());
        }
        self.keyed.note_decided(table.id);
        let keys = Key::all_of(&table.definition)?;
        let columns = keys.iter().map(|key| self.stored_key(table, key, rows)).collect::<Result<Vec<_>>>()?;
        rows_kept(&self.snapshot()?, table, &keys, columns, rows.num_rows())
    }

    fn stored_key(&mut self, table: &Table, key: &Key, rows: &RecordBatch) -> Result<KeyColumns> {
        key.positions.iter().map(|position| self.stored(table, *position, rows.column(*position))).collect()
    }

    /// Adds rows in stored form, which wait until their keys are checked.
    pub(crate) fn push_keyed(&mut self, table: &Table, rows: RecordBatch, policy: ConflictPolicy) -> Result<()> {
        if self.keyed.policy(table.id).is_some_and(|other| other != policy) {
            self.settle_table(table.id)?;
        }
        self.keyed.push(table, rows, policy)?;
        if self.keyed.byte_count() > WAITING_BYTES_MAX { self.settle_keys() } else { Ok(()) }
    }

    fn settle_table(&mut self, id: TableId) -> Result<()> {
        let Some((table, mut keyed)) = self.keyed.take(id) else { return Ok(()) };
        let (waiting, grows) = keyed.take();
        if !waiting.rows.is_empty() {
            self.keyed.note_policy(id, waiting.policy);
        }
        let snapshot = match grows && !self.keyed.has_rewritten(id) {
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
        self.keyed.put_back(table.clone(), keyed);
        let settled = settled?;
        self.guard_keys(id)?;
        for (chunk, successor) in settled.replaced {
            self.replace(&table, chunk, successor)?;
        }
        self.keyed.count(settled.skipped, settled.replaced_rows);
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
