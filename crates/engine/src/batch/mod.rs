//! A batch: rows of any number of tables that one commit makes visible, all or none, however many they are.
//!
//! Full chunks are encoded by the workers while the caller goes on. A small batch is kept in memory and committed
//! in one step; a large one writes its chunks ahead into a stage that nobody sees.

pub(crate) mod appender;
mod change;
mod change_log;
mod changes;
mod column_buffer;
mod follow;
mod interner;
pub(crate) mod keys;
mod mark;
mod overlay;
pub(crate) mod record;
mod resident;
mod rollup;
mod row_buffer;
mod savepoint;
mod table_writer;

use crate::batch::changes::Changes;
use crate::batch::keys::keyed_tables::KeyedTables;
use crate::batch::mark::Mark;
use crate::batch::overlay::OwnChunk;
use crate::batch::table_writer::TableWriter;
use crate::chunk::coerce::{Rows, coerce, coerce_column};
use crate::chunk::encode::encode_fresh;
use crate::chunk::slice_buffer::{ChunkRows, internal};
use crate::shared::Shared;
use crate::shared::handle::Handle;
use arrow::array::{ArrayRef, RecordBatch};
use atsdb_core::{
    BatchId, Change, CommitOutcome, ConflictPolicy, Error, ErrorKind, NewChunk, Result, StageId, Table,
    TableDefinition, TableId,
};
use atsdb_resident::BatchDrafts;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError};

/// Encoded chunks are kept in memory up to this many bytes, then written ahead.
const ENCODED_BYTES_MAX: usize = 16 << 20;
/// Rows wait for their chunk to fill up to this many bytes, then become smaller chunks.
const WAITING_BYTES_MAX: usize = 48 << 20;
/// A chunk of fewer rows is encoded by the caller: handing it over would cost more.
const INLINE_ROWS_MAX: usize = 4_096;
/// How often a commit follows definitions that change while it is under way.
const ATTEMPTS_MAX: usize = 20;
/// Rows that become visible together. Dropped without [`commit`](Self::commit), nothing of it stays but strings
/// in dictionaries.
pub struct Batch {
    pub(crate) handle: Handle,
    id: Option<BatchId>,
    /// Whether a batch of this id was found to be committed: then this one does nothing.
    pub(crate) was_sent: bool,
    pub(crate) writers: BTreeMap<TableId, TableWriter>,
    pub(crate) stage: Option<StageId>,
    /// Encoded chunks that are not written ahead.
    pub(crate) own: Vec<OwnChunk>,
    pub(crate) own_bytes: usize,
    pub(crate) changes: Changes,
    /// What one may return to.
    pub(crate) marks: Vec<Mark>,
    /// Rows of tables with keys, before they go on.
    pub(crate) keyed: KeyedTables,
    /// What becomes of tables in memory.
    pub(crate) drafts: BatchDrafts,
    pub(crate) outstanding: usize,
    sender: Sender<Result<Option<NewChunk>>>,
    pub(crate) receiver: Receiver<Result<Option<NewChunk>>>,
    pub(crate) row_count: u64,
    /// Whether an error has left half of some work in the batch: it can then be dropped, or returned to a mark.
    pub(crate) is_half_done: bool,
}

impl Batch {
    pub(crate) fn new(handle: Handle, id: Option<BatchId>) -> Self {
        let (sender, receiver) = channel();
        Self {
            handle,
            id,
            was_sent: false,
            writers: BTreeMap::new(),
            stage: None,
            own: Vec::new(),
            own_bytes: 0,
            changes: Changes::default(),
            marks: Vec::new(),
            keyed: KeyedTables::default(),
            drafts: BatchDrafts::default(),
            outstanding: 0,
            sender,
            receiver,
            row_count: 0,
            is_half_done: false,
        }
    }

    /// Creates a table that appears with the commit.
    pub fn create_table(&mut self, definition: &TableDefinition) -> Result<Table> {
        self.check_name(&definition.name)?;
        let stage = self.open_stage()?;
        let table = self.handle.shared.store.create_table(definition, Some(stage))?;
        self.changes.note_created(&table);
        Ok(table)
    }

    /// Adds rows. Columns are found by name; nullable ones may be missing; types are converted where nothing is
    /// lost. Times come in any order. Rows that do not fit the table are refused together, and leave the batch as it was;
    /// after any other error it cannot be committed.
    pub fn append(&mut self, table: &Table, rows: &RecordBatch) -> Result<()> {
        self.append_with(table, rows, table.definition.on_conflict)
    }

    /// The same with another policy than the table's for rows whose key is there already.
    pub fn append_with(&mut self, table: &Table, rows: &RecordBatch, policy: ConflictPolicy) -> Result<()> {
        if self.was_sent {
            return Ok(());
        }
        let done = self.append_present(table, rows, policy);
        self.unless_sent(done)
    }

    fn append_present(&mut self, table: &Table, rows: &RecordBatch, policy: ConflictPolicy) -> Result<()> {
        let newer = self.present(table)?;
        let table = newer.as_ref().unwrap_or(table);
        let was_half_done = self.is_half_done;
        match self.append_under(table, rows, policy) {
            // What was refused may be right under a definition that came meanwhile.
            Err(error) => match self.look_for_newer(table)? {
                Some(newer) => {
                    // What was refused for its definition, or a dictionary that was full under it, left nothing.
                    let is_clean = matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Limit);
                    self.is_half_done &= was_half_done || !is_clean;
                    self.append_under(&newer, rows, policy)
                }
                None => Err(error),
            },
            done => done,
        }
    }

    fn append_under(&mut self, table: &Table, rows: &RecordBatch, policy: ConflictPolicy) -> Result<()> {
        self.check_writable(table)?;
        let columns = coerce(&table.definition, rows)?;
        let shared = Arc::clone(&self.handle.shared);
        let stored = self.writer(table).and_then(|writer| writer.map_strings(&shared, columns));
        let stored = self.note_half_done(stored)?;
        self.push_with(table, stored, rows.num_rows(), policy)
    }

    /// Adds rows of which it is known that no other has their keys.
    pub(crate) fn append_settled(&mut self, table: &Table, rows: &RecordBatch) -> Result<()> {
        let columns = coerce(&table.definition, rows)?;
        let row_count = rows.num_rows();
        let shared = Arc::clone(&self.handle.shared);
        let columns = self.writer(table)?.map_strings(&shared, columns)?;
        let rows = self.stored_rows(table, columns, row_count)?;
        self.push_settled(table, rows)
    }

    /// Values for one column, by position, in stored form. Types are converted where nothing is lost; strings of a
    /// mapped column go into its dictionary. Errors do not say which row it is.
    pub fn stored(&mut self, table: &Table, position: usize, values: &ArrayRef) -> Result<ArrayRef> {
        let Some(column) = table.definition.columns.get(position) else {
            return Err(Error::usage(format!("table {} has no column {position}", table.definition.name)));
        };
        let values = coerce_column(&table.definition, column, values, Rows::Unnumbered)?;
        let shared = Arc::clone(&self.handle.shared);
        self.writer(table)?.map_column(&shared, position, values)
    }

    /// Adds rows whose columns are all in stored form, in the table's order.
    pub fn append_stored(&mut self, table: &Table, columns: Vec<ArrayRef>, row_count: usize) -> Result<()> {
        self.push_stored(table, columns, row_count)
    }

    /// Gives the batch its id.
    pub(crate) fn name(&mut self, id: Option<BatchId>) {
        self.id = id;
    }

    /// Rows added so far.
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Adds columns in stored form.
    pub(crate) fn push_stored(&mut self, table: &Table, columns: Vec<ArrayRef>, row_count: usize) -> Result<()> {
        self.push_with(table, columns, row_count, table.definition.on_conflict)
    }

    fn push_with(
        &mut self,
        table: &Table,
        columns: Vec<ArrayRef>,
        row_count: usize,
        policy: ConflictPolicy,
    ) -> Result<()> {
        if self.was_sent {
            return Ok(());
        }
        let done = self.push_mapped(table, columns, row_count, policy);
        let done = self.unless_sent(done);
        self.note_half_done(done)
    }

    fn push_mapped(
        &mut self,
        table: &Table,
        columns: Vec<ArrayRef>,
        row_count: usize,
        policy: ConflictPolicy,
    ) -> Result<()> {
        if table.definition.is_in_memory() {
            self.row_count += row_count as u64;
            return self.draft(table)?.append(columns, row_count, policy);
        }
        let rows = self.stored_rows(table, columns, row_count)?;
        match table.definition.has_unique() {
            true => self.push_keyed(table, rows, policy),
            false => self.push_rows(table, rows),
        }
    }

    fn stored_rows(&mut self, table: &Table, columns: Vec<ArrayRef>, row_count: usize) -> Result<RecordBatch> {
        self.check_writable(table)?;
        self.row_count += row_count as u64;
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(row_count));
        let schema = Arc::clone(&self.writer(table)?.schema);
        RecordBatch::try_new_with_options(schema, columns, &options).map_err(internal)
    }

    /// Remembers an error that may have left half of some work in the batch.
    pub(crate) fn note_half_done<T>(&mut self, done: Result<T>) -> Result<T> {
        self.is_half_done |= done.is_err();
        done
    }

    /// Sends rows on their way into chunks.
    pub(crate) fn push_rows(&mut self, table: &Table, rows: RecordBatch) -> Result<()> {
        let done = self.push_into_chunks(table, rows);
        self.note_half_done(done)
    }

    fn push_into_chunks(&mut self, table: &Table, rows: RecordBatch) -> Result<()> {
        let writer = self.writer(table)?;
        let definition = Arc::clone(&writer.definition);
        let full = writer.slices.push(&definition, rows)?;
        for chunk in full {
            self.encode(table.id, &definition, chunk)?;
        }
        let waiting: usize = self.writers.values().map(|writer| writer.slices.byte_count()).sum();
        if waiting > WAITING_BYTES_MAX { self.drain() } else { Ok(()) }
    }

    /// Makes everything visible, in one step. With [`CommitOutcome::Duplicate`] a batch of the same id had been
    /// committed before, and this one is dropped. After an error nothing is stored.
    pub fn commit(self) -> Result<CommitOutcome> {
        if self.was_sent {
            return Ok(CommitOutcome::Duplicate);
        }
        let (shared, id) = (Arc::clone(&self.handle.shared), self.id.clone());
        match self.commit_unsent() {
            Err(error) if shared.was_sent(id.as_ref(), &error) => Ok(CommitOutcome::Duplicate),
            done => done,
        }
    }

    fn commit_unsent(mut self) -> Result<CommitOutcome> {
        if self.is_half_done {
            return Err(Error::usage("the batch had failed: nothing of it is stored").with_hint("begin a new one"));
        }
        let mut drafts = std::mem::take(&mut self.drafts);
        // Always taken before the turn of tables in memory.
        let turns = self.turns();
        let _turns: Vec<_> = turns.iter().map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        if drafts.is_empty() {
            return self.commit_in_turn();
        }
        let shared = Arc::clone(&self.handle.shared);
        self.count_kept_out(drafts.settle()?);
        drafts.commit(&shared.residents, || self.commit_in_turn(), |outcome| *outcome == CommitOutcome::Committed)
    }

    /// Ignores that rows were refused if the batch was committed before, and from then on all further rows.
    pub(crate) fn unless_sent(&mut self, done: Result<()>) -> Result<()> {
        let shared = Arc::clone(&self.handle.shared);
        match done {
            Err(error) if shared.was_sent(self.id.as_ref(), &error) => {
                self.was_sent = true;
                Ok(())
            }
            done => done,
        }
    }

    /// One attempt to commit.
    pub(crate) fn commit_once(&mut self) -> Result<CommitOutcome> {
        self.settle()?;
        self.marks.clear();
        self.give_up_hidden()?;
        let stage = self.stage.take();
        if stage.is_none() && self.own.is_empty() && self.id.is_none() && self.changes.is_empty() {
            return Ok(CommitOutcome::Committed);
        }
        // A snapshot that is still held keeps its own copy.
        let own = std::mem::take(&mut self.own).into_iter();
        let add = own.map(|own| Arc::try_unwrap(own.chunk).unwrap_or_else(|shared| (*shared).clone())).collect();
        let mut change = Change { batch: self.id.clone(), stage, add, ..Change::default() };
        let only_appends = !self.changes.has_looked();
        self.changes.fill(&mut change);
        let shared = Arc::clone(&self.handle.shared);
        for _ in 0..ATTEMPTS_MAX {
            let refused = match shared.commit(change, self.changes.created()) {
                Ok(outcome) => {
                    self.changes.dropped().iter().for_each(|table| shared.forget(*table));
                    self.handle.shared.maintenance.nudge();
                    return Ok(outcome);
                }
                Err(refused) => refused,
            };
            change = *refused.change;
            let is_conflict = refused.error.kind() == ErrorKind::Conflict;
            if !is_conflict || !only_appends || !self.follow_definitions(&mut change)? {
                self.stage = stage;
                return Err(refused.error);
            }
        }
        self.stage = stage;
        Err(Error::new(ErrorKind::Conflict, "the definitions of its tables change all the time").with_hint("try again"))
    }

    /// The writer of a table. What it writes is based on the table's definition.
    fn writer(&mut self, table: &Table) -> Result<&mut TableWriter> {
        self.changes.name_definition(table)?;
        let writer = self.writers.entry(table.id).or_insert_with(|| TableWriter::new(table));
        if writer.version != table.version {
            // One that has no rows: those of another definition are refused above.
            *writer = TableWriter::new(table);
        }
        Ok(writer)
    }

    fn open_stage(&mut self) -> Result<StageId> {
        match self.stage {
            Some(stage) => Ok(stage),
            None => {
                let shared = &self.handle.shared;
                let stage = shared.store.open_stage(shared.environment.now_ms())?;
                self.stage = Some(stage);
                Ok(stage)
            }
        }
    }

    /// Turns every row that waits into chunks, and waits for their encoding.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let done = self.settle_keys().and_then(|()| self.log_removed()).and_then(|()| self.drain());
        self.note_half_done(done)?;
        while self.outstanding > 0 {
            self.receive()?;
        }
        Ok(())
    }

    /// Takes the rows of a table out of what waits and of what is in memory.
    pub(crate) fn forget_rows(&mut self, table: TableId) {
        self.keyed.forget(table);
        self.writers.remove(&table);
        self.own.retain(|own| own.chunk.table != table);
    }

    /// Rows that come from now on keep to the definition that comes with them. None may wait.
    pub(crate) fn forget_writer(&mut self, table: TableId) {
        self.keyed.forget(table);
        self.writers.remove(&table);
    }

    /// Whether rows wait, or became chunks.
    pub(crate) fn has_rows(&self) -> bool {
        let waits = self.writers.values().any(|writer| writer.slices.byte_count() > 0);
        waits || self.outstanding > 0 || !self.own.is_empty() || self.stage.is_some()
    }

    /// Forgets all but the rows of tables with keys that are not settled: the batch begins anew.
    pub(crate) fn start_anew(&mut self) -> Result<()> {
        self.is_half_done = false;
        self.own.clear();
        self.own_bytes = 0;
        self.changes = Changes::default();
        match self.stage.take() {
            Some(stage) => self.handle.shared.store.abandon_stage(stage),
            None => Ok(()),
        }
    }

    /// Turns every row that waits into chunks.
    fn drain(&mut self) -> Result<()> {
        let mut chunks = Vec::new();
        for writer in self.writers.values_mut() {
            let definition = Arc::clone(&writer.definition);
            chunks
                .extend(writer.slices.drain()?.into_iter().map(|chunk| (writer.table, Arc::clone(&definition), chunk)));
        }
        chunks.into_iter().try_for_each(|(table, definition, chunk)| self.encode(table, &definition, chunk))
    }

    pub(crate) fn encode(&mut self, table: TableId, definition: &Arc<TableDefinition>, chunk: ChunkRows) -> Result<()> {
        if chunk.rows.num_rows() <= INLINE_ROWS_MAX {
            let uid = self.handle.shared.environment.chunk_uid()?;
            let encoded = encode_fresh(table, definition, uid, &chunk)?;
            self.handle.shared.preload_rows(definition, uid, &chunk);
            return self.keep(encoded);
        }
        while self.outstanding > self.handle.shared.workers.thread_count() {
            self.receive()?;
        }
        let (shared, sender) = (Arc::clone(&self.handle.shared), self.sender.clone());
        let (definition, stage) = (Arc::clone(definition), self.stage);
        self.outstanding += 1;
        self.handle.shared.workers.submit(Box::new(move || {
            let work = || encode_and_stage(&shared, table, &definition, &chunk, stage);
            let result = catch_unwind(AssertUnwindSafe(work));
            let result = result.unwrap_or_else(|_| Err(Error::internal("encoding a chunk panicked")));
            // Nobody listens when the batch has failed meanwhile.
            let _ = sender.send(result);
        }));
        Ok(())
    }

    fn receive(&mut self) -> Result<()> {
        let result = self.receiver.recv().map_err(|_| Error::internal("the workers are gone"))?;
        self.outstanding -= 1;
        match self.note_half_done(result)? {
            Some(chunk) => self.keep(chunk),
            None => Ok(()),
        }
    }

    /// Keeps an encoded chunk in memory; too many are written ahead.
    pub(crate) fn keep(&mut self, chunk: NewChunk) -> Result<()> {
        self.own_bytes += chunk.pages.iter().map(Vec::len).sum::<usize>() + chunk.descriptor_bytes.len();
        self.own_chunk(chunk);
        if self.own_bytes <= ENCODED_BYTES_MAX {
            return Ok(());
        }
        let written = self.write_ahead();
        self.note_half_done(written)
    }

    fn write_ahead(&mut self) -> Result<()> {
        let stage = self.open_stage()?;
        self.own_bytes = 0;
        let own = std::mem::take(&mut self.own).into_iter();
        let chunks = own.map(|own| Arc::try_unwrap(own.chunk).unwrap_or_else(|shared| (*shared).clone())).collect();
        let shared = &self.handle.shared;
        shared.store.stage(stage, chunks, shared.environment.now_ms())
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        while self.outstanding > 0 && self.receiver.recv().is_ok() {
            self.outstanding -= 1;
        }
        if let Some(stage) = self.stage {
            // What stays is reclaimed when the stage has been idle for long.
            let _ = self.handle.shared.store.abandon_stage(stage);
            self.handle.shared.give_back();
        }
    }
}

fn encode_and_stage(
    shared: &Shared,
    table: TableId,
    definition: &TableDefinition,
    chunk: &ChunkRows,
    stage: Option<StageId>,
) -> Result<Option<NewChunk>> {
    let uid = shared.environment.chunk_uid()?;
    let encoded = encode_fresh(table, definition, uid, chunk)?;
    shared.preload_rows(definition, uid, chunk);
    match stage {
        None => Ok(Some(encoded)),
        Some(stage) => shared.store.stage(stage, vec![encoded], shared.environment.now_ms()).map(|()| None),
    }
}
