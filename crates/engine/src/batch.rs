//! A batch: rows of any number of tables that one commit makes visible, all or none, however many they are.
//!
//! Full chunks are encoded by the workers while the caller goes on. A small batch is kept in memory and committed
//! in one step; a large one writes its chunks ahead into a stage that nobody sees.

use crate::change::Changes;
use crate::coerce::{Rows, coerce, coerce_column};
use crate::definitions::{changed_meanwhile, takes_rows_of};
use crate::encode::encode_fresh;
use crate::engine::{Engine, Shared};
use crate::interner::Interner;
use crate::keys::KeyedTables;
use crate::overlay::OwnChunk;
use crate::savepoint::Mark;
use crate::slice_buffer::{ChunkRows, SliceBuffer, internal};
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, RecordBatch};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{Schema, SchemaRef, UInt8Type, UInt16Type, UInt32Type};
use atsdb_codec::stored_type;
use atsdb_core::{
    BatchId, Change, Column, ConflictPolicy, DefinitionVersion, Error, ErrorKind, MapWidth, NewChunk, Outcome, Result,
    StageId, Table, TableDefinition, TableId,
};
use atsdb_resident::Drafts;
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
/// An interner with more bytes starts anew.
const INTERNER_BYTES_MAX: usize = 32 << 20;

/// Rows that become visible together. Dropped without [`commit`](Self::commit), nothing of it stays but strings
/// in dictionaries.
pub struct Batch {
    pub(crate) engine: Engine,
    id: Option<BatchId>,
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
    pub(crate) drafts: Drafts,
    pub(crate) outstanding: usize,
    sender: Sender<Result<Option<NewChunk>>>,
    pub(crate) receiver: Receiver<Result<Option<NewChunk>>>,
    pub(crate) row_count: u64,
    /// Whether an error has left half of some work in the batch: it can then be dropped, or returned to a mark.
    pub(crate) is_half_done: bool,
}

/// The rows of one table that wait.
pub(crate) struct TableWriter {
    table: TableId,
    version: DefinitionVersion,
    definition: Arc<TableDefinition>,
    schema: SchemaRef,
    interners: Vec<Option<Interner>>,
    slices: SliceBuffer,
}

impl Batch {
    pub(crate) fn new(engine: Engine, id: Option<BatchId>) -> Self {
        let (sender, receiver) = channel();
        Self {
            engine,
            id,
            writers: BTreeMap::new(),
            stage: None,
            own: Vec::new(),
            own_bytes: 0,
            changes: Changes::default(),
            marks: Vec::new(),
            keyed: KeyedTables::default(),
            drafts: Drafts::default(),
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
        let table = self.engine.shared.store.create_table(definition, Some(stage))?;
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
        let shared = Arc::clone(&self.engine.shared);
        let stored = self.writer(table).and_then(|writer| writer.map_strings(&shared, columns));
        let stored = self.note_half_done(stored)?;
        self.push_with(table, stored, rows.num_rows(), policy)
    }

    /// Adds rows of which it is known that no other has their keys.
    pub(crate) fn append_settled(&mut self, table: &Table, rows: &RecordBatch) -> Result<()> {
        let columns = coerce(&table.definition, rows)?;
        let row_count = rows.num_rows();
        let shared = Arc::clone(&self.engine.shared);
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
        let shared = Arc::clone(&self.engine.shared);
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

    /// Adds columns in stored form under the newest definition that the appender knows.
    pub(crate) fn push_appended(&mut self, table: &Table, columns: Vec<ArrayRef>, row_count: usize) -> Result<()> {
        if self.changes.present_version(table.id).is_some_and(|present| present < table.version) {
            self.move_writer(table)?;
        }
        self.push_stored(table, columns, row_count)
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
        let done = self.push_mapped(table, columns, row_count, policy);
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

    /// Makes everything visible, in one step. With [`Outcome::Duplicate`] a batch of the same id had been
    /// committed before, and this one is dropped. After an error nothing is stored.
    pub fn commit(mut self) -> Result<Outcome> {
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
        let shared = Arc::clone(&self.engine.shared);
        self.count_kept_out(drafts.settle()?);
        drafts.commit(&shared.residents, || self.commit_in_turn(), |outcome| *outcome == Outcome::Committed)
    }

    /// One attempt to commit.
    pub(crate) fn commit_once(&mut self) -> Result<Outcome> {
        self.settle()?;
        self.marks.clear();
        self.give_up_hidden()?;
        let stage = self.stage.take();
        if stage.is_none() && self.own.is_empty() && self.id.is_none() && self.changes.is_empty() {
            return Ok(Outcome::Committed);
        }
        // A snapshot that is still held keeps its own copy.
        let own = std::mem::take(&mut self.own).into_iter();
        let add = own.map(|own| Arc::try_unwrap(own.chunk).unwrap_or_else(|shared| (*shared).clone())).collect();
        let mut change = Change { batch: self.id.clone(), stage, add, ..Change::default() };
        let only_appends = !self.changes.has_looked();
        self.changes.fill(&mut change);
        let shared = Arc::clone(&self.engine.shared);
        for _ in 0..ATTEMPTS_MAX {
            let refused = match shared.commit(change, self.changes.created()) {
                Ok(outcome) => {
                    self.changes.dropped().iter().for_each(|table| shared.forget(*table));
                    self.engine.nudge_maintenance();
                    return Ok(outcome);
                }
                Err(refused) => refused,
            };
            change = refused.change;
            let is_conflict = refused.error.kind() == ErrorKind::Conflict;
            if !is_conflict || !only_appends || !self.follow_definitions(&mut change)? {
                self.stage = stage;
                return Err(refused.error);
            }
        }
        self.stage = stage;
        Err(Error::new(ErrorKind::Conflict, "the definitions of its tables change all the time").with_hint("try again"))
    }

    /// The definition under which rows go on their way, if it is not the one in the caller's hand: that of what the batch
    /// looked at, or else the newest that was seen.
    fn present(&mut self, table: &Table) -> Result<Option<Table>> {
        let present = self.changes.present_version(table.id);
        if let Some(base) = self.changes.looked_at() {
            let is_own = present == Some(table.version) || self.changes.has_created(table.id);
            return match is_own {
                true => Ok(None),
                false => Ok(self.changes.tables(base).into_iter().find(|own| own.id == table.id)),
            };
        }
        match self.engine.shared.definitions.newer_than(table) {
            Some(newer) => {
                self.move_writer(&newer)?;
                Ok(Some(Table::clone(&newer)))
            }
            None if present.is_some_and(|present| present < table.version) => self.move_writer(table).map(|()| None),
            None => Ok(None),
        }
    }

    /// Looks whether a table has a newer definition by now, for a batch that has only appended.
    fn look_for_newer(&mut self, table: &Table) -> Result<Option<Table>> {
        if self.changes.has_looked() {
            return Ok(None);
        }
        let newer = self.engine.snapshot()?.table_by_id(table.id).filter(|now| now.version > table.version).cloned();
        if let Some(newer) = &newer {
            self.move_writer(newer)?;
        }
        Ok(newer)
    }

    /// Rows of a table that come from now on keep to a newer definition; those that came before stay if they are right
    /// under it.
    fn move_writer(&mut self, newer: &Table) -> Result<()> {
        if self.changes.looked_at().is_some() || self.changes.present_version(newer.id) == Some(newer.version) {
            return Ok(());
        }
        if self.drafts.has(newer.id) {
            return Err(changed_meanwhile(&newer.definition));
        }
        if let Some(writer) = self.writers.get_mut(&newer.id).filter(|writer| writer.version != newer.version) {
            let definition = Arc::clone(&writer.definition);
            let waiting = writer.slices.drain()?;
            self.writers.remove(&newer.id);
            if self.keyed.has_waiting(newer.id) || !takes_rows_of(&newer.definition, &definition) {
                return Err(changed_meanwhile(&definition));
            }
            for chunk in waiting {
                self.encode(newer.id, &definition, chunk)?;
            }
        }
        self.changes.move_definition(newer.id, newer.version);
        Ok(())
    }

    /// Names the present definitions in a change that only adds rows, if those that it was made under have changed and
    /// its rows are right under them as they are. Says whether it is worth another attempt.
    fn follow_definitions(&self, change: &mut Change) -> Result<bool> {
        let snapshot = self.engine.snapshot()?;
        let mut has_changed = false;
        for based_on in &mut change.based_on {
            let Some(writer) = self.writers.get(&based_on.table) else { return Ok(false) };
            let Some(now) = snapshot.table_by_id(based_on.table) else {
                return Err(Error::not_found(format!("table {} was dropped", writer.definition.name)));
            };
            if now.version == based_on.version {
                continue;
            }
            if !takes_rows_of(&now.definition, &writer.definition) {
                return Err(changed_meanwhile(&writer.definition));
            }
            based_on.version = now.version;
            has_changed = true;
        }
        Ok(has_changed)
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
                let shared = &self.engine.shared;
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
            Some(stage) => self.engine.shared.store.abandon_stage(stage),
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

    fn encode(&mut self, table: TableId, definition: &Arc<TableDefinition>, chunk: ChunkRows) -> Result<()> {
        if chunk.rows.num_rows() <= INLINE_ROWS_MAX {
            let uid = self.engine.shared.environment.chunk_uid()?;
            let encoded = encode_fresh(table, definition, uid, &chunk)?;
            self.engine.shared.preload_rows(definition, uid, &chunk);
            return self.keep(encoded);
        }
        while self.outstanding > self.engine.shared.workers.thread_count() {
            self.receive()?;
        }
        let (shared, sender) = (Arc::clone(&self.engine.shared), self.sender.clone());
        let (definition, stage) = (Arc::clone(definition), self.stage);
        self.outstanding += 1;
        self.engine.shared.workers.submit(Box::new(move || {
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
        let shared = &self.engine.shared;
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
            let _ = self.engine.shared.store.abandon_stage(stage);
            self.engine.give_back();
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

impl TableWriter {
    fn new(table: &Table) -> Self {
        let definition = Arc::new(table.definition.clone());
        let field = |column: &Column| arrow::datatypes::Field::new(&column.name, stored_type(column), column.nullable);
        let schema = Arc::new(Schema::new(definition.columns.iter().map(field).collect::<Vec<_>>()));
        let interners = definition.columns.iter().map(|_| None).collect();
        Self { table: table.id, version: table.version, definition, schema, interners, slices: SliceBuffer::default() }
    }

    /// Logical arrays to stored ones: mapped strings to indices.
    fn map_strings(&mut self, shared: &Shared, columns: Vec<ArrayRef>) -> Result<Vec<ArrayRef>> {
        columns.into_iter().enumerate().map(|(position, array)| self.map_column(shared, position, array)).collect()
    }

    fn map_column(&mut self, shared: &Shared, position: usize, array: ArrayRef) -> Result<ArrayRef> {
        let definition = Arc::clone(&self.definition);
        let column = &definition.columns[position];
        let Some(width) = column.map else { return Ok(array) };
        let interner = self.interners[position].get_or_insert_with(Interner::new);
        let (numbers, nulls) = intern_array(interner, &array)?;
        map_numbers(shared, self.table, &definition, column, width, interner, &numbers, nulls)
    }
}

/// The local numbers of a string or dictionary array.
fn intern_array(interner: &mut Interner, array: &ArrayRef) -> Result<(Vec<u32>, Option<NullBuffer>)> {
    if let Some(strings) = array.as_string_opt::<i32>() {
        let numbers = strings.iter().map(|text| text.map_or(0, |text| interner.intern(text.as_bytes()))).collect();
        return Ok((numbers, strings.nulls().cloned()));
    }
    let Some(dictionary) = array.as_any_dictionary_opt() else {
        return Err(Error::internal(format!("{} for a mapped column", array.data_type())));
    };
    let nulls = array.logical_nulls();
    let strings = dictionary.values().as_string::<i32>();
    if strings.is_empty() {
        // Every row is NULL.
        return Ok((vec![0; array.len()], nulls));
    }
    let keys = dictionary.normalized_keys();
    // Only the strings that rows use go into the dictionary.
    let mut number_of = vec![None; strings.len()];
    let number = |(row, key): (usize, &usize)| {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return 0;
        }
        *number_of[*key].get_or_insert_with(|| interner.intern(strings.value(*key).as_bytes()))
    };
    let numbers = keys.iter().enumerate().map(number).collect();
    Ok((numbers, nulls))
}

/// Local numbers to the store's indices, as an array of the column's stored type.
#[allow(clippy::too_many_arguments, reason = "the parts of one column on its way in, each named")]
pub(crate) fn map_numbers(
    shared: &Shared,
    table: TableId,
    definition: &TableDefinition,
    column: &Column,
    width: MapWidth,
    interner: &mut Interner,
    numbers: &[u32],
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let unresolved = interner.unresolved();
    if !unresolved.is_empty() {
        let dictionary = shared.dictionaries.get(table, column.id);
        let store = shared.store.as_ref();
        let resolved = dictionary
            .check_room(store, &unresolved)
            .map_err(|error| explain_large(error, definition, column))
            .and_then(|()| {
                let resolved = dictionary.indices(store, width, &unresolved);
                resolved.map_err(|error| explain_full(error, definition, column, width))
            });
        match resolved {
            Ok(resolved) => interner.resolve(&resolved),
            Err(error) => {
                // Strings that got no index must not be asked for again with those of other rows.
                *interner = Interner::new();
                return Err(error);
            }
        }
    }
    let array = match width {
        MapWidth::U8 => gather::<UInt8Type>(definition, interner.indices(), numbers, nulls),
        MapWidth::U16 => gather::<UInt16Type>(definition, interner.indices(), numbers, nulls),
        MapWidth::U32 => gather::<UInt32Type>(definition, interner.indices(), numbers, nulls),
    };
    if interner.byte_count() > INTERNER_BYTES_MAX {
        *interner = Interner::new();
    }
    array
}

fn gather<T: ArrowPrimitiveType>(
    definition: &TableDefinition,
    indices: &[u32],
    numbers: &[u32],
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef>
where
    T::Native: TryFrom<u32>,
{
    // Only a column that was made wider meanwhile has larger indices.
    let narrow = |index: &u32| T::Native::try_from(*index).map_err(|_| changed_meanwhile(definition));
    let narrowed: Vec<T::Native> = indices.iter().map(narrow).collect::<Result<_>>()?;
    // The place of a NULL holds number 0, which may stand for no string.
    let values: Vec<T::Native> =
        numbers.iter().map(|number| narrowed.get(*number as usize).copied().unwrap_or_default()).collect();
    Ok(Arc::new(PrimitiveArray::<T>::try_new(ScalarBuffer::from(values), nulls).map_err(internal)?))
}

fn explain_large(error: Error, definition: &TableDefinition, column: &Column) -> Error {
    let (table, name) = (&definition.name, &column.name);
    match error.kind() {
        ErrorKind::Limit => error
            .context(format_args!("table {table}: the dictionary of column {name} is full"))
            .with_hint(format!("declare {name} as plain TEXT, without map")),
        _ => error.context(format_args!("table {table}, column {name}")),
    }
}

fn explain_full(error: Error, definition: &TableDefinition, column: &Column, width: MapWidth) -> Error {
    if error.kind() != ErrorKind::Limit {
        return error.context(format_args!("table {}, column {}", definition.name, column.name));
    }
    let wider = match width {
        MapWidth::U8 => format!("declare it wider: map = '{}:u16'", column.name),
        MapWidth::U16 => format!("declare it wider: map = '{}:u32'", column.name),
        MapWidth::U32 => format!("declare {} as plain TEXT, without map", column.name),
    };
    let message = format!(
        "table {}: the dictionary of column {} is full: {width} takes {} different strings",
        definition.name,
        column.name,
        width.capacity()
    );
    Error::new(ErrorKind::Limit, message).with_hint(wider)
}
