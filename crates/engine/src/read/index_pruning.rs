//! Indexes: which chunks their filters rule out.
//!
//! An index is asked when each of its columns must be one of a few values. What the statistics of a chunk leave, its
//! filter may still rule out. A chunk without a filter, as it is older than the index, is left in.

use crate::chunk::index_columns::index_positions;
use crate::chunk::missing::scalar_of;
use crate::chunk::slice_buffer::internal;
use crate::read::condition::Condition;
use crate::read::predicate::Comparison;
use crate::read::scan_chunk::ScanChunk;
use crate::read::snapshot::Inner;
use arrow::array::{Array, ArrayRef, AsArray, UInt32Array, UInt64Array};
use arrow::compute::{concat, take};
use arrow::datatypes::UInt32Type;
use atsdb_codec::{Membership, decode_membership, tuple_hashes};
use atsdb_core::{ChunkDescriptor, ChunkEntry, Column, Error, Index, Result, Table, TableDefinition, TimeRange, Value};
use std::sync::Arc;

/// With more tuples to ask for an index is not asked: too many "may be".
const TUPLES_MAX: usize = 1_024;

/// What the indexes of a table are asked.
pub(crate) struct IndexPruning {
    questions: Vec<Question>,
}

/// The tuples that rows must have one of.
struct Question {
    index: Index,
    hashes: Vec<u64>,
}

impl IndexPruning {
    pub(crate) fn of(definition: &TableDefinition, conditions: &[Condition], range: TimeRange) -> Result<Self> {
        let mut questions = Vec::new();
        for index in &definition.indexes {
            let positions = index_positions(definition, index)?;
            let values = positions.iter().map(|position| candidates(definition, *position, conditions, range));
            let Some(values) = values.collect::<Result<Option<Vec<ArrayRef>>>>()? else { continue };
            if let Some(tuples) = product(&values)? {
                questions.push(Question { index: index.clone(), hashes: tuple_hashes(&tuples)?.iter().collect() });
            }
        }
        Ok(Self { questions })
    }

    /// Leaves the chunks that can have one of the tuples. For each index that was asked its name, and how many it ruled
    /// out.
    pub(crate) fn apply(
        &self,
        snapshot: &Inner,
        table: &Table,
        chunks: &mut Vec<ScanChunk>,
        use_cache: bool,
    ) -> Result<Vec<(String, usize)>> {
        let mut pruned = Vec::with_capacity(self.questions.len());
        for Question { index, hashes } in &self.questions {
            let before = chunks.len();
            let mut left = Vec::with_capacity(before);
            for chunk in chunks.drain(..) {
                match snapshot.filter(table, &chunk.entry, &chunk.descriptor, index, use_cache)? {
                    Some(filter) if !hashes.iter().any(|hash| filter.may_contain(*hash)) => {}
                    _ => left.push(chunk),
                }
            }
            pruned.push((index.name.clone(), before - left.len()));
            *chunks = left;
        }
        Ok(pruned)
    }
}

impl Inner {
    /// The filter that a chunk has for an index. It is `None` where the chunk is older than the index.
    pub(crate) fn filter(
        &self,
        table: &Table,
        entry: &ChunkEntry,
        descriptor: &ChunkDescriptor,
        index: &Index,
        use_cache: bool,
    ) -> Result<Option<Membership>> {
        if descriptor.page(index.id).is_none() {
            return Ok(None);
        }
        if let Some(words) = self.in_memory(descriptor.uid, index.id, use_cache)
            && let Some(words) = words.as_primitive_opt::<UInt32Type>()
        {
            return Ok(Some(Membership::from(words.clone())));
        }
        let place = || format!("table {}, chunk {}, index {}", table.definition.name, entry.id.0, index.name);
        let pages = self.pages(table, entry, descriptor, &[index.id]).map_err(|error| error.context(place()))?;
        let page = pages.first().ok_or_else(|| Error::internal("the store gave no page").context(place()))?;
        let filter = decode_membership(descriptor.uid, index.id, entry.row_count as usize, page)
            .map_err(|error| error.context(place()))?;
        if use_cache {
            self.shared.cache.put(descriptor.uid, index.id, &(Arc::new(filter.words().clone()) as ArrayRef));
        }
        Ok(Some(filter))
    }
}

/// The values that a column must have one of; `None` when the conditions do not say, or not exactly.
fn candidates(
    definition: &TableDefinition,
    position: usize,
    conditions: &[Condition],
    range: TimeRange,
) -> Result<Option<ArrayRef>> {
    let column = &definition.columns[position];
    let mut fewest = time_candidate(definition, column, range);
    for condition in conditions.iter().filter(|condition| condition.predicate.column == position) {
        if !matches!(condition.predicate.operator, Comparison::Equal | Comparison::In) {
            continue;
        }
        let values: Option<ArrayRef> = match &condition.matching {
            Some(matching) => {
                Some(Arc::new(matching.values().set_indices().map(|at| at as u64).collect::<UInt64Array>()))
            }
            None => {
                let values = condition.predicate.values.iter().map(|value| scalar_of(column, value));
                match values.collect::<Option<Vec<ArrayRef>>>() {
                    Some(values) if !values.is_empty() => {
                        let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
                        Some(concat(&values).map_err(internal)?)
                    }
                    _ => None,
                }
            }
        };
        if let Some(values) = values
            && fewest.as_ref().is_none_or(|fewest| values.len() < fewest.len())
        {
            fewest = Some(values);
        }
    }
    Ok(fewest)
}

/// The time, where a range of times is a single one.
fn time_candidate(definition: &TableDefinition, column: &Column, range: TimeRange) -> Option<ArrayRef> {
    let (start, end) = (range.start?, range.end?);
    let is_time = definition.time_column().is_some_and(|time| time.id == column.id);
    let scale = definition.time_scale();
    // Of a column that counts something coarser than the table's unit, a single value is a range of one.
    let single = is_time && start.checked_add(1) == Some(end) && start % scale == 0;
    if single { scalar_of(column, &Value::Int(start / scale)) } else { None }
}

/// All tuples of one value of each column; `None` when there are too many.
fn product(values: &[ArrayRef]) -> Result<Option<Vec<ArrayRef>>> {
    let count = values.iter().try_fold(1_usize, |count, values| count.checked_mul(values.len()));
    let Some(count) = count.filter(|count| *count <= TUPLES_MAX) else { return Ok(None) };
    let mut stride = 1;
    let mut columns = Vec::with_capacity(values.len());
    for values in values {
        let numbers: UInt32Array = (0..count).map(|row| (row / stride % values.len()) as u32).collect();
        columns.push(take(values, &numbers, None).map_err(internal)?);
        stride *= values.len();
    }
    Ok(Some(columns))
}
