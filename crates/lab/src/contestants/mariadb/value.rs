//! Converts values of the server to cells, and column types to the server's.

use super::engine::Engine;
use crate::data::answer::Cell;
use crate::data::digest::{integer_cell, null_cell, text_cell};
use crate::failure::Failure;
use atsdb::time::{DAY_SECONDS, days_from_civil};
use atsdb::{Column, ColumnType, TimeUnit};
use mysql::Value;

/// The maximum length of repeated texts, in characters. MEMORY reserves it in every row.
const TEXT_CHARACTERS: (u32, u32) = (100, 64);
/// The maximum length of other texts, in characters.
const LONG_TEXT_CHARACTERS: u32 = 255;

/// A column's type.
pub(super) fn column_type(column: &Column, engine: Engine) -> String {
    match column.column_type {
        ColumnType::Text => {
            let (characters, collation) = match engine {
                Engine::Memory => (TEXT_CHARACTERS.1, "latin1 COLLATE latin1_bin"),
                _ => (TEXT_CHARACTERS.0, "utf8mb4 COLLATE utf8mb4_bin"),
            };
            let characters = if column.map.is_some() { characters } else { LONG_TEXT_CHARACTERS };
            format!("VARCHAR({characters}) CHARACTER SET {collation}")
        }
        ColumnType::Date => "DATE".to_owned(),
        ColumnType::Timestamp(TimeUnit::Second) => "DATETIME".to_owned(),
        ColumnType::Timestamp(TimeUnit::Millisecond) => "DATETIME(3)".to_owned(),
        ColumnType::Timestamp(TimeUnit::Microsecond) => "DATETIME(6)".to_owned(),
        ColumnType::Float32 => "FLOAT".to_owned(),
        ColumnType::Float64 => "DOUBLE".to_owned(),
        ColumnType::Binary => "VARBINARY(255)".to_owned(),
        ColumnType::Int8 | ColumnType::Bool => "TINYINT".to_owned(),
        ColumnType::Int16 => "SMALLINT".to_owned(),
        ColumnType::Int32 => "INT".to_owned(),
        _ => "BIGINT".to_owned(),
    }
}

/// Converts a value of an answer, in a column of this type, to a cell.
pub(super) fn cell(value: Value, column_type: mysql::consts::ColumnType) -> Result<Cell, Failure> {
    Ok(match value {
        Value::NULL => Cell::Null,
        Value::Int(value) => Cell::Integer(value),
        Value::UInt(value) => i64::try_from(value).map_or(Cell::Float(value as f64), Cell::Integer),
        Value::Float(value) => Cell::Float(f64::from(value)),
        Value::Double(value) => Cell::Float(value),
        Value::Bytes(bytes) => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            match column_type {
                mysql::consts::ColumnType::MYSQL_TYPE_NEWDECIMAL => decimal(&text),
                _ => Cell::Text(text),
            }
        }
        date @ (Value::Date(..) | Value::Time(..)) => {
            let is_date = column_type == mysql::consts::ColumnType::MYSQL_TYPE_DATE;
            Cell::Integer(seconds(&date)?.0 / if is_date { DAY_SECONDS } else { 1 })
        }
    })
}

/// Returns a whole number if the text is one. Sums are, means never are.
pub(super) fn decimal(text: &str) -> Cell {
    match text.parse() {
        Ok(integer) => Cell::Integer(integer),
        Err(_) => Cell::Float(text.parse().unwrap_or(f64::NAN)),
    }
}

/// The number of a value for a digest; times count `per_second`, dates days.
pub(super) fn digest_cell(value: &Value, column_type: ColumnType, per_second: i64) -> Result<u64, Failure> {
    Ok(match value {
        Value::NULL => null_cell(),
        Value::Int(value) => integer_cell(*value),
        Value::UInt(value) => *value,
        Value::Float(value) => f64::from(*value).to_bits(),
        Value::Double(value) => value.to_bits(),
        Value::Bytes(bytes) => text_cell(bytes),
        date @ (Value::Date(..) | Value::Time(..)) => {
            let (seconds, microseconds) = seconds(date)?;
            if column_type == ColumnType::Date {
                return Ok(integer_cell(seconds / DAY_SECONDS));
            }
            integer_cell(seconds * per_second + microseconds * per_second / 1_000_000)
        }
    })
}

/// Seconds since the epoch, and microseconds.
fn seconds(value: &Value) -> Result<(i64, i64), Failure> {
    let Value::Date(year, month, day, hour, minute, second, microseconds) = value else {
        return Err(Failure::cannot("a time of day has no workspace on the calendar"));
    };
    let days = days_from_civil(i64::from(*year), u32::from(*month), u32::from(*day));
    let of_day = i64::from(*hour) * 3_600 + i64::from(*minute) * 60 + i64::from(*second);
    Ok((days * DAY_SECONDS + of_day, i64::from(*microseconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_counted_from_the_epoch() {
        assert_eq!(seconds(&Value::Date(2024, 2, 29, 1, 2, 3, 4)).expect("a time"), (1_709_168_523, 4));
    }

    #[test]
    fn a_sum_is_whole_and_a_mean_is_not() {
        assert_eq!([decimal("12"), decimal("12.0000")], [Cell::Integer(12), Cell::Float(12.0)]);
    }
}
