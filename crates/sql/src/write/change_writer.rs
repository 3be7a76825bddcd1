//! Applies an `UPDATE` or `DELETE` to a batch: changed rows are collected by chunk, chunks are rewritten by threads,
//! and the old chunks are replaced. If a plan reads chunks in order, a chunk is rewritten as soon as its rows are
//! complete; otherwise when all rows are known.

use super::assign::{assign, plain};
use super::chunk_change::{ChunkChange, PartialChange, Successor, successor};
use super::earlier_changes::EarlierChanges;
use super::insert::append_named;
use super::returning_rows::ReturningRows;
use crate::dml::change::{Change, ChangeKind};
use crate::run::answer::AnswerRows;
use crate::run::interrupt::Interrupt;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Field, Schema, UInt32Type};
use atsdb_core::{ConflictPolicy, Error, ErrorKind, Result};
use atsdb_engine::{Batch, Scan};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// The resources that a change may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) threads: usize,
    pub(crate) memory_bytes: usize,
}

/// Applies one change.
pub(crate) struct ChangeWriter<'a> {
    batch: &'a mut Batch,
    change: &'a Change,
    limits: Limits,
    interrupt: &'a Interrupt,
    /// The changes of earlier parts of the statement, if it has several.
    earlier: Option<&'a mut EarlierChanges>,
    /// Changes of chunks, by position in the scan.
    pending: BTreeMap<usize, ChunkChange>,
    pending_bytes: usize,
    /// The chunk whose rows are being read, for each partition of a plan in order.
    open: Vec<Option<usize>>,
    /// Rows to add after all old ones have been removed.
    moved: Vec<RecordBatch>,
    row_count: u64,
    /// The new rows, or the removed ones, if `RETURNING` needs them.
    returned: ReturningRows,
}

/// The result of a change.
pub(crate) struct ChangedRows {
    pub(crate) row_count: u64,
    /// The rows for `RETURNING`: the new ones, or the removed ones.
    pub(crate) returned: Vec<RecordBatch>,
}

type Running<'scope> = VecDeque<(usize, ScopedJoinHandle<'scope, Result<(Successor, u64)>>)>;

impl<'a> ChangeWriter<'a> {
    pub(crate) fn new(batch: &'a mut Batch, change: &'a Change, limits: Limits, interrupt: &'a Interrupt) -> Self {
        let in_order = change.source.as_ref().and_then(|source| source.partitions_in_order);
        Self {
            batch,
            change,
            limits,
            interrupt,
            earlier: None,
            pending: BTreeMap::new(),
            pending_bytes: 0,
            open: vec![None; in_order.unwrap_or(0)],
            moved: Vec::new(),
            row_count: 0,
            returned: ReturningRows::default(),
        }
    }

    /// Leaves out the rows that earlier parts of the statement have changed.
    pub(crate) fn after(self, earlier: Option<&'a mut EarlierChanges>) -> Self {
        Self { earlier, ..self }
    }

    /// Applies the change, and returns the number of changed rows.
    pub(crate) fn run(mut self, mut rows: AnswerRows) -> Result<ChangedRows> {
        let Some(source) = &self.change.source else {
            // Nothing is read, so nothing can change, but the query may still fail.
            rows.try_for_each(|rows| rows.map(|_| ()))?;
            return Ok(ChangedRows { row_count: 0, returned: Vec::new() });
        };
        let scan = source.scan.as_ref();
        std::thread::scope(|scope| -> Result<()> {
            let mut running = Running::new();
            for rows in rows {
                let rows = self.unchanged(rows?, scan)?;
                let complete = self.gather(&rows)?;
                complete.into_iter().try_for_each(|position| self.begin(scope, &mut running, scan, position))?;
            }
            while let Some((position, _)) = self.pending.first_key_value() {
                let position = *position;
                self.begin(scope, &mut running, scan, position)?;
            }
            while !running.is_empty() {
                self.finish(&mut running, scan)?;
            }
            Ok(())
        })?;
        for rows in std::mem::take(&mut self.moved) {
            self.append(rows)?;
        }
        Ok(ChangedRows { row_count: self.row_count, returned: self.returned.rows })
    }

    /// The rows that no earlier part of the statement has changed.
    fn unchanged(&self, rows: RecordBatch, scan: &Scan) -> Result<RecordBatch> {
        let Some(earlier) = &self.earlier else { return Ok(rows) };
        let (chunks, numbers) = places_of(&rows)?;
        let is_unchanged = |(position, number): (&u32, &u32)| {
            let chunk = scan.chunks().get(*position as usize);
            Some(chunk.is_none_or(|chunk| !earlier.have(chunk.entry.id, *number)))
        };
        let mask: BooleanArray = chunks.values().iter().zip(numbers.values()).map(is_unchanged).collect();
        Ok(filter_record_batch(&rows, &mask)?)
    }

    /// Adds rows to their chunks, and returns the chunks that are complete.
    fn gather(&mut self, rows: &RecordBatch) -> Result<Vec<usize>> {
        let (chunks, numbers) = places_of(rows)?;
        let values = self.values(rows, (chunks, numbers))?;
        let row_bytes = bytes_of(&values).div_ceil(rows.num_rows().max(1)) + size_of::<u32>();
        let (mut start, mut complete) = (0, Vec::new());
        for run in chunks.values().chunk_by(|a, b| a == b) {
            let position = run[0] as usize;
            complete.extend(self.opened(position));
            let piece = values.iter().map(|array| array.slice(start, run.len())).collect();
            let bytes = run.len() * row_bytes;
            let chunk = self.pending.entry(position).or_default();
            chunk.push(numbers.slice(start, run.len()), piece);
            chunk.bytes += bytes;
            self.pending_bytes += bytes;
            start += run.len();
        }
        if self.pending_bytes > self.limits.memory_bytes {
            let message = format!("{} {}: the changed rows do not fit into memory", self.change.verb, self.name());
            return Err(Error::new(ErrorKind::Resources, message)
                .with_hint("change fewer rows at a time, or give the session more memory"));
        }
        Ok(complete)
    }

    /// Notes that rows of this chunk have arrived. Returns the previous chunk of its partition, which is now complete.
    fn opened(&mut self, position: usize) -> Option<usize> {
        let partition_count = self.open.len();
        let open = self.open.get_mut(position.checked_rem(partition_count)?)?;
        match *open {
            Some(before) if before == position => None,
            _ => open.replace(position),
        }
    }

    /// The new values in the types of their columns: stored to be set, logical to be moved.
    fn values(&mut self, rows: &RecordBatch, places: (&UInt32Array, &UInt32Array)) -> Result<Vec<ArrayRef>> {
        let (table, definition) = (&self.change.table, &self.change.table.definition);
        let mut whole: Vec<Option<ArrayRef>> = vec![None; definition.columns.len()];
        let mut values = Vec::new();
        for (array, position) in rows.columns().iter().skip(2).zip(&self.change.columns) {
            let array = assign(definition, *position, &plain(array, &definition.columns[*position])?, None)?;
            if self.change.returning.is_some() || self.change.kind == ChangeKind::Move {
                whole[*position] = Some(self.batch.completed(table, *position, &array)?);
            }
            values.push(match self.change.kind {
                ChangeKind::Set => self.batch.stored(table, *position, &array)?,
                _ => array,
            });
        }
        self.pending_bytes += self.returned.keep(self.batch, self.change, whole, rows, places)?;
        Ok(values)
    }

    fn begin<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        running: &mut Running<'scope>,
        scan: &'scope Scan,
        position: usize,
    ) -> Result<()>
    where
        'a: 'scope,
    {
        let Some(mut chunk) = self.pending.remove(&position) else { return Ok(()) };
        // Rows that must wait until others are removed stay until the end, and so do those that later parts leave out.
        let waits = self.change.kind == ChangeKind::Move && !self.change.table.definition.unique.is_empty();
        if !waits && self.earlier.is_none() {
            self.pending_bytes -= chunk.bytes;
        }
        self.interrupt.check()?;
        while running.len() >= self.limits.threads.max(1) {
            self.finish(running, scan)?;
        }
        if self.change.kind == ChangeKind::Move {
            let mut pieces = Vec::new();
            for (numbers, values) in chunk.numbers.iter().zip(std::mem::take(&mut chunk.values)) {
                if values.is_empty() {
                    // Rows without new values are only removed.
                    self.batch.note_deleted(&self.change.table, (scan, position), numbers)?;
                } else {
                    pieces.push((numbers.clone(), self.named(values)?));
                }
            }
            self.batch.note_moved(&self.change.table, (scan, position), &pieces)?;
            self.moved.extend(pieces.into_iter().map(|(_, rows)| rows));
        }
        if self.change.kind == ChangeKind::Delete && !self.change.deletes() {
            let mut deleted = chunk.numbers.iter();
            deleted.try_for_each(|numbers| self.batch.note_deleted(&self.change.table, (scan, position), numbers))?;
        }
        let (change, own) = (self.change, PartialChange::of(self.change, chunk));
        let changes = match &mut self.earlier {
            Some(earlier) => earlier.add(scan.chunks()[position].entry.id, own),
            None => vec![own],
        };
        let rewrite = move || successor(&changes, change, scan, position);
        let handle = Builder::new().spawn_scoped(scope, rewrite).map_err(Error::no_thread)?;
        running.push_back((position, handle));
        Ok(())
    }

    /// Waits for the chunk that was started first.
    fn finish(&mut self, running: &mut Running<'_>, scan: &Scan) -> Result<()> {
        let Some((position, handle)) = running.pop_front() else { return Ok(()) };
        let rewritten = handle.join().map_err(|_| Error::internal("rewriting a chunk panicked"))?;
        let (successor, row_count) = rewritten?;
        self.row_count += row_count;
        let (table, chunk) = (&self.change.table, scan.chunks()[position].entry.id);
        let present = self.earlier.as_ref().map_or(Ok(chunk), |earlier| earlier.present(chunk))?;
        let successor = match successor {
            Successor::Chunk(new) => self.batch.replace(table, present, new)?,
            Successor::Rows(columns, row_count) => {
                self.batch.replace(table, present, None)?;
                self.batch.append_stored(table, columns, row_count)?;
                None
            }
        };
        if let Some(earlier) = &mut self.earlier {
            earlier.note_replaced(chunk, successor);
        }
        // If the table has keys, all old rows must be removed first.
        if table.definition.unique.is_empty() {
            std::mem::take(&mut self.moved).into_iter().try_for_each(|rows| self.append(rows))?;
        }
        Ok(())
    }

    fn append(&mut self, rows: RecordBatch) -> Result<()> {
        // A row whose new key exists already is an error: it is neither lost nor does it replace the other row.
        append_named(self.batch, &self.change.table, &self.change.columns, rows, ConflictPolicy::Error)
    }

    fn named(&self, values: Vec<ArrayRef>) -> Result<RecordBatch> {
        let definition = &self.change.table.definition;
        let field = |(array, position): (&ArrayRef, &usize)| {
            Field::new(&definition.columns[*position].name, array.data_type().clone(), true)
        };
        let fields: Vec<Field> = values.iter().zip(&self.change.columns).map(field).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), values).map_err(Error::from)
    }

    fn name(&self) -> &str {
        &self.change.table.definition.name
    }
}

/// The locations of rows: the position of the chunk in the scan, and the number of the row in it.
fn places_of(rows: &RecordBatch) -> Result<(&UInt32Array, &UInt32Array)> {
    let place = |column: usize| {
        let array = rows.columns().get(column).and_then(|array| array.as_primitive_opt::<UInt32Type>());
        array.ok_or_else(|| Error::internal("a row without a location"))
    };
    Ok((place(0)?, place(1)?))
}

/// The size of the values themselves in bytes, not of the arrays that they are slices of.
pub(super) fn bytes_of(values: &[ArrayRef]) -> usize {
    values.iter().map(|array| array.to_data().get_slice_memory_size().unwrap_or(0)).sum()
}
