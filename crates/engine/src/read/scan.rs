//! A planned read of one table: the chunks that can match, each of which any thread can read.

use crate::chunk::missing::missing_array;
use crate::read::bounds::ColumnBounds;
use crate::read::condition::{Condition, RowSelection, matching_strings};
use crate::read::index_pruning::IndexPruning;
use crate::read::predicate::Predicate;
use crate::read::scan_chunk::ScanChunk;
use crate::read::snapshot::{Inner, ReadSnapshot};
use crate::read::strings::{load_dictionary, with_strings};
use crate::shared::listed_tables::SharedTable;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray, UInt32Array};
use arrow::datatypes::{Field, Schema, SchemaRef};
use atsdb_codec::{logical_field, stored_type, to_logical};
use atsdb_core::{Bound, ChunkEntry, Column, Error, Result, Table, TableDefinition, TimeRange};
use std::fmt;
use std::sync::Arc;

/// The request of a scan.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanRequest {
    /// The columns to return, by position in the table's definition, in the order wanted.
    pub columns: Vec<usize>,
    /// The times of the rows, in the table's unit.
    pub range: TimeRange,
    /// Conditions that must all hold. Rows for which one is false or NULL may be left out.
    pub predicates: Vec<Predicate>,
    /// Whether decoded columns are taken from the cache and added to it. A single read of a whole table is better off
    /// without.
    pub use_cache: bool,
}

impl ScanRequest {
    /// All rows and columns of a table, without the cache.
    pub fn all(table: &Table) -> Self {
        let columns = (0..table.definition.columns.len()).collect();
        Self { columns, range: TimeRange::ALL, predicates: Vec::new(), use_cache: false }
    }
}

/// A planned read of one table. It holds its snapshot.
pub struct Scan {
    pub(crate) snapshot: Arc<Inner>,
    pub(crate) table: SharedTable,
    pub(super) request: ScanRequest,
    /// Whether each requested column is returned as indices.
    as_indices: Vec<bool>,
    schema: SchemaRef,
    chunks: Arc<[ScanChunk]>,
    /// The number of chunks that were listed.
    pub(crate) chunk_count_listed: usize,
    /// Whether columns that are not in memory are not read.
    pub(crate) is_only_in_memory: bool,
    index_pruned: Vec<(String, usize)>,
    pub(crate) dictionaries: Vec<Option<Arc<StringArray>>>,
    pub(crate) conditions: Arc<[Condition]>,
}

impl fmt::Debug for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, count) = (&self.table.definition.name, self.chunks.len());
        f.debug_struct("Scan").field("table", name).field("chunks", &count).finish_non_exhaustive()
    }
}

impl ReadSnapshot {
    /// Plans a read.
    ///
    /// Errors: [`Conflict`](atsdb_core::ErrorKind::Conflict) if the table has another definition in the snapshot.
    pub fn scan(&self, table: &Table, request: &ScanRequest) -> Result<Scan> {
        self.require(table)?;
        if table.definition.is_in_memory() {
            return Err(Error::usage(format!("table {} is in memory and cannot be scanned", table.definition.name))
                .with_hint("read it by SQL, or by ReadSnapshot::resident"));
        }
        Scan::plan(self, table, request)
    }
}

impl Scan {
    pub(crate) fn plan(snapshot: &ReadSnapshot, table: &Table, request: &ScanRequest) -> Result<Self> {
        let range = if table.definition.time.is_some() { request.range } else { TimeRange::ALL };
        Self::over(snapshot, table, request, snapshot.inner.store.chunks(table.id, range)?)
    }

    /// Plans a read of some chunks of a table.
    pub(crate) fn over(
        snapshot: &ReadSnapshot,
        table: &Table,
        request: &ScanRequest,
        entries: Vec<ChunkEntry>,
    ) -> Result<Self> {
        let inner = &snapshot.inner;
        let definition = &table.definition;
        let positions =
            request.columns.iter().copied().chain(request.predicates.iter().map(|predicate| predicate.column));
        if let Some(position) = positions.clone().find(|position| *position >= definition.columns.len()) {
            return Err(Error::usage(format!("table {} has no column {position}", definition.name)));
        }
        let chunk_count_listed = entries.len();
        let describe =
            |entry: ChunkEntry| inner.descriptor(table, &entry).map(|descriptor| ScanChunk { entry, descriptor });
        let chunks: Vec<ScanChunk> = entries.into_iter().map(describe).collect::<Result<_>>()?;
        let mut dictionaries = vec![None; definition.columns.len()];
        for position in positions {
            if dictionaries[position].is_none() && definition.columns[position].map.is_some() {
                dictionaries[position] = Some(load_dictionary(inner, table, &definition.columns[position], &chunks)?);
            }
        }
        let condition = |predicate: &Predicate| Condition {
            predicate: predicate.clone(),
            matching: dictionaries[predicate.column].as_deref().map(|strings| matching_strings(strings, predicate)),
        };
        let conditions: Vec<Condition> = request.predicates.iter().map(condition).collect();
        let can_match = |chunk: &ScanChunk| conditions.iter().all(|condition| condition.can_match(definition, chunk));
        let mut chunks: Vec<ScanChunk> = chunks.into_iter().filter(can_match).collect();
        let pruning = IndexPruning::of(definition, &conditions, request.range)?;
        let index_pruned = pruning.apply(inner, table, &mut chunks, request.use_cache)?;
        let as_indices = vec![false; request.columns.len()];
        let schema = schema_of(definition, &request.columns);
        let (table, request) = (snapshot.shared_table(table), request.clone());
        Ok(Self {
            snapshot: Arc::clone(inner),
            table,
            request,
            as_indices,
            schema,
            chunks: chunks.into(),
            chunk_count_listed,
            is_only_in_memory: false,
            index_pruned,
            dictionaries,
            conditions: conditions.into(),
        })
    }

    /// The same read with only some of its columns, by position among those requested. The chunks are the same, in the
    /// same order.
    pub fn with_columns(&self, columns: &[usize]) -> Result<Self> {
        let schema = Arc::new(self.schema.project(columns)?);
        let positions = columns.iter().map(|at| self.request.columns[*at]).collect();
        Ok(Self {
            snapshot: Arc::clone(&self.snapshot),
            table: self.table.clone(),
            request: ScanRequest { columns: positions, ..self.request.clone() },
            as_indices: columns.iter().map(|at| self.as_indices[*at]).collect(),
            schema,
            chunks: Arc::clone(&self.chunks),
            chunk_count_listed: self.chunk_count_listed,
            is_only_in_memory: self.is_only_in_memory,
            index_pruned: self.index_pruned.clone(),
            dictionaries: self.dictionaries.clone(),
            conditions: Arc::clone(&self.conditions),
        })
    }

    /// Makes the scan return some mapped columns as indices into their dictionaries: unsigned integers that are equal
    /// where the strings are. [`ReadSnapshot::strings`] returns their strings. `as_indices` has a flag for each
    /// requested column.
    pub fn with_indices(self, as_indices: Vec<bool>) -> Result<Self> {
        let definition = &self.table.definition;
        let fields = self.schema.fields().iter().zip(&self.request.columns).zip(&as_indices);
        let field = |((field, position), as_index): ((&Arc<Field>, &usize), &bool)| {
            let column = &definition.columns[*position];
            match (as_index, column.map) {
                (false, _) => Ok(Arc::clone(field)),
                (true, Some(_)) => Ok(Arc::new(field.as_ref().clone().with_data_type(stored_type(column)))),
                (true, None) => {
                    Err(Error::usage(format!("column {} of table {} is not mapped", column.name, definition.name)))
                }
            }
        };
        let fields = fields.map(field).collect::<Result<Vec<_>>>()?;
        if fields.len() != self.request.columns.len() {
            return Err(Error::usage("the number of flags differs from the number of columns of the scan"));
        }
        Ok(Self { schema: Arc::new(Schema::new(fields)), as_indices, ..self })
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The request.
    pub fn request(&self) -> &ScanRequest {
        &self.request
    }

    /// The requested columns with their logical types.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The chunks left after pruning, ordered by slice.
    pub fn chunks(&self) -> &[ScanChunk] {
        &self.chunks
    }

    /// Returns the number of all chunks of the table, in any time range.
    pub fn chunk_count_total(&self) -> Result<usize> {
        if self.table.definition.time.is_none() || self.request.range == TimeRange::ALL {
            return Ok(self.chunk_count_listed);
        }
        self.snapshot.store.chunk_count(self.table.id)
    }

    /// The number of rows if it is known without reading: there is no predicate, and the range cuts no chunk.
    pub fn row_count_exact(&self) -> Option<u64> {
        let whole = |chunk: &ScanChunk| !self.is_cut_by_range(&chunk.entry);
        let exact = self.conditions.is_empty() && self.chunks.iter().all(whole);
        exact.then(|| self.row_count_max())
    }

    /// An upper bound of the number of rows.
    pub fn row_count_max(&self) -> u64 {
        self.chunks.iter().map(|chunk| u64::from(chunk.entry.row_count)).sum()
    }

    /// The exact smallest and largest value of a column (by position in the definition) over the scan's chunks, and the
    /// number of NULLs. `None` if they are not known without reading.
    pub fn column_bounds(&self, position: usize) -> Option<(Option<Bound>, Option<Bound>, u64)> {
        self.row_count_exact()?;
        let column = self.table.definition.columns.get(position)?;
        if column.map.is_some() {
            return None;
        }
        let ColumnBounds { min, max, null_count } = ColumnBounds::of(&self.chunks, column)?;
        Some((min, max, null_count))
    }

    /// An upper bound of the number of distinct values of a column (by position in the definition) over the scan's
    /// chunks, besides NULL: the indices of a mapped column, or the integers between its bounds. `None` if the
    /// statistics of the chunks do not show it.
    pub fn distinct_max(&self, position: usize) -> Option<u64> {
        let column = self.table.definition.columns.get(position)?;
        match ColumnBounds::of(&self.chunks, column)? {
            ColumnBounds { min: None, max: None, .. } => Some(0),
            bounds => bounds.integers().and_then(|(min, max)| u64::try_from(max - min + 1).ok()),
        }
    }

    /// The smallest and the largest integer of a column (by position in the definition) in the scan's chunks, also in
    /// rows that are not selected. `None` if the statistics of the chunks do not show them, or if there are none.
    pub fn integer_bounds(&self, position: usize) -> Option<(i128, i128)> {
        ColumnBounds::of(&self.chunks, self.table.definition.columns.get(position)?)?.integers()
    }

    /// Returns the name of each index that was used, and the number of the remaining chunks that its filters pruned.
    pub fn index_pruned(&self) -> &[(String, usize)] {
        &self.index_pruned
    }

    /// Reads the rows of one chunk that can match, or `None` if there are none. The time range and the
    /// [exact](crate::is_exact) predicates are applied exactly, other predicates as far as that is cheap.
    pub fn read(&self, position: usize) -> Result<Option<RecordBatch>> {
        let chunk = self.chunk(position)?;
        match self.select(chunk)? {
            Some(selection) => self.read_selected(chunk, &selection).map(Some),
            None => Ok(None),
        }
    }

    /// Returns whether a requested column is mapped, and is returned as text.
    pub(crate) fn returns_strings(&self) -> bool {
        let is_mapped = |column: &usize| self.table.definition.columns[*column].map.is_some();
        self.request.columns.iter().zip(&self.as_indices).any(|(column, as_index)| is_mapped(column) && !as_index)
    }

    /// Reads the rows as [`read`](Self::read) does, and returns for each its number in the chunk, from 0.
    pub fn read_numbered(&self, position: usize) -> Result<Option<(RecordBatch, UInt32Array)>> {
        let chunk = self.chunk(position)?;
        let Some(selection) = self.select(chunk)? else { return Ok(None) };
        let numbers = match &selection {
            RowSelection::All => (0..chunk.entry.row_count).collect(),
            RowSelection::Run(start, length) => (*start as u32..(start + length) as u32).collect(),
            RowSelection::Mask(mask) => mask.values().set_indices_u32().collect(),
        };
        Ok(Some((self.read_selected(chunk, &selection)?, UInt32Array::new(numbers, None))))
    }

    /// Reads columns of a whole chunk in stored form, by position in the table's definition, for a
    /// [`Rewrite`](crate::Rewrite).
    pub fn read_stored(&self, position: usize, columns: &[usize]) -> Result<Vec<ArrayRef>> {
        let definition = &self.table.definition;
        if let Some(position) = columns.iter().find(|position| **position >= definition.columns.len()) {
            return Err(Error::usage(format!("table {} has no column {position}", definition.name)));
        }
        let columns: Vec<&Column> = columns.iter().map(|position| &definition.columns[*position]).collect();
        self.load(self.chunk(position)?, &columns)
    }

    pub(crate) fn chunk(&self, position: usize) -> Result<&ScanChunk> {
        self.chunks.get(position).ok_or_else(|| Error::usage(format!("the scan has no chunk {position}")))
    }

    pub(crate) fn read_selected(&self, chunk: &ScanChunk, selection: &RowSelection) -> Result<RecordBatch> {
        let row_count = chunk.entry.row_count as usize;
        let columns = self.requested_columns();
        let stored = self.load(chunk, &columns)?;
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        let fields = columns.iter().map(|column| Field::new(&column.name, stored_type(column), column.nullable));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let rows = RecordBatch::try_new_with_options(schema, stored, &options)?;
        let rows = selection.apply(rows)?;
        self.to_returned(rows.columns(), rows.num_rows())
    }

    /// The requested columns, in order.
    pub(crate) fn requested_columns(&self) -> Vec<&Column> {
        self.request.columns.iter().map(|position| &self.table.definition.columns[*position]).collect()
    }

    /// Turns the requested columns from stored form into the form in which the scan returns them.
    pub(crate) fn to_returned(&self, stored: &[ArrayRef], row_count: usize) -> Result<RecordBatch> {
        let columns = self.requested_columns();
        let to_logical = |(at, array): (usize, &ArrayRef)| match self.as_indices[at] {
            true => Ok(ArrayRef::clone(array)),
            false => self.to_logical(array, columns[at], self.dictionaries[self.request.columns[at]].as_ref()),
        };
        let arrays = stored.iter().enumerate().map(to_logical).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        Ok(RecordBatch::try_new_with_options(self.schema(), arrays, &options)?)
    }

    /// Reads all chunks, and returns one batch for each chunk that has matching rows.
    pub fn batches(self) -> impl Iterator<Item = Result<RecordBatch>> {
        (0..self.chunks.len()).filter_map(move |position| self.read(position).transpose())
    }

    /// Returns whether some rows of a chunk may be outside of the time range.
    pub(crate) fn is_cut_by_range(&self, entry: &ChunkEntry) -> bool {
        self.table.definition.time.is_some() && !self.request.range.covers(entry.time_min, entry.time_max)
    }

    pub(crate) fn load(&self, chunk: &ScanChunk, columns: &[&Column]) -> Result<Vec<ArrayRef>> {
        let ScanChunk { entry, descriptor } = chunk;
        let arrays = if self.is_only_in_memory {
            self.columns_at_hand(descriptor, columns)?
        } else {
            self.snapshot.columns(&self.table, entry, descriptor, columns, self.request.use_cache)?
        };
        let fill = |(array, column): (Option<ArrayRef>, &&Column)| match array {
            Some(array) => Ok(array),
            None => missing_array(&self.table.definition, column, entry.row_count as usize),
        };
        arrays.into_iter().zip(columns).map(fill).collect()
    }

    fn to_logical(&self, array: &ArrayRef, column: &Column, dictionary: Option<&Arc<StringArray>>) -> Result<ArrayRef> {
        let logical = match (column.map, dictionary) {
            (Some(width), Some(strings)) => with_strings(width, array, strings),
            _ => to_logical(column, array),
        };
        logical.map_err(|error| {
            error.context(format_args!("table {}, column {}", self.table.definition.name, column.name))
        })
    }
}

/// The schema of some columns of a table, logical types.
pub(crate) fn schema_of(definition: &TableDefinition, columns: &[usize]) -> SchemaRef {
    let field = |position: &usize| logical_field(&definition.columns[*position]);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}
