//! `to_date(text, pattern)` and `to_timestamp(text, pattern)` with PostgreSQL's patterns (`YYYY-MM-DD`). Patterns of
//! strftime, which contain a `%`, and calls with other arguments are left to DataFusion, except for seconds that are no
//! time: NaN, and those out of range, which it would turn into other times. `to_timestamp` of a number, or by a
//! pattern of PostgreSQL's, has microseconds. DataFusion's has nanoseconds, whose range ends in the year 2262.

use crate::functions::base::answers::answer;
use crate::functions::base::arguments::{strictly, text_of};
use crate::functions::base::of_inner::of_inner;
use crate::functions::times::time_fields::TimeFields;
use crate::functions::times::time_pattern::{PatternField, PatternPiece, TimeField, pieces_of};
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use atsdb_core::Result as CoreResult;
use atsdb_core::time::{DAY_MICROSECONDS, SECOND_MICROSECONDS};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Date32Array, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, FieldRef, Float64Type, Int64Type, TimeUnit,
    TimestampMicrosecondType,
};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use std::sync::Arc;

/// The function that makes times.
const TO_TIMESTAMP: &str = "to_timestamp";

/// `to_date` or `to_timestamp`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct FromPattern {
    inner: Arc<ScalarUDF>,
}

impl FromPattern {
    pub(super) fn new(inner: Arc<ScalarUDF>) -> Self {
        Self { inner }
    }
}

impl ScalarUDFImpl for FromPattern {
    of_inner!(name, aliases, signature, return_type, documentation);

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let pattern = args.scalar_arguments.get(1).copied().flatten().and_then(text_of);
        let has_microseconds = match args.arg_fields {
            [seconds] => self.name() == TO_TIMESTAMP && seconds.data_type().is_numeric(),
            [_, _] => pattern.is_some_and(|pattern| !pattern.contains('%')),
            _ => false,
        };
        let field = self.inner.return_field_from_args(args)?;
        Ok(match field.data_type() {
            DataType::Timestamp(_, zone) if has_microseconds => {
                let of = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
                Arc::new(field.as_ref().clone().with_data_type(of))
            }
            _ => field,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let ([seconds], DataType::Timestamp(unit, _)) = (args.args.as_slice(), args.return_type()) {
            check_seconds(seconds, *unit)?;
            if *unit == TimeUnit::Microsecond && self.name() == TO_TIMESTAMP {
                return times_of(seconds);
            }
        }
        let [texts, ColumnarValue::Scalar(pattern)] = args.args.as_slice() else {
            return self.inner.invoke_with_args(args);
        };
        let Some(pieces) = text_of(pattern).filter(|pattern| !pattern.contains('%')).map(pieces_of) else {
            return self.inner.invoke_with_args(args);
        };
        let texts = texts.cast_to(&DataType::Utf8, None)?;
        let is_scalar = matches!(texts, ColumnarValue::Scalar(_));
        let texts = texts.into_array(1)?;
        let times = texts.as_string::<i32>().iter().map(|text| text.map(|text| read(text, &pieces)).transpose());
        let times = times.collect::<CoreResult<Vec<Option<i64>>>>().map_err(external)?;
        let found: ArrayRef = match args.return_type() {
            DataType::Date32 => {
                let days = |micros: i64| micros.div_euclid(DAY_MICROSECONDS) as i32;
                Arc::new(times.into_iter().map(|time| time.map(days)).collect::<Date32Array>())
            }
            _ => Arc::new(TimestampMicrosecondArray::from(times)),
        };
        answer(is_scalar, found)
    }
}

/// The times of seconds since the epoch, rounded to microseconds.
fn times_of(seconds: &ColumnarValue) -> Result<ColumnarValue> {
    let out_of_range = || external(sql_error("timestamp out of range"));
    let numbers = seconds.clone().into_array(1)?;
    let times: TimestampMicrosecondArray = if numbers.data_type().is_integer() {
        let seconds = strictly(&numbers, &DataType::Int64)?;
        let micros = |seconds: i64| seconds.checked_mul(SECOND_MICROSECONDS).ok_or_else(out_of_range);
        seconds.as_primitive::<Int64Type>().try_unary::<_, TimestampMicrosecondType, _>(micros)?
    } else {
        let seconds = strictly(&numbers, &DataType::Decimal128(DECIMAL128_MAX_PRECISION, 6))?;
        let micros = |micros: i128| i64::try_from(micros).map_err(|_| out_of_range());
        seconds.as_primitive::<Decimal128Type>().try_unary::<_, TimestampMicrosecondType, _>(micros)?
    };
    answer(matches!(seconds, ColumnarValue::Scalar(_)), Arc::new(times))
}

/// Refuses seconds since the epoch that are no time in this unit.
fn check_seconds(seconds: &ColumnarValue, unit: TimeUnit) -> Result<()> {
    if !seconds.data_type().is_floating() {
        return Ok(());
    }
    // The seconds that 63 bits count.
    let end = match unit {
        TimeUnit::Second => 9.223_372_036_854e18,
        TimeUnit::Millisecond => 9.223_372_036_854e15,
        TimeUnit::Microsecond => 9.223_372_036_854e12,
        TimeUnit::Nanosecond => 9.223_372_036_854e9,
    };
    let seconds = seconds.cast_to(&DataType::Float64, None)?.into_array(1)?;
    for second in seconds.as_primitive::<Float64Type>().iter().flatten() {
        if second.is_nan() {
            return exec_err!("timestamp cannot be NaN");
        }
        if second.is_infinite() {
            return exec_err!("an infinite time is not supported: write NULL for a time that is not known");
        }
        if second.abs() >= end {
            return exec_err!("timestamp out of range: {second} seconds");
        }
    }
    Ok(())
}

/// Reads a time as microseconds since the epoch.
fn read(text: &str, pieces: &[PatternPiece]) -> CoreResult<i64> {
    let (mut fields, mut rest) = (TimeFields::default(), text);
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            PatternPiece::Field(field) => {
                rest = rest.trim_start();
                if rest.is_empty() {
                    break;
                }
                let is_followed_by_field = matches!(pieces.get(at + 1), Some(PatternPiece::Field(_)));
                rest = fields.take(rest, *field, is_followed_by_field).ok_or_else(|| {
                    let start: String = rest.chars().take(20).collect();
                    sql_error(format!("'{text:.60}' does not match the pattern at '{start}'"))
                        .with_hint("YYYY MM DD Mon Month HH24 HH12 MI SS MS US AM, or strftime's, such as '%Y-%m-%d'")
                })?;
            }
            PatternPiece::Quoted(quoted) => {
                let length = rest.char_indices().nth(quoted.chars().count()).map_or(rest.len(), |(at, _)| at);
                rest = &rest[length..];
            }
            // Separators match any separators.
            PatternPiece::Other(letter) if !letter.is_alphanumeric() => {
                let is_sign_of_zone = matches!(
                    pieces.get(at + 1),
                    Some(PatternPiece::Field(PatternField { field: TimeField::ZoneHour | TimeField::ZoneOffset, .. }))
                );
                rest = match is_sign_of_zone {
                    true => rest.trim_start(),
                    false => rest.trim_start_matches(|found: char| !found.is_alphanumeric()),
                };
            }
            PatternPiece::Other(_) => {
                let mut letters = rest.chars();
                letters.next();
                rest = letters.as_str();
            }
        }
    }
    micros_of(&fields).ok_or_else(|| out_of_range(text))
}

fn out_of_range(text: &str) -> atsdb_core::Error {
    sql_error(format!("'{text:.60}' is out of the range of times"))
}

/// The time of some fields in microseconds since the epoch; `None` if it does not exist.
fn micros_of(fields: &TimeFields) -> Option<i64> {
    let ahead_micros = fields.ahead_seconds()? * SECOND_MICROSECONDS;
    fields.days()?.checked_mul(DAY_MICROSECONDS)?.checked_add(fields.micros_of_day()? - ahead_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_postgresql_reads_it() {
        for (text, pattern, wanted) in [
            ("05 Dec 2000", "DD Mon YYYY", "2000-12-05 00:00:00"),
            ("2024-03-01 12:30:45.5", "YYYY-MM-DD HH24:MI:SS.MS", "2024-03-01 12:30:45.500"),
            ("20240301 0930 PM", "YYYYMMDD HHMI AM", "2024-03-01 21:30:00"),
            ("24-3-1", "YY-MM-DD", "2024-03-01 00:00:00"),
            ("2024 060", "YYYY DDD", "2024-02-29 00:00:00"),
            ("2024-W09-6", "IYYY-\"W\"IW-ID", "2024-03-02 00:00:00"),
            ("March 3, 1999", "Month DD, YYYY", "1999-03-03 00:00:00"),
            ("2024-03-01 12:00 +02:00", "YYYY-MM-DD HH24:MI TZH:TZM", "2024-03-01 10:00:00"),
            ("2460311", "J", "2024-01-01 00:00:00"),
            ("1/2/2024", "MM/DD/YYYY", "2024-01-02 00:00:00"),
            ("2024-03", "YYYY-MM", "2024-03-01 00:00:00"),
        ] {
            let micros = read(text, &pieces_of(pattern)).unwrap();
            let time = chrono::DateTime::from_timestamp_micros(micros).unwrap();
            assert_eq!(time.format("%Y-%m-%d %H:%M:%S%.f").to_string(), wanted, "{text}");
        }
        for (text, pattern) in
            [("2024-13-01", "YYYY-MM-DD"), ("abc", "YYYY"), ("2024-02-30", "YYYY-MM-DD"), ("13", "HH12")]
        {
            assert!(read(text, &pieces_of(pattern)).is_err(), "{text}");
        }
    }
}
