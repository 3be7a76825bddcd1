//! Pruning chunks by the membership filters of indexes.
//!
//! An index is used if each of its columns must have one of a few values. Its filters may prune chunks that the
//! statistics could not. A chunk that is older than the index has no filter and is kept.

use crate::chunk::index_columns::{index_meaning, index_positions};
use crate::chunk::missing::scalar_of;
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

/// The maximum number of tuples for which an index is used. With more, false positives would keep almost every chunk.
const TUPLES_MAX: usize = 1_024;

/// The lookups in the indexes of a table.
pub(crate) struct IndexPruning {
    lookups: Vec<IndexLookup>,
}

/// A lookup in one index: rows must have one of these tuples.
struct IndexLookup {
    index: Index,
    /// The [meaning](index_meaning) of the index's pages.
    meaning: u64,
    hashes: Vec<u64>,
}

impl IndexPruning {
    pub(crate) fn of(definition: &TableDefinition, conditions: &[Condition], range: TimeRange) -> Result<Self> {
        let mut lookups = Vec::new();
        for index in &definition.indexes {
            let positions = index_positions(definition, index)?;
            let values = positions.iter().map(|position| candidates(definition, *position, conditions, range));
            let Some(values) = values.collect::<Result<Option<Vec<ArrayRef>>>>()? else { continue };
            if let Some(tuples) = product(&values)? {
                let (index, meaning) = (index.clone(), index_meaning(definition, index)?);
                lookups.push(IndexLookup { index, meaning, hashes: tuple_hashes(&tuples)?.iter().collect() });
            }
        }
        Ok(Self { lookups })
    }

    /// Keeps the chunks that can have one of the tuples. Returns for each index used its name and how many chunks it
    /// pruned.
    pub(crate) fn apply(
        &self,
        snapshot: &Inner,
        table: &Table,
        chunks: &mut Vec<ScanChunk>,
        use_cache: bool,
    ) -> Result<Vec<(String, usize)>> {
        let mut pruned = Vec::with_capacity(self.lookups.len());
        for IndexLookup { index, meaning, hashes } in &self.lookups {
            let before = chunks.len();
            let mut kept = Vec::with_capacity(before);
            for chunk in chunks.drain(..) {
                match snapshot.filter(table, &chunk.entry, &chunk.descriptor, (index, *meaning), use_cache)? {
                    Some(filter) if !hashes.iter().any(|hash| filter.may_contain(*hash)) => {}
                    _ => kept.push(chunk),
                }
            }
            pruned.push((index.name.clone(), before - kept.len()));
            *chunks = kept;
        }
        Ok(pruned)
    }
}

impl Inner {
    /// The filter of a chunk for an index, given with its [meaning](index_meaning). `None` if the chunk is older than
    /// the index.
    pub(crate) fn filter(
        &self,
        table: &Table,
        entry: &ChunkEntry,
        descriptor: &ChunkDescriptor,
        (index, meaning): (&Index, u64),
        use_cache: bool,
    ) -> Result<Option<Membership>> {
        if descriptor.page(index.id).is_none() {
            return Ok(None);
        }
        let known = |array: ArrayRef| filter_in_memory(&array, meaning);
        if let Some(filter) = self.in_memory(descriptor.uid, index.id, use_cache, known) {
            return Ok(Some(filter));
        }
        let location = || format!("table {}, chunk {}, index {}", table.definition.name, entry.id.0, index.name);
        let pages = self.pages(table, entry, descriptor, &[index.id]).map_err(|error| error.context(location()))?;
        let page = pages.first().ok_or_else(|| Error::internal("the store returned no page").context(location()))?;
        let filter = decode_membership(descriptor.uid, index.id, entry.row_count as usize, page)
            .map_err(|error| error.context(location()))?;
        if use_cache {
            self.shared.cache.put(descriptor.uid, index.id, &in_memory_form(&filter, meaning));
        }
        Ok(Some(filter))
    }
}

/// A filter as the caches of this process keep it under the names of chunk and index: its words, and then the meaning
/// of the page.
pub(crate) fn in_memory_form(filter: &Membership, meaning: u64) -> ArrayRef {
    let words = filter.words().values().iter().copied();
    Arc::new(UInt32Array::from_iter_values(words.chain(halves(meaning))))
}

/// The filter in an array of a cache; `None` if it is that of an index with another meaning.
pub(crate) fn filter_in_memory(array: &ArrayRef, meaning: u64) -> Option<Membership> {
    let array = array.as_primitive_opt::<UInt32Type>()?;
    let word_count = array.len().checked_sub(2)?;
    (array.values()[word_count..] == halves(meaning)).then(|| Membership::from(array.slice(0, word_count)))
}

fn halves(meaning: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = meaning.to_le_bytes();
    [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])]
}

/// The values that a column can have in a matching row. `None` if the conditions do not determine them exactly.
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
                        Some(concat(&values)?)
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

/// The time, if a range contains a single one.
fn time_candidate(definition: &TableDefinition, column: &Column, range: TimeRange) -> Option<ArrayRef> {
    let (start, end) = (range.start?, range.end?);
    let is_time = definition.time_column().is_some_and(|time| time.id == column.id);
    let scale = definition.time_scale();
    // The column may count a coarser unit than the table's.
    let single = is_time && start.checked_add(1) == Some(end) && start % scale == 0;
    if single { scalar_of(column, &Value::Int(start / scale)) } else { None }
}

/// All tuples of one value per column. `None` if there are too many.
fn product(values: &[ArrayRef]) -> Result<Option<Vec<ArrayRef>>> {
    let count = values.iter().try_fold(1_usize, |count, values| count.checked_mul(values.len()));
    let Some(count) = count.filter(|count| *count <= TUPLES_MAX) else { return Ok(None) };
    let mut stride = 1;
    let mut columns = Vec::with_capacity(values.len());
    for values in values {
        let numbers: UInt32Array = (0..count).map(|row| (row / stride % values.len()) as u32).collect();
        columns.push(take(values, &numbers, None)?);
        stride *= values.len();
    }
    Ok(Some(columns))
}
