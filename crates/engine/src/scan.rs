//! A planned read of one table: chunks that can match, each read on its own, by any thread.

use crate::membership::IndexPruning;
use crate::missing::{column_statistics, missing_array, scalar_of};
use crate::predicate::{Comparison, Predicate, text_matches};
use crate::slice_buffer::{filter_rows, internal, times_from};
use crate::snapshot::{Inner, ReadSnapshot};
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, BooleanBufferBuilder, DictionaryArray, RecordBatch,
    RecordBatchOptions, Scalar, StringArray, UInt32Array,
};
use arrow::compute::kernels::cmp;
use arrow::compute::{and, is_not_null, is_null, or, prep_null_mask_filter, take};
use arrow::datatypes::{ArrowDictionaryKeyType, Field, Schema, SchemaRef, UInt8Type, UInt16Type, UInt32Type};
use atsdb_codec::{logical_type, stored_type};
use atsdb_core::{
    Bound, ChunkDescriptor, ChunkEntry, Column, Error, MapWidth, Result, Table, TableDefinition, TimeRange, Value,
};
use std::fmt;
use std::sync::Arc;

/// What to read.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanRequest {
    /// Which columns, by position in the table's definition, in the order wanted.
    pub columns: Vec<usize>,
    /// Only rows of these times, in the table's unit.
    pub range: TimeRange,
    /// Rows that make one of these false or unknown may be left out. All must hold.
    pub predicates: Vec<Predicate>,
    /// Whether decoded columns are taken from, and put into, the cache. A read of everything, once, does better
    /// without.
    pub use_cache: bool,
}

impl ScanRequest {
    /// Every row and column of a table, past the cache.
    pub fn all(table: &Table) -> Self {
        let columns = (0..table.definition.columns.len()).collect();
        Self { columns, range: TimeRange::ALL, predicates: Vec::new(), use_cache: false }
    }
}

/// One chunk of a scan.
#[derive(Debug, Clone)]
pub struct ScanChunk {
    /// As the store lists it.
    pub entry: ChunkEntry,
    /// What is known of it.
    pub descriptor: ChunkDescriptor,
}

/// A planned read. It holds its snapshot.
pub struct Scan {
    pub(crate) snapshot: Arc<Inner>,
    pub(crate) table: Table,
    request: ScanRequest,
    schema: SchemaRef,
    chunks: Vec<ScanChunk>,
    /// Known where all of them were listed.
    chunk_count_total: Option<usize>,
    index_pruned: Vec<(String, usize)>,
    pub(crate) dictionaries: Vec<Option<Arc<StringArray>>>,
    pub(crate) conditions: Vec<Condition>,
}

/// A predicate made ready for stored columns.
pub(crate) struct Condition {
    pub(crate) predicate: Predicate,
    /// For a mapped column: for each index whether its string matches.
    pub(crate) matching: Option<BooleanArray>,
}

impl fmt::Debug for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, count) = (&self.table.definition.name, self.chunks.len());
        f.debug_struct("Scan").field("table", name).field("chunks", &count).finish_non_exhaustive()
    }
}

impl Scan {
    pub(crate) fn plan(snapshot: &ReadSnapshot, table: &Table, request: &ScanRequest) -> Result<Self> {
        let inner = &snapshot.inner;
        let definition = &table.definition;
        let asked = request.columns.iter().copied().chain(request.predicates.iter().map(|predicate| predicate.column));
        if let Some(position) = asked.clone().find(|position| *position >= definition.columns.len()) {
            return Err(Error::usage(format!("table {} has no column {position}", definition.name)));
        }
        let range = if definition.time.is_some() { request.range } else { TimeRange::ALL };
        let entries = inner.store.chunks(table.id, range)?;
        let chunk_count_total = (range == TimeRange::ALL).then_some(entries.len());
        let describe =
            |entry: ChunkEntry| inner.descriptor(table, &entry).map(|descriptor| ScanChunk { entry, descriptor });
        let chunks: Vec<ScanChunk> = entries.into_iter().map(describe).collect::<Result<_>>()?;
        let mut dictionaries = vec![None; definition.columns.len()];
        for position in asked {
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
        let schema = schema_of(definition, &request.columns);
        let (table, request) = (table.clone(), request.clone());
        Ok(Self {
            snapshot: Arc::clone(inner),
            table,
            request,
            schema,
            chunks,
            chunk_count_total,
            index_pruned,
            dictionaries,
            conditions,
        })
    }

    /// The columns asked for, with their logical types.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The chunks that are left after pruning, by slice.
    pub fn chunks(&self) -> &[ScanChunk] {
        &self.chunks
    }

    /// How many chunks the table has. Lists them where the scan is of a part of the time.
    pub fn chunk_count_total(&self) -> Result<usize> {
        match self.chunk_count_total {
            Some(count) => Ok(count),
            None => Ok(self.snapshot.store.chunks(self.table.id, TimeRange::ALL)?.len()),
        }
    }

    /// The number of rows, when it is known without reading: no predicate, no chunk cut by the range.
    pub fn row_count_exact(&self) -> Option<u64> {
        let whole = |chunk: &ScanChunk| !self.is_cut_by_range(&chunk.entry);
        let exact = self.conditions.is_empty() && self.chunks.iter().all(whole);
        exact.then(|| self.row_count_max())
    }

    /// No more rows than this can come.
    pub fn row_count_max(&self) -> u64 {
        self.chunks.iter().map(|chunk| u64::from(chunk.entry.row_count)).sum()
    }

    /// The exact smallest and largest value of a column (by position in the definition) over the scan's chunks, and
    /// how many values are NULL. `None` when that is not known without reading.
    pub fn column_bounds(&self, position: usize) -> Option<(Option<Bound>, Option<Bound>, u64)> {
        self.row_count_exact()?;
        let column = self.table.definition.columns.get(position)?;
        if column.map.is_some() {
            return None;
        }
        let (mut min, mut max, mut null_count): (Option<Bound>, Option<Bound>, u64) = (None, None, 0);
        for chunk in &self.chunks {
            let statistics = column_statistics(&chunk.descriptor, column);
            null_count += u64::from(statistics.null_count);
            if statistics.null_count == chunk.entry.row_count {
                continue;
            }
            let (Some(chunk_min), Some(chunk_max)) = (statistics.min, statistics.max) else { return None };
            min = Some(min.map_or(Some(chunk_min.clone()), |min| smaller(min, chunk_min))?);
            max = Some(max.map_or(Some(chunk_max.clone()), |max| larger(max, chunk_max))?);
        }
        Some((min, max, null_count))
    }

    /// How many chunks the filters of indexes ruled out, of those that were left: for each index that was asked, its
    /// name and how many.
    pub fn index_pruned(&self) -> &[(String, usize)] {
        &self.index_pruned
    }

    /// The rows of one chunk that can match: exactly those in the time range for which the predicates hold that are
    /// [exact](is_exact), and of the others as far as is cheap. `None` when there are none.
    pub fn read(&self, position: usize) -> Result<Option<RecordBatch>> {
        let chunk = self.chunk(position)?;
        match self.select(chunk)? {
            Some(selection) => self.read_selected(chunk, &selection).map(Some),
            None => Ok(None),
        }
    }

    /// The rows that [`read`](Self::read) gives, and for each its number in the chunk, from 0.
    pub fn read_numbered(&self, position: usize) -> Result<Option<(RecordBatch, UInt32Array)>> {
        let chunk = self.chunk(position)?;
        let Some(selection) = self.select(chunk)? else { return Ok(None) };
        let numbers = match &selection {
            Selection::All => (0..chunk.entry.row_count).collect(),
            Selection::Run(start, length) => (*start as u32..(start + length) as u32).collect(),
            Selection::Mask(mask) => mask.values().set_indices_u32().collect(),
        };
        Ok(Some((self.read_selected(chunk, &selection)?, UInt32Array::new(numbers, None))))
    }

    /// Columns of a whole chunk in stored form, by position in the table's definition: what a
    /// [`Rewrite`](crate::Rewrite) is made of.
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

    pub(crate) fn read_selected(&self, chunk: &ScanChunk, selection: &Selection) -> Result<RecordBatch> {
        let row_count = chunk.entry.row_count as usize;
        let definition = &self.table.definition;
        let columns: Vec<&Column> =
            self.request.columns.iter().map(|position| &definition.columns[*position]).collect();
        let stored = self.load(chunk, &columns)?;
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        let fields = columns.iter().map(|column| Field::new(&column.name, stored_type(column), column.nullable));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let rows = RecordBatch::try_new_with_options(schema, stored, &options).map_err(internal)?;
        let rows = selection.apply(rows)?;
        let logical = rows.columns().iter().zip(&columns).zip(&self.request.columns);
        let arrays = logical
            .map(|((array, column), position)| self.to_logical(array, column, self.dictionaries[*position].as_ref()))
            .collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(self.schema(), arrays, &options).map_err(internal)
    }

    /// The chunks' rows, one batch for each chunk that has any.
    pub fn batches(self) -> impl Iterator<Item = Result<RecordBatch>> {
        (0..self.chunks.len()).filter_map(move |position| self.read(position).transpose())
    }

    fn is_cut_by_range(&self, entry: &ChunkEntry) -> bool {
        self.table.definition.time.is_some() && !self.request.range.covers(entry.time_min, entry.time_max)
    }

    pub(crate) fn load(&self, chunk: &ScanChunk, columns: &[&Column]) -> Result<Vec<ArrayRef>> {
        let ScanChunk { entry, descriptor } = chunk;
        let arrays = self.snapshot.columns(&self.table, entry, descriptor, columns, self.request.use_cache)?;
        let fill = |(array, column): (Option<ArrayRef>, &&Column)| match array {
            Some(array) => Ok(array),
            None => missing_array(&self.table, column, entry.row_count as usize),
        };
        arrays.into_iter().zip(columns).map(fill).collect()
    }

    /// Which rows of a chunk can match; `None` when none can.
    pub(crate) fn select(&self, chunk: &ScanChunk) -> Result<Option<Selection>> {
        let definition = &self.table.definition;
        let mut mask: Option<BooleanArray> = None;
        let mut narrow = |more: BooleanArray| -> Result<bool> {
            let all = match mask.take() {
                Some(mask) => and(&mask, &more).map_err(internal)?,
                None => more,
            };
            let any = all.has_true();
            mask = Some(all);
            Ok(any)
        };
        if self.is_cut_by_range(&chunk.entry)
            && let Some(column) = definition.time_column()
        {
            let times = times_from(definition, &self.load(chunk, &[column])?[0])?;
            let inside = BooleanArray::from_unary(&times, |time| self.request.range.contains(time));
            if !narrow(inside)? {
                return Ok(None);
            }
        }
        for condition in &self.conditions {
            let column = &definition.columns[condition.predicate.column];
            if let Some(matches) = condition.evaluate(column, &self.load(chunk, &[column])?[0])?
                && !narrow(matches)?
            {
                return Ok(None);
            }
        }
        Ok(Some(mask.map_or(Selection::All, Selection::of)))
    }

    fn to_logical(&self, array: &ArrayRef, column: &Column, dictionary: Option<&Arc<StringArray>>) -> Result<ArrayRef> {
        let (Some(width), Some(strings)) = (column.map, dictionary) else { return Ok(ArrayRef::clone(array)) };
        let build = match width {
            MapWidth::U8 => with_strings::<UInt8Type>,
            MapWidth::U16 => with_strings::<UInt16Type>,
            MapWidth::U32 => with_strings::<UInt32Type>,
        };
        build(array, strings).map_err(|error| {
            error.context(format_args!("table {}, column {}", self.table.definition.name, column.name))
        })
    }
}

/// Rows of a chunk.
pub(crate) enum Selection {
    All,
    /// Rows that stand together, as in a sealed chunk: first, how many.
    Run(usize, usize),
    /// Without NULLs.
    Mask(BooleanArray),
}

impl Selection {
    pub(crate) fn of(mask: BooleanArray) -> Self {
        // Where it is unknown whether a row matches it does not.
        let mask = if mask.null_count() > 0 { prep_null_mask_filter(&mask) } else { mask };
        let mut runs = mask.values().set_slices();
        match (runs.next(), runs.next()) {
            (Some((start, end)), None) if end - start == mask.len() => Self::All,
            (Some((start, end)), None) => Self::Run(start, end - start),
            _ => Self::Mask(mask),
        }
    }

    pub(crate) fn holds(&self, row: usize) -> bool {
        match self {
            Self::All => true,
            Self::Run(start, length) => (*start..start + length).contains(&row),
            Self::Mask(mask) => mask.is_valid(row) && mask.value(row),
        }
    }

    fn apply(&self, rows: RecordBatch) -> Result<RecordBatch> {
        match self {
            Self::All => Ok(rows),
            Self::Run(start, length) => Ok(rows.slice(*start, *length)),
            Self::Mask(mask) => filter_rows(&rows, mask),
        }
    }
}

impl Condition {
    fn can_match(&self, definition: &TableDefinition, chunk: &ScanChunk) -> bool {
        let statistics = column_statistics(&chunk.descriptor, &definition.columns[self.predicate.column]);
        let Some(matching) = &self.matching else {
            return self.predicate.can_match(&statistics, chunk.entry.row_count);
        };
        match (self.predicate.operator, &statistics.min, &statistics.max) {
            (Comparison::IsNull, ..) => statistics.null_count > 0,
            (_, Some(Bound::UInt(min)), Some(Bound::UInt(max))) => {
                let (first, last) = (*min as usize, (*max as usize).min(matching.len().saturating_sub(1)));
                first <= last && matching.slice(first, last - first + 1).has_true()
            }
            _ => statistics.null_count < chunk.entry.row_count,
        }
    }

    /// For each row whether it matches; `None` when that is not cheaply told.
    fn evaluate(&self, column: &Column, array: &ArrayRef) -> Result<Option<BooleanArray>> {
        match self.predicate.operator {
            Comparison::IsNull => return is_null(array).map(Some).map_err(internal),
            Comparison::IsNotNull => return is_not_null(array).map(Some).map_err(internal),
            _ => {}
        }
        if let Some(matching) = &self.matching {
            let matches = take(matching, array, None).map_err(internal)?;
            return Ok(Some(matches.as_boolean().clone()));
        }
        let mut all: Option<BooleanArray> = None;
        for value in self.predicate.values.iter().flat_map(|value| with_both_zeros(value, self.predicate.operator)) {
            let Some(scalar) = scalar_of(column, &value) else { return Ok(None) };
            let scalar = Scalar::new(scalar);
            let matches = match self.predicate.operator {
                Comparison::NotEqual => cmp::neq(array, &scalar),
                Comparison::Less => cmp::lt(array, &scalar),
                Comparison::LessOrEqual => cmp::lt_eq(array, &scalar),
                Comparison::Greater => cmp::gt(array, &scalar),
                Comparison::GreaterOrEqual => cmp::gt_eq(array, &scalar),
                _ => cmp::eq(array, &scalar),
            };
            let matches = matches.map_err(internal)?;
            all = Some(match (all, self.predicate.operator) {
                (None, _) => matches,
                (Some(all), Comparison::NotEqual) => and(&all, &matches).map_err(internal)?,
                (Some(all), _) => or(&all, &matches).map_err(internal)?,
            });
        }
        Ok(all)
    }
}

/// In SQL 0.0 and -0.0 are equal, while arrow puts -0.0 before 0.0: with which of them an array is compared.
fn with_both_zeros(value: &Value, operator: Comparison) -> Vec<Value> {
    match (value, operator) {
        (Value::Float(0.0), Comparison::Less | Comparison::GreaterOrEqual) => vec![Value::Float(-0.0)],
        (Value::Float(0.0), Comparison::LessOrEqual | Comparison::Greater) => vec![Value::Float(0.0)],
        (Value::Float(0.0), _) => vec![Value::Float(0.0), Value::Float(-0.0)],
        _ => vec![value.clone()],
    }
}

/// Whether a read leaves out every row for which a predicate does not hold: then nobody needs to filter again.
pub fn is_exact(predicate: &Predicate, column: &Column) -> bool {
    match predicate.operator {
        Comparison::IsNull | Comparison::IsNotNull => true,
        _ if column.map.is_some() => predicate.values.iter().all(|value| matches!(value, Value::Text(_))),
        _ => !predicate.values.is_empty() && predicate.values.iter().all(|value| scalar_of(column, value).is_some()),
    }
}

fn matching_strings(strings: &StringArray, predicate: &Predicate) -> BooleanArray {
    let mut matching = BooleanBufferBuilder::new(strings.len());
    strings.iter().for_each(|text| matching.append(text.is_some_and(|text| text_matches(text, predicate))));
    BooleanArray::new(matching.finish(), None)
}

/// The strings of a mapped column, at least those that the chunks use.
pub(crate) fn load_dictionary(
    snapshot: &Inner,
    table: &Table,
    column: &Column,
    chunks: &[ScanChunk],
) -> Result<Arc<StringArray>> {
    let largest = |chunk: &ScanChunk| match column_statistics(&chunk.descriptor, column).max {
        Some(Bound::UInt(max)) => usize::try_from(max).ok(),
        _ => None,
    };
    let count = chunks.iter().filter_map(largest).max().map_or(0, |max| max.saturating_add(1));
    let dictionary = snapshot.shared.dictionaries.get(table.id, column.id);
    let strings = dictionary.strings(snapshot.store.as_ref(), count);
    strings.map_err(|error| error.context(format_args!("table {}, column {}", table.definition.name, column.name)))
}

/// Indices and their strings as a dictionary array. Where the rows use few of many strings, only those go along,
/// so that work on the strings costs no more than work on the rows.
fn with_strings<K: ArrowDictionaryKeyType + ArrowPrimitiveType>(
    indices: &ArrayRef,
    strings: &Arc<StringArray>,
) -> Result<ArrayRef> {
    let keys = indices.as_primitive::<K>();
    let beyond = |error| Error::corrupt("an index is beyond its dictionary").with_source(error);
    if strings.len() <= keys.len().max(256) {
        let strings = ArrayRef::clone(&(Arc::clone(strings) as ArrayRef));
        return Ok(Arc::new(DictionaryArray::<K>::try_new(keys.clone(), strings).map_err(beyond)?));
    }
    use arrow::datatypes::ArrowNativeType;
    let mut used: Vec<u32> = keys.iter().flatten().map(|key| key.as_usize() as u32).collect();
    used.sort_unstable();
    used.dedup();
    let renumber = |key: K::Native| {
        let position = used.binary_search(&(key.as_usize() as u32)).unwrap_or(0);
        K::Native::from_usize(position).unwrap_or_default()
    };
    if used.last().is_some_and(|last| *last as usize >= strings.len()) {
        return Err(Error::corrupt("an index is beyond its dictionary"));
    }
    let keys = keys.unary::<_, K>(renumber);
    let picked = take(strings.as_ref(), &UInt32Array::from(used), None).map_err(internal)?;
    Ok(Arc::new(DictionaryArray::<K>::try_new(keys, picked).map_err(beyond)?))
}

/// The schema of some columns of a table, logical types.
pub(crate) fn schema_of(definition: &TableDefinition, columns: &[usize]) -> SchemaRef {
    let field = |position: &usize| {
        let column = &definition.columns[*position];
        Field::new(&column.name, logical_type(column), column.nullable)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

fn smaller(a: Bound, b: Bound) -> Option<Bound> {
    is_below(&a, &b).map(|below| if below { a } else { b })
}

fn larger(a: Bound, b: Bound) -> Option<Bound> {
    is_below(&a, &b).map(|below| if below { b } else { a })
}

/// Whether an exact bound is below another of its kind. Of text only parts are known.
fn is_below(a: &Bound, b: &Bound) -> Option<bool> {
    match (a, b) {
        (Bound::Int(a), Bound::Int(b)) => Some(a < b),
        (Bound::UInt(a), Bound::UInt(b)) => Some(a < b),
        (Bound::Float(a), Bound::Float(b)) => Some(a < b),
        _ => None,
    }
}
