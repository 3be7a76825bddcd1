//! Collecting a batch's chunks: rows wait until they fill a chunk, are encoded, and are held in memory or written
//! ahead.
//!
//! Full chunks are encoded by the workers while the caller continues. A small batch stays in memory; a large one writes
//! its chunks ahead into a stage that no reader sees. Not owned: what the batch removes and redefines (`changes`), the
//! rules of keys (`keys`), and the commit (`commit`).

use crate::batch::table_writer::TableWriter;
use crate::chunk::encode::encode_fresh;
use crate::chunk::slice_buffer::ChunkRows;
use crate::shared::Shared;
use arrow::array::RecordBatch;
use atsdb_core::{ChunkEntry, ChunkId, Error, NewChunk, Result, StageId, Table, TableDefinition, TableId};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Encoded chunks are held in memory up to this many bytes, then written ahead.
const ENCODED_BYTES_MAX: usize = 16 << 20;
/// Rows wait for their chunk to fill up to this many bytes, then become smaller chunks.
const WAITING_BYTES_MAX: usize = 48 << 20;
/// A chunk with at most this many rows is encoded by the caller: handing it to a worker would cost more.
const INLINE_ROWS_MAX: usize = 4_096;

/// The result of one encoding job: the chunk, or `None` if the worker has written it to the stage.
type Encoded = Result<Option<NewChunk>>;

/// A chunk held in the batch's memory. Its number is below zero, which no chunk of a store has.
#[derive(Clone)]
pub(crate) struct PendingChunk {
    pub(crate) id: ChunkId,
    pub(crate) chunk: Arc<NewChunk>,
}

impl PendingChunk {
    /// The chunk as a snapshot lists it.
    pub(crate) fn entry(&self) -> ChunkEntry {
        let chunk = &self.chunk;
        ChunkEntry::of(self.id, chunk.table, &chunk.descriptor, chunk.descriptor_bytes.clone())
    }
}

/// The encoded chunks that are not written ahead.
#[derive(Clone, Default)]
pub(crate) struct PendingChunks {
    chunks: Vec<PendingChunk>,
    /// Bytes of their pages and descriptors. An upper bound: removing a chunk does not reduce it.
    byte_count: usize,
    /// The chunks up to this number, counted from zero downwards, are in a snapshot, which may remove them by their
    /// numbers. Writing them ahead would change the numbers, so they wait until the next snapshot is taken.
    shown: u64,
    /// Bytes of the chunks that are in no snapshot.
    unshown_byte_count: usize,
}

/// The rows and chunks of one batch until its commit. Dropping it abandons its stage.
pub(crate) struct ChunkCollector {
    shared: Arc<Shared>,
    writers: BTreeMap<TableId, TableWriter>,
    pending: PendingChunks,
    /// Holds the chunks written ahead and the tables that the batch creates.
    stage: Option<StageId>,
    /// The tables that the batch has created. This process forgets them if the stage is abandoned.
    staged_tables: Vec<TableId>,
    /// Jobs submitted to the workers whose result has not been received.
    running_jobs: usize,
    sender: Sender<Encoded>,
    receiver: Receiver<Encoded>,
}

impl ChunkCollector {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        let (sender, receiver) = channel();
        Self {
            shared: Arc::clone(shared),
            writers: BTreeMap::new(),
            pending: PendingChunks::default(),
            stage: None,
            staged_tables: Vec::new(),
            running_jobs: 0,
            sender,
            receiver,
        }
    }

    /// The writer of a table under this definition. No rows may wait under another definition.
    pub(crate) fn writer(&mut self, table: &Table) -> &mut TableWriter {
        let writer = self.writers.entry(table.id).or_insert_with(|| TableWriter::new(table));
        if writer.version != table.version {
            *writer = TableWriter::new(table);
        }
        writer
    }

    /// The writer of a table, if the batch has one.
    pub(crate) fn find_writer(&self, table: TableId) -> Option<&TableWriter> {
        self.writers.get(&table)
    }

    /// Takes a table's writer out, with the rows that wait in it.
    pub(crate) fn take_writer(&mut self, table: TableId) -> Option<TableWriter> {
        self.writers.remove(&table)
    }

    /// Adds rows in stored form to a table that has a writer, and encodes the chunks that are now full.
    pub(crate) fn push(&mut self, table: &Table, rows: RecordBatch) -> Result<()> {
        let writer = self.writer(table);
        let definition = Arc::clone(&writer.definition);
        let full = writer.slices.push(&definition, rows)?;
        for chunk in full {
            self.encode(table.id, &definition, chunk)?;
        }
        let waiting: usize = self.writers.values().map(|writer| writer.slices.byte_count()).sum();
        if waiting > WAITING_BYTES_MAX { self.drain() } else { Ok(()) }
    }

    /// Turns all waiting rows into chunks and waits for their encoding.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.drain()?;
        while self.running_jobs > 0 {
            self.receive()?;
        }
        Ok(())
    }

    /// Turns all waiting rows into chunks, which may still be encoded by workers afterwards.
    fn drain(&mut self) -> Result<()> {
        let mut chunks = Vec::new();
        for writer in self.writers.values_mut() {
            for chunk in writer.slices.drain()? {
                chunks.push((writer.table, Arc::clone(&writer.definition), chunk));
            }
        }
        for (table, definition, chunk) in chunks {
            self.encode(table, &definition, chunk)?;
        }
        Ok(())
    }

    /// Encodes the rows of one chunk: here if there are few, else in a worker.
    pub(crate) fn encode(&mut self, table: TableId, definition: &Arc<TableDefinition>, chunk: ChunkRows) -> Result<()> {
        if chunk.rows.num_rows() <= INLINE_ROWS_MAX {
            let encoded = encode(&self.shared, table, definition, &chunk)?;
            return self.keep(encoded);
        }
        while self.running_jobs > self.shared.workers.thread_count() {
            self.receive()?;
        }
        let (shared, sender) = (Arc::clone(&self.shared), self.sender.clone());
        let (definition, stage) = (Arc::clone(definition), self.stage);
        self.running_jobs += 1;
        self.shared.workers.submit(Box::new(move || {
            let work = || encode_and_stage(&shared, table, &definition, &chunk, stage);
            let result = catch_unwind(AssertUnwindSafe(work));
            let result = result.unwrap_or_else(|_| Err(Error::internal("encoding a chunk panicked")));
            // The receiver no longer exists if the batch has failed in the meantime.
            let _ = sender.send(result);
        }));
        Ok(())
    }

    fn receive(&mut self) -> Result<()> {
        let result = self.receiver.recv().map_err(|_| Error::internal("the encoding workers have ended"))?;
        self.running_jobs -= 1;
        match result? {
            Some(chunk) => self.keep(chunk),
            None => Ok(()),
        }
    }

    /// Holds an encoded chunk in memory. If that makes too many bytes, all held chunks are written ahead.
    pub(crate) fn keep(&mut self, chunk: NewChunk) -> Result<()> {
        let id = ChunkId(self.shared.next_own_chunk());
        let byte_count = chunk.pages.iter().map(Vec::len).sum::<usize>() + chunk.descriptor_bytes.len();
        self.pending.byte_count += byte_count;
        self.pending.unshown_byte_count += byte_count;
        self.pending.chunks.push(PendingChunk { id, chunk: Arc::new(chunk) });
        match self.pending.unshown_byte_count > ENCODED_BYTES_MAX {
            true => {
                let unshown = self.pending.take_unshown();
                self.write_ahead(unshown)
            }
            false => Ok(()),
        }
    }

    fn write_ahead(&mut self, chunks: Vec<PendingChunk>) -> Result<()> {
        let stage = self.open_stage()?;
        self.shared.store.stage(stage, into_new_chunks(chunks), self.shared.environment.now_ms())
    }

    /// Prepares the chunks held in memory for a snapshot. Chunks of earlier snapshots may be written ahead.
    pub(crate) fn show(&mut self) -> Result<()> {
        if self.pending.byte_count > ENCODED_BYTES_MAX {
            let all = std::mem::take(&mut self.pending).chunks;
            self.write_ahead(all)?;
        }
        let last = self.pending.chunks.iter().map(|pending| pending.id.0.unsigned_abs()).max();
        self.pending.shown = last.unwrap_or(self.pending.shown);
        self.pending.unshown_byte_count = 0;
        Ok(())
    }

    /// The batch's stage. It is opened when it is first needed.
    pub(crate) fn open_stage(&mut self) -> Result<StageId> {
        match self.stage {
            Some(stage) => Ok(stage),
            None => {
                let stage = self.shared.store.open_stage(self.shared.environment.now_ms())?;
                self.stage = Some(stage);
                Ok(stage)
            }
        }
    }

    /// A definition that replaces another one of a table that the batch created: its columns continue counting.
    pub(crate) fn continued(&self, table: TableId, mut to: TableDefinition) -> Result<TableDefinition> {
        let store = &self.shared.store;
        let counters = match self.stage {
            Some(stage) => store.stage_snapshot(stage)?,
            None => store.snapshot()?,
        };
        to.continue_counters(|column| counters.counter(table, column))?;
        Ok(to)
    }

    /// Notes a table that the batch has created in its stage.
    pub(crate) fn note_staged(&mut self, table: TableId) {
        self.staged_tables.push(table);
    }

    /// The batch's stage, if it is open.
    pub(crate) fn stage(&self) -> Option<StageId> {
        self.stage
    }

    /// The chunks held in memory.
    pub(crate) fn pending(&self) -> &[PendingChunk] {
        &self.pending.chunks
    }

    /// The chunks held in memory, for a savepoint.
    pub(crate) fn save_pending(&self) -> PendingChunks {
        self.pending.clone()
    }

    /// Puts the chunks of a savepoint in place of those held in memory.
    pub(crate) fn restore_pending(&mut self, pending: PendingChunks) {
        self.pending = pending;
    }

    /// Removes a chunk held in memory. False if it is not held there any more.
    pub(crate) fn remove_pending(&mut self, id: ChunkId) -> bool {
        let before = self.pending.chunks.len();
        self.pending.chunks.retain(|pending| pending.id != id);
        self.pending.chunks.len() < before
    }

    /// Returns whether rows of a table wait, or rows of any table are being encoded.
    pub(crate) fn has_waiting(&self, table: TableId) -> bool {
        self.running_jobs > 0 || self.writers.get(&table).is_some_and(|writer| writer.slices.byte_count() > 0)
    }

    /// Returns whether rows wait, are being encoded, or have become chunks.
    pub(crate) fn has_rows(&self) -> bool {
        let waits = self.writers.values().any(|writer| writer.slices.byte_count() > 0);
        waits || self.running_jobs > 0 || !self.has_no_chunks()
    }

    /// Returns whether there is neither a chunk in memory nor a stage.
    pub(crate) fn has_no_chunks(&self) -> bool {
        self.pending.chunks.is_empty() && self.stage.is_none()
    }

    /// Discards a table's waiting rows and its chunks in memory.
    pub(crate) fn forget_table(&mut self, table: TableId) {
        self.writers.remove(&table);
        self.pending.chunks.retain(|pending| pending.chunk.table != table);
    }

    /// Discards all waiting rows, also those being encoded, after any error.
    pub(crate) fn forget_waiting(&mut self) {
        self.await_jobs();
        self.writers.clear();
    }

    /// Discards all chunks and abandons the stage. No rows may wait.
    pub(crate) fn discard_chunks(&mut self) -> Result<()> {
        self.pending = PendingChunks::default();
        match self.stage.take() {
            Some(stage) => self.abandon(stage),
            None => Ok(()),
        }
    }

    fn abandon(&mut self, stage: StageId) -> Result<()> {
        for table in self.staged_tables.drain(..) {
            self.shared.forget(table);
        }
        self.shared.store.abandon_stage(stage)
    }

    /// Takes all chunks out for the commit: the stage, and those held in memory.
    pub(crate) fn take_chunks(&mut self) -> (Option<StageId>, Vec<NewChunk>) {
        (self.stage.take(), into_new_chunks(std::mem::take(&mut self.pending).chunks))
    }

    /// Puts the stage of a failed commit back, so that it is abandoned with the batch.
    pub(crate) fn put_stage_back(&mut self, stage: Option<StageId>) {
        self.stage = stage;
    }

    /// Waits for the workers and ignores their results.
    fn await_jobs(&mut self) {
        while self.running_jobs > 0 && self.receiver.recv().is_ok() {
            self.running_jobs -= 1;
        }
    }
}

impl PendingChunks {
    /// Takes out the chunks that are in no snapshot.
    fn take_unshown(&mut self) -> Vec<PendingChunk> {
        let shown = self.shown;
        let chunks = std::mem::take(&mut self.chunks).into_iter();
        let (kept, unshown) = chunks.partition(|pending| pending.id.0.unsigned_abs() <= shown);
        self.chunks = kept;
        self.byte_count = self.byte_count.saturating_sub(self.unshown_byte_count);
        self.unshown_byte_count = 0;
        unshown
    }
}

fn into_new_chunks(chunks: Vec<PendingChunk>) -> Vec<NewChunk> {
    // A snapshot or savepoint that is still held needs its own copy.
    let owned = |pending: PendingChunk| Arc::try_unwrap(pending.chunk).unwrap_or_else(|shared| (*shared).clone());
    chunks.into_iter().map(owned).collect()
}

impl Drop for ChunkCollector {
    fn drop(&mut self) {
        self.await_jobs();
        if let Some(stage) = self.stage {
            // If this fails, the store reclaims the stage once it has been idle for long.
            let _ = self.abandon(stage);
            self.shared.give_back();
        }
    }
}

fn encode(shared: &Shared, table: TableId, definition: &TableDefinition, chunk: &ChunkRows) -> Result<NewChunk> {
    let uid = shared.environment.chunk_uid()?;
    let encoded = encode_fresh(table, definition, uid, chunk)?;
    shared.preload_rows(definition, uid, chunk);
    Ok(encoded)
}

fn encode_and_stage(
    shared: &Shared,
    table: TableId,
    definition: &TableDefinition,
    chunk: &ChunkRows,
    stage: Option<StageId>,
) -> Encoded {
    let encoded = encode(shared, table, definition, chunk)?;
    match stage {
        None => Ok(Some(encoded)),
        Some(stage) => shared.store.stage(stage, vec![encoded], shared.environment.now_ms()).map(|()| None),
    }
}

#[cfg(test)]
mod tests {
    use crate::batch::Batch;
    use crate::engine::{Engine, EngineOptions};
    use arrow::array::{ArrayRef, RecordBatch, StringArray};
    use atsdb_core::{ColumnType, MapWidth, TableDefinition};
    use atsdb_memory::MemoryStore;
    use std::sync::Arc;

    /// Creates a table and adds a string to its dictionary.
    fn create(batch: &mut Batch) {
        let definition = TableDefinition::new("t").with_column("s", ColumnType::Text, Some(MapWidth::U8));
        let table = batch.create_table(&definition).unwrap();
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
        batch.append(&table, &RecordBatch::try_from_iter([("s", texts)]).unwrap()).unwrap();
    }

    #[test]
    fn nothing_is_kept_of_a_table_that_is_not_committed() {
        let options = EngineOptions { maintenance: false, preload_bytes: 0, ..EngineOptions::default() };
        let engine = Engine::new(Arc::new(MemoryStore::new([7; 16])), options).unwrap();
        let kept = || engine.shared().dictionaries.count();
        let mut batch = engine.batch(None);
        create(&mut batch);
        assert_eq!(kept(), 1);
        drop(batch);
        assert_eq!(kept(), 0, "after a rollback");
        let mut batch = engine.batch(None);
        batch.savepoint("p").unwrap();
        create(&mut batch);
        batch.rollback_to_savepoint("p").unwrap();
        assert_eq!(kept(), 0, "after a rollback to a savepoint");
        create(&mut batch);
        let table = batch.tables().unwrap().remove(0);
        batch.drop_table(&table).unwrap();
        assert_eq!(kept(), 0, "after it was dropped");
        create(&mut batch);
        batch.commit().unwrap();
        assert_eq!(kept(), 1);
    }
}
