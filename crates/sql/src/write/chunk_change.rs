//! The change of one chunk: removed rows, or columns with new values.

use crate::dml::change::{Change, ChangeKind};
use arrow::array::{Array, ArrayRef, BooleanArray, BooleanBufferBuilder, UInt32Array};
use arrow::compute::{concat, filter};
use atsdb_core::{Error, ErrorKind, NewChunk, Result};
use atsdb_engine::{Rewrite, Scan};
use std::collections::BTreeMap;

/// Rows of one chunk, and the new values of assigned columns, in pieces as they arrived.
#[derive(Debug, Default, Clone)]
pub(super) struct ChunkChange {
    pub(super) numbers: Vec<UInt32Array>,
    /// The columns of each piece: stored ones to set, logical ones to move.
    pub(super) values: Vec<Vec<ArrayRef>>,
    pub(super) row_count: usize,
    pub(super) bytes: usize,
}

/// The replacement of a chunk.
pub(super) enum Successor {
    /// `None` if no row is left.
    Chunk(Option<NewChunk>),
    /// The rows in stored form, which must be added again because they are too large for one chunk.
    Rows(Vec<ArrayRef>, usize),
}

/// The change of a chunk by one part of a statement.
#[derive(Debug, Clone)]
pub(super) struct PartialChange {
    /// Whether the rows are removed. Otherwise the columns, by position, get the values.
    removes: bool,
    columns: Vec<usize>,
    pub(super) rows: ChunkChange,
}

impl PartialChange {
    pub(super) fn of(change: &Change, rows: ChunkChange) -> Self {
        Self { removes: change.kind != ChangeKind::Set, columns: change.columns.clone(), rows }
    }
}

impl ChunkChange {
    pub(super) fn push(&mut self, numbers: UInt32Array, values: Vec<ArrayRef>) {
        self.row_count += numbers.len();
        self.numbers.push(numbers);
        self.values.push(values);
    }

    fn numbers(&self) -> Result<UInt32Array> {
        let pieces: Vec<&dyn Array> = self.numbers.iter().map(|piece| piece as &dyn Array).collect();
        match self.numbers.as_slice() {
            [only] => Ok(only.clone()),
            _ => Ok(concat(&pieces)?.to_data().into()),
        }
    }
}

/// Returns the successor of a chunk, and the number of its rows that the last of these changes affects. No two of the
/// changes affect the same row.
pub(super) fn successor(
    changes: &[PartialChange],
    change: &Change,
    scan: &Scan,
    position: usize,
) -> Result<(Successor, u64)> {
    let (Some(chunk), Some(last)) = (scan.chunks().get(position), changes.last()) else {
        return Err(Error::internal(format!("no chunk {position} is read")));
    };
    let chunk_rows = chunk.entry.row_count as usize;
    let numbers = last.rows.numbers()?;
    let distinct = count_distinct(&numbers, chunk_rows)?;
    if distinct < numbers.len() && change.kind != ChangeKind::Delete {
        let name = &change.table.definition.name;
        return Err(Error::invalid(format!("UPDATE {name}: a row has several new values"))
            .with_hint("FROM and WHERE must give at most one row for each row that is updated"));
    }
    let keep = kept(changes, chunk_rows);
    if keep.as_ref().is_some_and(|keep| !keep.has_true()) {
        return Ok((Successor::Chunk(None), distinct as u64));
    }
    let rewrite = Rewrite { keep, set: assigned(changes, scan, position)? };
    match scan.rewrite(position, &rewrite) {
        Ok(new) => Ok((Successor::Chunk(new), distinct as u64)),
        Err(error) if error.kind() == ErrorKind::Limit => {
            let (rows, row_count) = rows_of(change, scan, position, &rewrite)?;
            Ok((Successor::Rows(rows, row_count), distinct as u64))
        }
        Err(error) => Err(error),
    }
}

/// The assigned columns, with all rows.
fn assigned(changes: &[PartialChange], scan: &Scan, position: usize) -> Result<Vec<(usize, ArrayRef)>> {
    type Pieces<'a> = (Vec<&'a dyn Array>, Vec<&'a dyn Array>);
    let mut columns: BTreeMap<usize, Pieces<'_>> = BTreeMap::new();
    for PartialChange { columns: assigned, rows, .. } in changes.iter().filter(|change| !change.removes) {
        for (at, column) in assigned.iter().enumerate() {
            let (numbers, values) = columns.entry(*column).or_default();
            numbers.extend(rows.numbers.iter().map(|piece| piece as &dyn Array));
            values.extend(rows.values.iter().map(|piece| piece[at].as_ref()));
        }
    }
    let column = |(column, (numbers, values)): (usize, Pieces<'_>)| {
        let numbers: UInt32Array = concat(&numbers)?.to_data().into();
        Ok((column, scan.replaced(position, column, &numbers, &concat(&values)?)?))
    };
    columns.into_iter().map(column).collect()
}

/// The number of distinct rows.
fn count_distinct(numbers: &UInt32Array, chunk_rows: usize) -> Result<usize> {
    let numbers = numbers.values();
    if numbers.last().is_some_and(|last| *last as usize >= chunk_rows) {
        return Err(Error::internal(format!("a changed row is beyond the {chunk_rows} rows of its chunk")));
    }
    if numbers.is_sorted_by(|a, b| a < b) {
        return Ok(numbers.len());
    }
    let mut seen = vec![false; chunk_rows];
    for number in numbers {
        match seen.get_mut(*number as usize) {
            Some(seen) => *seen = true,
            None => return Err(Error::internal(format!("changed row {number} of {chunk_rows} is out of range"))),
        }
    }
    Ok(seen.into_iter().filter(|seen| *seen).count())
}

/// A mask of the rows that stay; `None` if no change removes rows.
fn kept(changes: &[PartialChange], chunk_rows: usize) -> Option<BooleanArray> {
    let mut removing = changes.iter().filter(|change| change.removes).peekable();
    removing.peek()?;
    let mut keep = BooleanBufferBuilder::new(chunk_rows);
    keep.append_n(chunk_rows, true);
    for numbers in removing.flat_map(|change| &change.rows.numbers) {
        numbers.values().iter().for_each(|number| keep.set_bit(*number as usize, false));
    }
    Some(BooleanArray::new(keep.finish(), None))
}

/// The rows of a successor, in stored form.
fn rows_of(change: &Change, scan: &Scan, position: usize, rewrite: &Rewrite) -> Result<(Vec<ArrayRef>, usize)> {
    let all: Vec<usize> = (0..change.table.definition.columns.len()).collect();
    let mut columns = scan.read_stored(position, &all)?;
    rewrite.set.iter().for_each(|(column, values)| columns[*column] = ArrayRef::clone(values));
    if let Some(keep) = &rewrite.keep {
        columns = columns.iter().map(|column| filter(column, keep).map_err(Error::from)).collect::<Result<_>>()?;
    }
    let row_count = columns.first().map_or(0, |column| column.len());
    Ok((columns, row_count))
}
