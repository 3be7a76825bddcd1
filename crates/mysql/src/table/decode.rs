//! Values as the client returns them.

use super::types::Encoding;
use arrow::datatypes::IntervalMonthDayNano;
use atsdb_core::decimal;
use atsdb_core::time::DAY_MICROSECONDS;
use atsdb_core::time_text::days_of_date;
use atsdb_core::uuid_text::canonical;
use atsdb_foreign::Value;

impl Encoding {
    /// Converts a value. `scratch` holds the text of a value that has another form. The error describes what is wrong
    /// with the value.
    pub(super) fn decode<'a>(self, value: &'a mysql::Value, scratch: &'a mut String) -> Result<Value<'a>, String> {
        use mysql::Value::{Bytes, Date, Double, Float, Int, NULL, Time, UInt};
        Ok(match (self, value) {
            (_, NULL) => Value::Null,
            (Self::Bool, Int(number)) => Value::Bool(*number != 0),
            (Self::Bool, UInt(number)) => Value::Bool(*number != 0),
            (Self::Bool, Bytes(bits)) => Value::Bool(bits.iter().any(|byte| *byte != 0)),
            (Self::Int, Int(number)) => Value::Int((*number).into()),
            (Self::Int, UInt(number)) => Value::Int((*number).into()),
            (Self::Bits, Bytes(bits)) => {
                Value::Int(bits.iter().fold(0, |number, byte| number << 8 | i128::from(*byte)))
            }
            (Self::Float, Float(number)) => Value::Float((*number).into()),
            (Self::Float, Double(number)) => Value::Float(*number),
            (Self::Decimal { precision, scale }, Bytes(digits)) => {
                let digits = text(digits)?;
                let number = decimal::parse(digits, precision, scale);
                Value::Int(number.ok_or_else(|| format!("{digits:.50} has too many digits"))?)
            }
            (Self::DecimalAsFloat, Bytes(digits)) => {
                let digits = text(digits)?;
                Value::Float(digits.parse().map_err(|_| format!("{digits:.50} is not a number"))?)
            }
            (Self::Timestamp(unit), Date(year, month, day, hour, minute, second, fraction)) => {
                let clock = microseconds((*hour).into(), *minute, *second, *fraction);
                Value::time(days(*year, *month, *day)? * i128::from(DAY_MICROSECONDS) + clock, unit)
            }
            (Self::Date, Date(year, month, day, ..)) => Value::Int(days(*year, *month, *day)?),
            (Self::Time, Time(false, 0, hour, minute, second, fraction)) => {
                Value::Int(microseconds((*hour).into(), *minute, *second, *fraction))
            }
            (Self::Interval, Time(is_negative, days, hour, minute, second, fraction)) => {
                let length = microseconds(i128::from(*days) * 24 + i128::from(*hour), *minute, *second, *fraction);
                let length = if *is_negative { -length } else { length };
                let nanoseconds = i64::try_from(length * 1_000).map_err(|_| "the time is too long".to_owned())?;
                Value::Interval(IntervalMonthDayNano::new(0, 0, nanoseconds))
            }
            (Self::Text, Bytes(bytes)) => Value::Text(text(bytes)?),
            (Self::Uuid, Bytes(bytes)) => {
                let found = text(bytes)?;
                *scratch = canonical(found).ok_or_else(|| format!("{found:.50} is not a valid UUID"))?;
                Value::Text(scratch)
            }
            (Self::Bytes, Bytes(bytes)) => Value::Bytes(bytes),
            (_, other) => return Err(format!("the server sent {:.50}", other.as_sql(false))),
        })
    }
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "the text is not UTF-8".to_owned())
}

/// Days since 1970. Dates may have zeros here, such as `0000-00-00`.
fn days(year: u16, month: u8, day: u8) -> Result<i128, String> {
    let days = days_of_date(year.into(), month.into(), day.into());
    days.map(i128::from).ok_or_else(|| format!("{year:04}-{month:02}-{day:02} is not a date"))
}

fn microseconds(hours: i128, minute: u8, second: u8, fraction: u32) -> i128 {
    (hours * 3_600 + i128::from(minute) * 60 + i128::from(second)) * 1_000_000 + i128::from(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::TimeUnit;
    use mysql::Value as Sent;

    #[test]
    fn values_that_do_not_exist_here_are_refused() {
        let decode = |encoding: Encoding, value: Sent| encoding.decode(&value, &mut String::new()).map(|_| ());
        let stamp = Encoding::Timestamp(TimeUnit::Microsecond);
        assert!(decode(stamp, Sent::Date(9999, 12, 31, 23, 59, 59, 999_999)).is_ok());
        assert_eq!(decode(stamp, Sent::Date(0, 0, 0, 0, 0, 0, 0)).unwrap_err(), "0000-00-00 is not a date");
        assert_eq!(
            decode(Encoding::Date, Sent::Date(2024, 2, 30, 0, 0, 0, 0)).unwrap_err(),
            "2024-02-30 is not a date"
        );
        assert!(decode(Encoding::Time, Sent::Time(false, 1, 0, 0, 0, 0)).is_err());
        assert!(decode(Encoding::Text, Sent::Bytes(vec![0xff])).is_err());
        assert!(decode(Encoding::Int, Sent::Double(1.0)).is_err());
    }

    #[test]
    fn long_times_are_lengths_with_a_sign() {
        let longest = Sent::Time(true, 34, 22, 59, 59, 999_999);
        let Ok(Value::Interval(length)) = Encoding::Interval.decode(&longest, &mut String::new()) else {
            panic!("no interval")
        };
        assert_eq!((length.months, length.days, length.nanoseconds), (0, 0, -3_020_399_999_999_000));
    }
}
