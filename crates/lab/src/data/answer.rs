//! The answer of a query, in a form that two databases can be compared by.
//!
//! A row is a line of text: integers in decimal, floating point numbers with nine significant digits (the order of
//! a sum differs between databases), times as seconds since the epoch, dates as days, NULL as such. Rows are sorted
//! before they are hashed, so that only a query's own LIMIT makes their order matter.

use crate::failure::Failure;
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit, TimestampNanosecondType, UInt64Type};
use serde::{Deserialize, Serialize};

/// One value of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// No value.
    Null,
    /// A whole number, a time in seconds, or a date in days.
    Integer(i64),
    /// A floating point number.
    Float(f64),
    /// A text.
    Text(String),
}

/// The rows of a query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// The rows in their original order.
    pub rows: Vec<Vec<Cell>>,
}

/// The part of an answer that a report keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerHash {
    /// The number of rows.
    pub rows: u64,
    /// FNV-1a of the sorted lines, 64 bits in hexadecimal.
    pub hash: String,
}

impl Answer {
    /// Adds the rows of a batch.
    ///
    /// # Errors
    ///
    /// A column of a type that has no cell.
    pub fn add_batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let columns = batch.columns().iter().map(|column| cells(column)).collect::<Result<Vec<_>, _>>()?;
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        for _ in 0..batch.num_rows() {
            self.rows.push(columns.iter_mut().filter_map(Iterator::next).collect());
        }
        Ok(())
    }

    /// Returns the same rows with only the columns at these positions.
    #[must_use]
    pub fn columns(&self, positions: &[usize]) -> Self {
        let row = |row: &Vec<Cell>| positions.iter().filter_map(|position| row.get(*position).cloned()).collect();
        Self { rows: self.rows.iter().map(row).collect() }
    }

    /// Returns the same rows with whole numbers as fractions.
    #[must_use]
    pub fn fractions(&self) -> Self {
        let fraction = |cell: &Cell| match cell {
            Cell::Integer(value) => Cell::Float(*value as f64),
            cell => cell.clone(),
        };
        Self { rows: self.rows.iter().map(|row| row.iter().map(fraction).collect()).collect() }
    }

    /// The hash of the answer.
    pub fn hash(&self) -> AnswerHash {
        self.hash_to(9)
    }

    /// The hash with floating point numbers rounded to this many digits, at least one, for columns that some
    /// contestants store in four bytes.
    pub fn hash_to(&self, digits: usize) -> AnswerHash {
        let mut lines: Vec<String> = self.rows.iter().map(|row| line(row, digits)).collect();
        lines.sort_unstable();
        let mut hash = 0xCBF2_9CE4_8422_2325_u64;
        for byte in lines.iter().flat_map(|line| line.bytes().chain([b'\n'])) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
        AnswerHash { rows: lines.len() as u64, hash: format!("{hash:016x}") }
    }
}

fn line(row: &[Cell], digits: usize) -> String {
    let texts: Vec<String> = row
        .iter()
        .map(|cell| match cell {
            Cell::Null => "NULL".to_owned(),
            Cell::Integer(value) => value.to_string(),
            Cell::Float(value) => format!("{value:.0$e}", digits.saturating_sub(1)),
            Cell::Text(value) => format!("{value:?}"),
        })
        .collect();
    texts.join("\t")
}

fn cells(column: &dyn Array) -> Result<Vec<Cell>, Failure> {
    let to = |data_type: DataType| cast(column, &data_type).map_err(Failure::broken);
    let cells: Vec<Cell> = match column.data_type() {
        DataType::Null => vec![Cell::Null; column.len()],
        DataType::UInt64 => {
            let integers = to(DataType::UInt64)?;
            let cell = |value: u64| i64::try_from(value).map_or(Cell::Float(value as f64), Cell::Integer);
            integers.as_primitive::<UInt64Type>().iter().map(|value| value.map_or(Cell::Null, cell)).collect()
        }
        DataType::Timestamp(_, zone) => {
            let times = to(DataType::Timestamp(TimeUnit::Nanosecond, zone.clone()))?;
            let cell = |nanoseconds: i64| match nanoseconds % 1_000_000_000 {
                0 => Cell::Integer(nanoseconds / 1_000_000_000),
                _ => Cell::Float(nanoseconds as f64 / 1e9),
            };
            times.as_primitive::<TimestampNanosecondType>().iter().map(|time| time.map_or(Cell::Null, cell)).collect()
        }
        integer
            if integer.is_integer()
                || matches!(integer, DataType::Boolean | DataType::Date32 | DataType::Decimal128(_, 0)) =>
        {
            let integers = to(DataType::Int64)?;
            integers.as_primitive::<Int64Type>().iter().map(|value| value.map_or(Cell::Null, Cell::Integer)).collect()
        }
        number if number.is_numeric() => {
            let numbers = to(DataType::Float64)?;
            numbers.as_primitive::<Float64Type>().iter().map(|value| value.map_or(Cell::Null, Cell::Float)).collect()
        }
        _ => {
            let texts = to(DataType::Utf8)?;
            let cell = |text: &str| Cell::Text(text.to_owned());
            texts.as_string::<i32>().iter().map(|text| text.map_or(Cell::Null, cell)).collect()
        }
    };
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Float64Array, StringArray, TimestampMillisecondArray};
    use std::sync::Arc;

    #[test]
    fn the_same_rows_from_arrow_and_by_hand_have_one_hash() {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("hour", Arc::new(TimestampMillisecondArray::from(vec![3_600_000, 0]).with_timezone("UTC"))),
            ("sensor", Arc::new(StringArray::from(vec![Some("a"), None]))),
            ("mean", Arc::new(Float64Array::from(vec![1.0 / 3.0, 2.0]))),
        ];
        let mut from_arrow = Answer::default();
        from_arrow.add_batch(&RecordBatch::try_from_iter(columns).expect("a batch")).expect("an answer");
        let by_hand = Answer {
            rows: vec![
                vec![Cell::Integer(0), Cell::Null, Cell::Float(2.0)],
                vec![Cell::Integer(3_600), Cell::Text("a".to_owned()), Cell::Float(0.333_333_333_300_1)],
            ],
        };
        assert_eq!(from_arrow.hash(), by_hand.hash());
        let wrong = Answer { rows: vec![by_hand.rows[0].clone()] };
        assert_ne!(from_arrow.hash(), wrong.hash());
    }
}
