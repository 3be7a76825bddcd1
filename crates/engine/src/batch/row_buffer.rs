//! Buffers rows that are added one by one.
//!
//! A row is in all columns or in none: a refused row leaves the buffer as it was. If taking the rows out fails, the
//! buffer is as new.

use crate::batch::column_buffer::{BufferedValues, ColumnBuffer};
use crate::batch::record::{Record, RowWriter};
use crate::shared::interner::Interner;
use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use atsdb_codec::stored_type;
use atsdb_core::limits::{CHUNK_ROWS_MAX, CHUNK_TEXT_BYTES_MAX};
use atsdb_core::{Column, Error, Result, TableDefinition};

/// Rows of one table, column by column.
pub(crate) struct RowBuffer {
    columns: Vec<ColumnBuffer>,
    time: Option<usize>,
    /// The position in the table of each column of a record: all but the time column, in order.
    order: Vec<usize>,
    row_count: usize,
    text_bytes: usize,
}

/// A row that is being added. If it is dropped before it is complete, also by a panic, it is removed from all columns.
struct UnfinishedRow<'a> {
    buffer: &'a mut RowBuffer,
    is_whole: bool,
}

impl RowBuffer {
    pub(crate) fn new(definition: &TableDefinition) -> Self {
        let time =
            definition.time.and_then(|time| definition.columns.iter().position(|column| column.id == time.column));
        Self {
            columns: definition.columns.iter().map(ColumnBuffer::new).collect(),
            time,
            order: (0..definition.columns.len()).filter(|position| Some(*position) != time).collect(),
            row_count: 0,
            text_bytes: 0,
        }
    }

    /// Returns whether rows have a time besides their record.
    #[inline]
    pub(crate) fn has_time(&self) -> bool {
        self.time.is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.row_count == 0
    }

    /// Adds a row. After an error the row is not in the buffer.
    #[inline]
    pub(crate) fn push<R: Record>(&mut self, time: Option<i64>, record: &R) -> Result<()> {
        let mut row = UnfinishedRow { buffer: self, is_whole: false };
        row.write(time, record)?;
        row.is_whole = true;
        Ok(())
    }

    /// Returns whether the rows fill a chunk.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.row_count >= CHUNK_ROWS_MAX || self.text_bytes > CHUNK_TEXT_BYTES_MAX
    }

    /// Takes all rows as columns in stored form, and their number. `map` turns the local numbers of a mapped column
    /// into the store's indices. After an error the rows are lost, and so are the strings that were to be mapped.
    pub(crate) fn take(
        &mut self,
        definition: &TableDefinition,
        map: impl FnMut(&Column, &mut Interner, &[u32], Option<NullBuffer>) -> Result<ArrayRef>,
    ) -> Result<(Vec<ArrayRef>, usize)> {
        let taken = self.take_columns(definition, map);
        match &taken {
            Ok(_) => (self.row_count, self.text_bytes) = (0, 0),
            Err(_) => *self = Self::new(definition),
        }
        taken
    }

    fn take_columns(
        &mut self,
        definition: &TableDefinition,
        mut map: impl FnMut(&Column, &mut Interner, &[u32], Option<NullBuffer>) -> Result<ArrayRef>,
    ) -> Result<(Vec<ArrayRef>, usize)> {
        let row_count = self.row_count;
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (column, buffer) in definition.columns.iter().zip(&mut self.columns) {
            if buffer.len() != row_count {
                let (count, name) = (buffer.len(), &column.name);
                return Err(Error::usage(format!("the record wrote {count} values of {name} in {row_count} rows")));
            }
            let array = match column.map {
                None => buffer.take_array(column)?,
                Some(_) => {
                    let (numbers, nulls) = buffer.take_numbers();
                    let BufferedValues::Mapped { interner, .. } = &mut buffer.values else {
                        return Err(Error::internal("a mapped column without an interner"));
                    };
                    map(column, interner, &numbers, nulls)?
                }
            };
            // A mapped column may have been widened since it was declared.
            let is_stored = column.map.is_some() || stored_type(column) == *array.data_type();
            assert!(is_stored, "column {} became {}", column.name, array.data_type());
            if !column.nullable && array.null_count() > 0 {
                let (table, name) = (&definition.name, &column.name);
                return Err(Error::invalid(format!("table {table}, column {name}: a value is NULL")));
            }
            arrays.push(array);
        }
        Ok((arrays, row_count))
    }

    #[cold]
    fn drop_unfinished(&mut self) {
        let row_count = self.row_count;
        self.columns.iter_mut().for_each(|column| column.truncate(row_count));
    }
}

impl UnfinishedRow<'_> {
    #[inline]
    fn write<R: Record>(&mut self, time: Option<i64>, record: &R) -> Result<()> {
        let RowBuffer { columns, time: position, order, row_count, text_bytes } = &mut *self.buffer;
        if let (Some(time), Some(position)) = (time, *position) {
            push_time(&mut columns[position], time)?;
        }
        let mut writer = RowWriter { columns, order, written: 0, text_bytes: 0, error: None };
        record.write(&mut writer);
        let RowWriter { written, text_bytes: row_text_bytes, error, .. } = writer;
        match error {
            Some(error) => return Err(error),
            None if written != order.len() => return Err(other_width(written, order.len())),
            None => {}
        }
        *row_count += 1;
        *text_bytes += row_text_bytes;
        Ok(())
    }
}

impl Drop for UnfinishedRow<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_whole {
            self.buffer.drop_unfinished();
        }
    }
}

#[inline]
fn push_time(column: &mut ColumnBuffer, time: i64) -> Result<()> {
    let beyond = |_| out_of_range(time);
    match &mut column.values {
        BufferedValues::Int64(values) => values.push(time),
        BufferedValues::Int32(values) => values.push(i32::try_from(time).map_err(beyond)?),
        BufferedValues::UInt32(values) => values.push(u32::try_from(time).map_err(beyond)?),
        BufferedValues::UInt64(values) => values.push(u64::try_from(time).map_err(beyond)?),
        _ => return Err(Error::internal("the time column holds no times")),
    }
    Ok(())
}

#[cold]
fn out_of_range(time: i64) -> Error {
    Error::invalid(format!("time {time} does not fit the type of the time column"))
}

#[cold]
fn other_width(written: usize, columns: usize) -> Error {
    Error::usage(format!("the record wrote {written} values for {columns} columns of the table"))
}
