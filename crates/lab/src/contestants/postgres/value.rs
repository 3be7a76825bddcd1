//! Values in PostgreSQL's binary form, and columns as its types. Times there count microseconds from 2000 on.

use crate::data::answer::Cell;
use crate::data::digest::{integer_cell, text_cell};
use crate::failure::Failure;
use atsdb::{ColumnType, TimeUnit};
use postgres::types::{FromSql, Type};
use std::error::Error;

/// The time from 1970 to 2000, in microseconds.
pub(super) const EPOCH_MICROSECONDS: i64 = 946_684_800_000_000;

/// The time from 1970 to 2000, in days.
pub(super) const EPOCH_DAYS: i32 = 10_957;

/// A column's type.
pub(super) fn column_type(column_type: ColumnType) -> &'static str {
    match column_type {
        ColumnType::Text => "TEXT",
        ColumnType::Binary => "BYTEA",
        ColumnType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond | TimeUnit::Microsecond) => "TIMESTAMPTZ",
        ColumnType::Date => "DATE",
        ColumnType::Float32 => "REAL",
        ColumnType::Float64 => "DOUBLE PRECISION",
        ColumnType::Bool | ColumnType::Int8 | ColumnType::Int16 => "SMALLINT",
        ColumnType::Int32 => "INTEGER",
        _ => "BIGINT",
    }
}

/// The raw value, of any type.
pub(crate) struct Raw<'a> {
    data_type: Type,
    bytes: &'a [u8],
}

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(data_type: &Type, bytes: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self { data_type: data_type.clone(), bytes })
    }

    fn accepts(_data_type: &Type) -> bool {
        true
    }
}

impl Raw<'_> {
    /// Converts the value to a cell of an answer.
    pub(crate) fn cell(&self) -> Result<Cell, Failure> {
        Ok(match self.data_type {
            Type::BOOL | Type::INT2 | Type::INT4 | Type::INT8 => Cell::Integer(self.integer()?),
            Type::FLOAT4 | Type::FLOAT8 => Cell::Float(self.float()?),
            Type::DATE => Cell::Integer(self.integer()? + i64::from(EPOCH_DAYS)),
            Type::NUMERIC => numeric(self.bytes)?,
            Type::TIMESTAMP | Type::TIMESTAMPTZ => match self.integer()? + EPOCH_MICROSECONDS {
                time if time % 1_000_000 == 0 => Cell::Integer(time / 1_000_000),
                time => Cell::Float(time as f64 / 1e6),
            },
            _ => Cell::Text(String::from_utf8_lossy(self.bytes).into_owned()),
        })
    }

    /// Converts the value to a number for a digest. Times have `per_second` units in a second.
    #[inline]
    pub(crate) fn digest_cell(&self, per_second: i64) -> Result<u64, Failure> {
        Ok(match self.data_type {
            Type::BOOL | Type::INT2 | Type::INT4 | Type::INT8 => integer_cell(self.integer()?),
            Type::FLOAT4 | Type::FLOAT8 => self.float()?.to_bits(),
            Type::DATE => integer_cell(self.integer()? + i64::from(EPOCH_DAYS)),
            Type::TIMESTAMP | Type::TIMESTAMPTZ => {
                integer_cell((self.integer()? + EPOCH_MICROSECONDS) / (1_000_000 / per_second.min(1_000_000)))
            }
            _ => text_cell(self.bytes),
        })
    }

    fn integer(&self) -> Result<i64, Failure> {
        Ok(match self.bytes {
            [value] => i64::from(*value),
            [a, b] => i64::from(i16::from_be_bytes([*a, *b])),
            [a, b, c, d] => i64::from(i32::from_be_bytes([*a, *b, *c, *d])),
            bytes => i64::from_be_bytes(bytes.try_into().map_err(|_| Failure::wrong("an integer of no known width"))?),
        })
    }

    fn float(&self) -> Result<f64, Failure> {
        Ok(match self.bytes {
            [a, b, c, d] => f64::from(f32::from_be_bytes([*a, *b, *c, *d])),
            bytes => f64::from_be_bytes(bytes.try_into().map_err(|_| Failure::wrong("a number of no known width"))?),
        })
    }
}

/// Reads a NUMERIC: digits of base 10,000, the weight of the first, the sign, and the number of decimals that are shown
/// (`numeric_send` of PostgreSQL's numeric.c). A value without decimals is a whole number. Sums of integers are; means
/// never are.
fn numeric(bytes: &[u8]) -> Result<Cell, Failure> {
    let word = |at: usize| bytes.get(at * 2..at * 2 + 2).map(|pair| i16::from_be_bytes([pair[0], pair[1]]));
    let (Some(count), Some(weight), Some(sign), Some(scale)) = (word(0), word(1), word(2), word(3)) else {
        return Err(Failure::wrong("a NUMERIC is too short"));
    };
    let digits = (0..count as usize).map_while(|at| word(4 + at)).map(i64::from);
    if scale == 0 {
        let places = usize::try_from(weight + 1).unwrap_or(0);
        let whole = digits.chain(std::iter::repeat(0)).take(places);
        let value = whole.fold(0_i64, |value, digit| value.wrapping_mul(10_000).wrapping_add(digit));
        return Ok(Cell::Integer(if sign == 0 { value } else { -value }));
    }
    let value = digits.fold(0.0, |value, digit| value * 10_000.0 + digit as f64);
    let value = value * 10_000_f64.powi(i32::from(weight) + 1 - i32::from(count));
    Ok(Cell::Float(if sign == 0 { value } else { -value }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[i16]) -> Cell {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        numeric(&bytes).expect("a number")
    }

    #[test]
    fn numbers_of_base_10000_are_read() {
        assert_eq!(of(&[0, 0, 0, 0]), Cell::Integer(0));
        assert_eq!(of(&[1, 1, 0, 0, 7]), Cell::Integer(70_000));
        assert_eq!(of(&[2, 1, 0x4000, 0, 12, 3_456]), Cell::Integer(-123_456));
        assert_eq!(of(&[2, 0, 0, 4, 12, 5_000]), Cell::Float(12.5));
        assert_eq!(of(&[1, -1, 0, 4, 2_500]), Cell::Float(0.25));
    }
}
