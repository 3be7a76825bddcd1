//! The state of a table: its parts and their deleted rows.

use crate::concat::concat_arrays;
use crate::deleted_rows::{DeletedRows, PAGE_ROWS};
use crate::hash::HashSeed;
use crate::index::IndexMatches;
use crate::index_spec::IndexSpec;
use crate::keys::RowKeys;
use crate::part::{PART_ROWS_MAX, PART_TEXT_BYTES_MAX, TablePart, byte_count_of, keys_of, text_bytes_of};
use arrow::array::{Array, ArrayRef, BooleanArray, UInt32Array, new_empty_array};
use arrow::compute::{cast, filter, interleave, take};
use arrow::datatypes::DataType;
use arrow::util::display::array_value_to_string;
use atsdb_core::{Column, ColumnId, Error, Result, TableDefinition};
use std::ops::Range;
use std::sync::Arc;

/// A part is merged with the following ones if it has fewer than this many times their rows.
const MERGE_RATIO: usize = 2;
/// A part is rewritten only if more than this number of its rows are deleted.
const DELETED_ROWS_MIN: usize = 1_024;
/// The maximum number of rows that are compared with a new key at a time.
const CHECKED_ROWS_MAX: usize = 131_072;

/// The structure of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TableShape {
    pub(crate) definition: TableDefinition,
    pub(crate) types: Vec<DataType>,
    pub(crate) specs: Vec<IndexSpec>,
}

#[derive(Debug, Clone)]
struct LivePart {
    part: Arc<TablePart>,
    deleted: Arc<DeletedRows>,
}

impl LivePart {
    fn live_count(&self) -> usize {
        self.part.row_count - self.deleted.count()
    }
}

/// An immutable state of a table. States share what they have in common.
#[derive(Debug, Clone)]
pub struct TableState {
    pub(crate) shape: Arc<TableShape>,
    parts: Vec<LivePart>,
    seed: HashSeed,
    pub(crate) threads: usize,
}

/// The matches of a lookup in a table: for each match the position among the keys, the part, and the row in it. They
/// are in the order of the keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableMatches {
    /// The positions of the matching keys among the keys that were looked up.
    pub probes: Vec<u32>,
    /// The part of each matching row.
    pub parts: Vec<u32>,
    /// The number of each matching row in its part.
    pub rows: Vec<u32>,
}

impl TableState {
    /// Creates a table without rows. `types` are the Arrow types of its columns.
    pub fn new(definition: &TableDefinition, types: Vec<DataType>, seed: HashSeed, threads: usize) -> Self {
        let specs = IndexSpec::all_of(definition);
        let shape = Arc::new(TableShape { definition: definition.clone(), types, specs });
        Self { shape, parts: Vec::new(), seed, threads }
    }

    /// Returns the table's definition.
    pub fn definition(&self) -> &TableDefinition {
        &self.shape.definition
    }

    /// Returns the indexes, keys first.
    pub fn indexes(&self) -> &[IndexSpec] {
        &self.shape.specs
    }

    /// Returns the number of live rows.
    pub fn row_count(&self) -> usize {
        self.parts.iter().map(LivePart::live_count).sum()
    }

    /// Returns the size of columns and indexes in bytes.
    pub fn byte_count(&self) -> usize {
        self.parts.iter().map(|part| part.part.byte_count + part.deleted.byte_count()).sum()
    }

    /// Returns the size of one column in bytes.
    pub fn column_bytes(&self, column: usize) -> usize {
        self.parts.iter().map(|part| byte_count_of(&part.part.columns[column])).sum()
    }

    /// Returns the number of parts.
    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// Returns the number of rows in a part, including deleted ones.
    pub fn part_rows(&self, part: usize) -> usize {
        self.parts.get(part).map_or(0, |part| part.part.row_count)
    }

    /// Returns whether `other` is the same state.
    pub fn is(&self, other: &Self) -> bool {
        let same = |(own, other): (&LivePart, &LivePart)| {
            Arc::ptr_eq(&own.part, &other.part) && Arc::ptr_eq(&own.deleted, &other.deleted)
        };
        (Arc::ptr_eq(&self.shape, &other.shape) || self.shape == other.shape)
            && self.parts.len() == other.parts.len()
            && self.parts.iter().zip(&other.parts).all(same)
    }

    /// Looks up many keys in one index.
    pub fn find(&self, index: usize, keys: &RowKeys) -> TableMatches {
        let mut found = TableMatches::default();
        for (number, part) in self.parts.iter().enumerate() {
            let Some(index) = part.part.indexes.get(index) else { continue };
            let mut matches = IndexMatches::default();
            index.find(keys, &mut matches);
            if part.deleted.count() > 0 {
                let pairs =
                    matches.probes.iter().zip(&matches.rows).filter(|(_, row)| !part.deleted.contains(**row as usize));
                (matches.probes, matches.rows) = pairs.map(|(probe, row)| (*probe, *row)).unzip();
            }
            if found.rows.is_empty() {
                (found.probes, found.rows) = (matches.probes, matches.rows);
                found.parts = vec![number as u32; found.rows.len()];
            } else if !matches.rows.is_empty() {
                found.probes.extend(matches.probes);
                found.rows.extend(matches.rows);
                found.parts.resize(found.rows.len(), number as u32);
            }
        }
        if !found.probes.is_sorted() {
            let mut order: Vec<usize> = (0..found.probes.len()).collect();
            order.sort_by_key(|at| found.probes[*at]);
            let sorted = |values: &[u32]| order.iter().map(|at| values[*at]).collect();
            found =
                TableMatches { probes: sorted(&found.probes), parts: sorted(&found.parts), rows: sorted(&found.rows) };
        }
        found
    }

    /// Returns columns of the rows that a lookup found.
    pub fn gather(&self, found: &TableMatches, columns: &[usize]) -> Result<Vec<ArrayRef>> {
        let only = match found.parts.first() {
            None => return Ok(columns.iter().map(|column| new_empty_array(&self.shape.types[*column])).collect()),
            Some(first) => found.parts.iter().all(|part| part == first).then_some(*first as usize),
        };
        if let Some(part) = only {
            let rows = UInt32Array::from(found.rows.clone());
            let taken =
                |column: &usize| take(&self.parts[part].part.columns[*column], &rows, None).map_err(Error::from);
            return columns.iter().map(taken).collect();
        }
        let locations: Vec<(usize, usize)> =
            found.parts.iter().zip(&found.rows).map(|(part, row)| (*part as usize, *row as usize)).collect();
        let interleaved = |column: &usize| {
            let arrays: Vec<&dyn Array> = self.parts.iter().map(|part| part.part.columns[*column].as_ref()).collect();
            interleave(&arrays, &locations).map_err(Error::from)
        };
        columns.iter().map(interleaved).collect()
    }

    /// Divides all rows into ranges to read, each within one part and of about `rows_max` rows at most. Returns part
    /// numbers and row ranges.
    pub fn row_ranges(&self, rows_max: usize) -> Vec<(usize, Range<usize>)> {
        let step = (rows_max / PAGE_ROWS * PAGE_ROWS).max(PAGE_ROWS);
        let parts = self.parts.iter().enumerate();
        let row_range = |(number, part): (usize, &LivePart)| {
            let row_count = part.part.row_count;
            (0..row_count).step_by(step).map(move |start| (number, start..(start + step).min(row_count)))
        };
        parts.flat_map(row_range).collect()
    }

    /// Returns columns of the live rows in a range, and these rows' numbers.
    pub fn read(&self, part: usize, rows: Range<usize>, columns: &[usize]) -> Result<(Vec<ArrayRef>, UInt32Array)> {
        let LivePart { part, deleted } = &self.parts[part];
        let slices = columns.iter().map(|column| part.columns[*column].slice(rows.start, rows.len()));
        let numbers = UInt32Array::from_iter_values(rows.start as u32..rows.end as u32);
        match deleted.live(rows.clone()) {
            None => Ok((slices.collect(), numbers)),
            Some(live) => {
                let live = BooleanArray::new(live, None);
                let columns = slices.map(|slice| filter(&slice, &live).map_err(Error::from)).collect::<Result<_>>()?;
                let numbers = filter(&numbers, &live)?;
                Ok((columns, numbers.to_data().into()))
            }
        }
    }

    /// Returns the state without some rows, given as part and row numbers. Parts with few remaining rows are rewritten.
    pub fn without(&self, locations: impl IntoIterator<Item = (u32, u32)>) -> Result<Self> {
        let mut state = self.clone();
        for (part, row) in locations {
            let Some(part) = state.parts.get_mut(part as usize).filter(|part| (row as usize) < part.part.row_count)
            else {
                return Err(Error::internal(format!("no row {row} in part {part}")));
            };
            Arc::make_mut(&mut part.deleted).insert(row as usize);
        }
        state.parts.retain(|part| part.live_count() > 0);
        for part in &mut state.parts {
            if part.deleted.count() > DELETED_ROWS_MIN && part.deleted.count() * 2 > part.part.row_count {
                *part = self.merged(std::slice::from_ref(part))?;
            }
        }
        Ok(state)
    }

    /// Returns the state without rows.
    pub fn without_rows(&self) -> Self {
        Self { parts: Vec::new(), ..self.clone() }
    }

    /// Creates a part, to be added by [`with_part`](Self::with_part).
    pub(crate) fn build_part(&self, columns: Vec<ArrayRef>, row_count: usize) -> Result<TablePart> {
        TablePart::build(columns, row_count, &self.shape.specs, self.seed, self.threads)
    }

    /// Returns the state with another part. Small parts are merged.
    pub(crate) fn with_part(&self, part: TablePart) -> Result<Self> {
        if part.row_count == 0 {
            return Ok(self.clone());
        }
        let mut parts = self.parts.clone();
        parts.push(LivePart { part: Arc::new(part), deleted: Arc::default() });
        // These are the last parts that are not larger than those after them, so that rows are not merged with a few
        // others each time.
        let mut first = parts.len() - 1;
        let mut live = parts[first].live_count();
        while first > 0 && parts[first - 1].live_count() < MERGE_RATIO * live && fit_together(&parts[first - 1..]) {
            first -= 1;
            live += parts[first].live_count();
        }
        if first + 1 < parts.len() {
            let merged = self.merged(&parts[first..])?;
            parts.truncate(first);
            parts.push(merged);
        }
        Ok(Self { parts, ..self.clone() })
    }

    fn merged(&self, parts: &[LivePart]) -> Result<LivePart> {
        let live =
            |part: &LivePart| part.deleted.live(0..part.part.row_count).map(|live| BooleanArray::new(live, None));
        let lives: Vec<Option<BooleanArray>> = parts.iter().map(live).collect();
        let column = |position: usize| {
            let arrays = parts.iter().zip(&lives).map(|(part, live)| match live {
                None => Ok(ArrayRef::clone(&part.part.columns[position])),
                Some(live) => filter(&part.part.columns[position], live).map_err(Error::from),
            });
            concat_arrays(&arrays.collect::<Result<Vec<_>>>()?, self.threads)
        };
        let columns = (0..self.shape.types.len()).map(column).collect::<Result<_>>()?;
        let row_count = parts.iter().map(LivePart::live_count).sum();
        Ok(LivePart { part: Arc::new(self.build_part(columns, row_count)?), deleted: Arc::default() })
    }

    /// Returns the same rows under another definition. Columns are matched by number, and `added` returns the values of
    /// a new column for a number of rows. Rows that the definition forbids are a
    /// [`DuplicateKey`](atsdb_core::ErrorKind::DuplicateKey) or an
    /// [`InvalidValue`](atsdb_core::ErrorKind::InvalidValue).
    pub fn redefined(
        &self,
        definition: &TableDefinition,
        types: Vec<DataType>,
        added: impl Fn(&Column, usize) -> Result<ArrayRef>,
    ) -> Result<Self> {
        let empty = Self::new(definition, types, self.seed, self.threads);
        let mut state = empty.clone();
        for LivePart { part, deleted } in &self.parts {
            let column = |(column, wanted): (&Column, &DataType)| {
                let own = self.shape.definition.columns.iter().position(|own| own.id == column.id);
                match own {
                    Some(position) if part.columns[position].data_type() == wanted => {
                        Ok(ArrayRef::clone(&part.columns[position]))
                    }
                    Some(position) => cast(&part.columns[position], wanted).map_err(Error::from),
                    None => added(column, part.row_count),
                }
            };
            let columns = definition.columns.iter().zip(&empty.shape.types).map(column).collect::<Result<_>>()?;
            let part = Arc::new(empty.build_part(columns, part.row_count)?);
            state.parts.push(LivePart { part, deleted: Arc::clone(deleted) });
        }
        state.check_added_to(self.definition())?;
        Ok(state)
    }

    /// Refuses rows that break a key or have a NULL that an older definition allowed.
    fn check_added_to(&self, older: &TableDefinition) -> Result<()> {
        let definition = self.definition();
        let position = |id: &ColumnId| definition.columns.iter().position(|column| column.id == *id);
        for column in definition.not_null_added_to(older) {
            let positions: Vec<usize> = position(&column.id).into_iter().collect();
            for (part, rows) in self.row_ranges(CHECKED_ROWS_MAX) {
                let (arrays, _) = self.read(part, rows, &positions)?;
                if arrays.iter().any(|array| array.null_count() > 0) {
                    return Err(definition.contains_null(column));
                }
            }
        }
        for key in definition.keys_added_to(older) {
            let positions: Vec<usize> = key.columns.iter().filter_map(position).collect();
            if let Some((part, row)) = self.find_duplicate(&positions, key.nulls_equal)? {
                let columns = &self.parts[part].part.columns;
                let text = |at: &usize| array_value_to_string(&columns[*at], row).map_err(Error::from);
                let values = positions.iter().map(text).collect::<Result<Vec<_>>>()?;
                return Err(definition.duplicated_key(key, &values));
            }
        }
        Ok(())
    }

    /// Returns part and number of a row whose key another row has.
    fn find_duplicate(&self, positions: &[usize], nulls_equal: bool) -> Result<Option<(usize, usize)>> {
        let is_of_key =
            |spec: &IndexSpec| spec.is_key && spec.positions == positions && spec.nulls_equal == nulls_equal;
        let index = self.shape.specs.iter().position(is_of_key);
        let index = index.ok_or_else(|| Error::internal("a key without an index"))?;
        for (number, LivePart { part, deleted }) in self.parts.iter().enumerate() {
            let within = part.indexes[index].duplicate_among(|row| !deleted.contains(row));
            if let Some(row) = within {
                return Ok(Some((number, row)));
            }
        }
        // No part has a key twice: a lookup finds each row itself, and rows of other parts.
        let spec = IndexSpec { positions: (0..positions.len()).collect(), ..self.shape.specs[index].clone() };
        for (part, rows) in self.row_ranges(CHECKED_ROWS_MAX).into_iter().filter(|_| self.parts.len() > 1) {
            let (columns, numbers) = self.read(part, rows, positions)?;
            let found = self.find(index, &keys_of(&columns, &spec)?);
            if let Some(pair) = found.probes.windows(2).find(|pair| pair[0] == pair[1]) {
                return Ok(Some((part, numbers.value(pair[0] as usize) as usize)));
            }
        }
        Ok(None)
    }
}

fn fit_together(parts: &[LivePart]) -> bool {
    let row_count: usize = parts.iter().map(LivePart::live_count).sum();
    let column_count = parts.first().map_or(0, |part| part.part.columns.len());
    let text_bytes = |column: usize| parts.iter().map(|part| text_bytes_of(&part.part.columns[column])).sum::<usize>();
    row_count <= PART_ROWS_MAX && (0..column_count).all(|column| text_bytes(column) <= PART_TEXT_BYTES_MAX)
}
