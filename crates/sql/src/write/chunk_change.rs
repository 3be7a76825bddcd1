//! The change of one chunk: removed rows, or columns with new values.

use crate::dml::change::{Change, ChangeKind};
use arrow::array::{Array, ArrayRef, BooleanArray, BooleanBufferBuilder, UInt32Array};
use arrow::compute::{concat, filter};
use atsdb_core::{Error, ErrorKind, NewChunk, Result};
use atsdb_engine::{Rewrite, Scan};

/// Rows of one chunk, and the new values of assigned columns, in pieces as they arrived.
#[derive(Debug, Default)]
pub(super) struct ChunkChange {
    pub(super) numbers: Vec<UInt32Array>,
    /// For each piece its columns: stored ones to set, logical ones to move.
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

impl ChunkChange {
    pub(super) fn push(&mut self, numbers: UInt32Array, values: Vec<ArrayRef>) {
        self.row_count += numbers.len();
        self.numbers.push(numbers);
        self.values.push(values);
    }

    /// The successor of the chunk, and the number of its rows that changed.
    pub(super) fn successor(&self, change: &Change, scan: &Scan, position: usize) -> Result<(Successor, u64)> {
        let Some(chunk) = scan.chunks().get(position) else {
            return Err(Error::internal(format!("no chunk {position} is read")));
        };
        let chunk_rows = chunk.entry.row_count as usize;
        let numbers = self.numbers()?;
        let distinct = count_distinct(&numbers, chunk_rows)?;
        if distinct < numbers.len() && change.kind != ChangeKind::Delete {
            let name = &change.table.definition.name;
            return Err(Error::invalid(format!("UPDATE {name}: a row has several new values"))
                .with_hint("FROM and WHERE must give at most one row for each row that is updated"));
        }
        let rewrite = match change.kind {
            ChangeKind::Set => Rewrite { keep: None, set: self.set(change, scan, position, &numbers)? },
            _ if distinct == chunk_rows => return Ok((Successor::Chunk(None), distinct as u64)),
            _ => Rewrite { keep: Some(others(&numbers, chunk_rows)), set: Vec::new() },
        };
        match scan.rewrite(position, &rewrite) {
            Ok(new) => Ok((Successor::Chunk(new), distinct as u64)),
            Err(error) if error.kind() == ErrorKind::Limit => {
                let (rows, row_count) = rows_of(change, scan, position, &rewrite)?;
                Ok((Successor::Rows(rows, row_count), distinct as u64))
            }
            Err(error) => Err(error),
        }
    }

    fn numbers(&self) -> Result<UInt32Array> {
        let pieces: Vec<&dyn Array> = self.numbers.iter().map(|piece| piece as &dyn Array).collect();
        match self.numbers.as_slice() {
            [only] => Ok(only.clone()),
            _ => Ok(concat(&pieces)?.to_data().into()),
        }
    }

    /// The assigned columns, with all rows.
    fn set(
        &self,
        change: &Change,
        scan: &Scan,
        position: usize,
        numbers: &UInt32Array,
    ) -> Result<Vec<(usize, ArrayRef)>> {
        let column = |(at, column): (usize, &usize)| {
            let pieces: Vec<&dyn Array> = self.values.iter().map(|piece| piece[at].as_ref()).collect();
            let values = concat(&pieces)?;
            Ok((*column, scan.replaced(position, *column, numbers, &values)?))
        };
        change.columns.iter().enumerate().map(column).collect()
    }
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

/// A mask of all other rows.
fn others(numbers: &UInt32Array, chunk_rows: usize) -> BooleanArray {
    let mut keep = BooleanBufferBuilder::new(chunk_rows);
    keep.append_n(chunk_rows, true);
    numbers.values().iter().for_each(|number| keep.set_bit(*number as usize, false));
    BooleanArray::new(keep.finish(), None)
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
