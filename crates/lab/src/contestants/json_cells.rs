//! Values that programs write as JSON, converted to cells. JSON has neither times nor dates, and names no types.

use crate::data::answer::Cell;
use crate::failure::Failure;
use atsdb::time::{DAY_SECONDS, days_from_civil};
use serde_json::Value;

/// The kind of values in a column of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonColumn {
    Integer,
    Float,
    /// A time in UTC.
    Time,
    Date,
    Text,
}

/// A value of such a column.
pub(super) fn cell(value: &Value, column: JsonColumn) -> Result<Cell, Failure> {
    let text = match value {
        Value::Null => return Ok(Cell::Null),
        Value::Bool(value) => return Ok(Cell::Integer(i64::from(*value))),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let float = || text.parse::<f64>().map(Cell::Float).map_err(Failure::broken);
    match column {
        // An integer that is too large for 64 bits becomes a fraction.
        JsonColumn::Integer => text.parse::<i64>().map(Cell::Integer).or_else(|_| float()),
        JsonColumn::Float => float(),
        JsonColumn::Time => time(&text).ok_or_else(|| Failure::wrong(format!("no time: {text}"))),
        JsonColumn::Date => days(&text).map(Cell::Integer).ok_or_else(|| Failure::wrong(format!("no date: {text}"))),
        JsonColumn::Text => Ok(Cell::Text(text)),
    }
}

/// The days since the epoch of a text that begins with `2024-01-31`.
fn days(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    Some(days_from_civil(number(0, 4)?, number(5, 7)? as u32, number(8, 10)? as u32))
}

/// `2024-01-31 23:59:59`, maybe with a fraction.
fn time(text: &str) -> Option<Cell> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let seconds = days(text)? * DAY_SECONDS + number(11, 13)? * 3_600 + number(14, 16)? * 60 + number(17, 19)?;
    let fraction = text.get(19..).filter(|rest| rest.starts_with('.')).and_then(|rest| rest.parse::<f64>().ok());
    Some(match fraction {
        Some(fraction) if fraction > 0.0 => Cell::Float(seconds as f64 + fraction),
        _ => Cell::Integer(seconds),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_their_column_says() {
        let of = |json: &str, column| cell(&serde_json::from_str(json).expect("JSON"), column).expect("a cell");
        assert_eq!(of("\"4\"", JsonColumn::Integer), Cell::Integer(4));
        assert_eq!(of("4.0", JsonColumn::Float), Cell::Float(4.0));
        assert_eq!(of("\"4\"", JsonColumn::Text), Cell::Text("4".to_owned()));
        assert_eq!(of("\"2024-02-29 01:02:03\"", JsonColumn::Time), Cell::Integer(1_709_168_523));
        assert_eq!(of("\"2024-02-29 01:02:03.000\"", JsonColumn::Time), Cell::Integer(1_709_168_523));
        assert_eq!(of("\"2013-07-15\"", JsonColumn::Date), Cell::Integer(15_901));
        assert_eq!(of("null", JsonColumn::Integer), Cell::Null);
    }
}
