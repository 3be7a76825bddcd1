//! A number for a set of rows that does not depend on their order: equal rows have equal numbers.
//!
//! A row's cells are folded into one number; the numbers, mixed, are added. It is meant for comparing the contents of
//! two databases, not against forgery, and costs only a nanosecond or two per row, so that it does not affect the
//! measurement of reading.

use crate::failure::Failure;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt8Type, UInt16Type, UInt32Type};

const FOLD: u64 = 0x9E37_79B9_7F4A_7C15;
const NULL: u64 = 0xD6E8_FEB8_6659_FD93;

/// The number of rows, and the sum over them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowDigest {
    /// The number of rows.
    pub rows: u64,
    /// The sum of their numbers, modulo 2^64.
    pub sum: u64,
}

/// The number of an integer, and of a time as the count of its unit.
#[inline]
pub(crate) fn integer_cell(value: i64) -> u64 {
    value as u64
}

/// The number of a text or of bytes.
#[inline]
pub(crate) fn text_cell(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut number = bytes.len() as u64;
    for word in words {
        number = (number ^ u64::from_le_bytes(*word)).wrapping_mul(FOLD).rotate_left(29);
    }
    let tail = rest.iter().fold(0_u64, |tail, byte| (tail << 8) | u64::from(*byte));
    (number ^ tail).wrapping_mul(FOLD)
}

/// The number of a NULL.
#[inline]
pub(crate) fn null_cell() -> u64 {
    NULL
}

/// A row's number so far, and one more cell.
#[inline]
pub(crate) fn fold(row: u64, cell: u64) -> u64 {
    row.wrapping_mul(FOLD).wrapping_add(cell)
}

impl RowDigest {
    /// Adds a row whose cells were folded, from 0 on.
    #[inline]
    pub fn add_row(&mut self, row: u64) {
        let mixed = (row ^ (row >> 32)).wrapping_mul(NULL);
        self.sum = self.sum.wrapping_add(mixed ^ (mixed >> 29));
        self.rows += 1;
    }

    /// Adds the rows of a batch.
    ///
    /// # Errors
    ///
    /// A column of a type that the lab's tables do not have.
    pub fn add_batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let mut rows = vec![0_u64; batch.num_rows()];
        for column in batch.columns() {
            fold_column(&mut rows, column)?;
        }
        rows.into_iter().for_each(|row| self.add_row(row));
        Ok(())
    }
}

fn fold_column(rows: &mut [u64], column: &ArrayRef) -> Result<(), Failure> {
    match column.data_type() {
        DataType::Dictionary(key, _) => {
            let dictionary = column.as_any_dictionary();
            let mut words = vec![0_u64; dictionary.values().len()];
            fold_column(&mut words, dictionary.values())?;
            macro_rules! fold_keys {
                ($type:ty) => {{
                    let keys = column.as_dictionary::<$type>().keys();
                    fold_cells(
                        rows,
                        keys.values().iter().map(|key| words.get(*key as usize).copied().unwrap_or(NULL)),
                        keys,
                    )
                }};
            }
            match **key {
                DataType::UInt8 => fold_keys!(UInt8Type),
                DataType::UInt16 => fold_keys!(UInt16Type),
                DataType::UInt32 => fold_keys!(UInt32Type),
                _ => return Err(Failure::cannot(format!("dictionary keys of type {key} have no digest"))),
            }
        }
        DataType::Utf8 => {
            let texts = column.as_string::<i32>();
            fold_cells(rows, (0..texts.len()).map(|row| text_cell(texts.value(row).as_bytes())), texts);
        }
        DataType::Int32 => {
            let integers = column.as_primitive::<arrow::datatypes::Int32Type>();
            fold_cells(rows, integers.values().iter().map(|value| integer_cell(i64::from(*value))), integers);
        }
        DataType::Float64 => {
            let floats = column.as_primitive::<Float64Type>();
            fold_cells(rows, floats.values().iter().map(|value| value.to_bits()), floats);
        }
        DataType::Float32 | DataType::Boolean => {
            let wider = if *column.data_type() == DataType::Boolean { DataType::Int64 } else { DataType::Float64 };
            fold_column(rows, &cast(column, &wider).map_err(Failure::broken)?)?;
        }
        data_type if data_type.is_integer() || data_type.is_temporal() => {
            let integers = cast(column, &DataType::Int64).map_err(Failure::broken)?;
            let integers = integers.as_primitive::<Int64Type>();
            fold_cells(rows, integers.values().iter().map(|value| integer_cell(*value)), integers);
        }
        other => return Err(Failure::cannot(format!("columns of type {other} have no digest"))),
    }
    Ok(())
}

fn fold_cells(rows: &mut [u64], cells: impl Iterator<Item = u64>, array: &dyn Array) {
    match array.logical_null_count() {
        0 => rows.iter_mut().zip(cells).for_each(|(row, cell)| *row = fold(*row, cell)),
        _ => rows.iter_mut().zip(cells).enumerate().for_each(|(position, (row, cell))| {
            *row = fold(*row, if array.is_null(position) { null_cell() } else { cell });
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Array, StringArray};
    use std::sync::Arc;

    fn digest(counts: &[Option<i32>], names: &[&str]) -> RowDigest {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("count", Arc::new(Int32Array::from(counts.to_vec()))),
            ("name", Arc::new(StringArray::from(names.to_vec()))),
        ];
        let mut digest = RowDigest::default();
        digest.add_batch(&RecordBatch::try_from_iter(columns).expect("a batch")).expect("a digest");
        digest
    }

    #[test]
    fn order_does_not_matter_but_what_belongs_together_does() {
        let rows = digest(&[Some(1), None], &["one", "none"]);
        assert_eq!(rows, digest(&[None, Some(1)], &["none", "one"]));
        assert_ne!(rows, digest(&[None, Some(1)], &["one", "none"]));
        assert_ne!(rows, digest(&[Some(0), Some(1)], &["none", "one"]));
    }

    #[test]
    fn texts_differ_by_every_byte_and_by_length() {
        let texts: [&[u8]; 6] = [b"", b"\0", b"sensor-0001", b"sensor-0010", b"sensor-000", b"tensor-0001"];
        let mut cells: Vec<u64> = texts.into_iter().map(text_cell).collect();
        cells.sort_unstable();
        cells.dedup();
        assert_eq!(cells.len(), texts.len());
    }
}
