//! Numbers of bytes as texts for people, and back: `pg_size_pretty` and `pg_size_bytes`.

use crate::functions::base::plain::Plain;
use crate::text::decimals;
use atsdb_core::decimal;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The units, each 1,024 times the one before.
const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];

/// The sizes from which on the next unit is used: of bytes, and of other units, in halves of them.
const BYTES_MAX: u128 = 10 * 1024;
const HALVES_MAX: u128 = 20 * 1024 - 1;

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        Plain::variadic("pg_size_pretty", DataType::Utf8, pretty_sizes).udf(),
        Plain::new("pg_size_bytes", &[&[DataType::Utf8]], DataType::Int64, sizes_of_texts).udf(),
    ]
}

fn pretty_sizes(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [sizes] = args else { return exec_err!("pg_size_pretty takes 1 argument, not {}", args.len()) };
    let texts: StringArray = match sizes.data_type() {
        DataType::Decimal128(_, scale) => {
            let sizes = sizes.as_primitive::<Decimal128Type>().iter();
            sizes.map(|size| size.map(|size| pretty(size, scale.unsigned_abs()))).collect()
        }
        DataType::Null => StringArray::new_null(sizes.len()),
        integer if integer.is_integer() => {
            let sizes = cast(sizes, &DataType::Int64)?;
            let sizes = sizes.as_primitive::<Int64Type>().iter();
            sizes.map(|size| size.map(pretty_size)).collect()
        }
        _ => return exec_err!("pg_size_pretty takes a BIGINT or a DECIMAL: convert it, CAST(x AS BIGINT)"),
    };
    Ok(Arc::new(texts))
}

/// The text of `pg_size_pretty(bytes)`.
pub fn pretty_size(bytes: i64) -> String {
    pretty(bytes.into(), 0)
}

/// A number of bytes, with `scale` digits after the point.
fn pretty(size: i128, scale: u8) -> String {
    let whole = size / 10_i128.checked_pow(scale.into()).unwrap_or(i128::MAX);
    if whole.unsigned_abs() < BYTES_MAX {
        return format!("{} {}", decimal::format(size, scale), UNITS[0]);
    }
    // Halves of the unit, which are rounded in the end.
    let (mut halves, mut unit) = (whole / 512, 1);
    while halves.unsigned_abs() >= HALVES_MAX && unit + 1 < UNITS.len() {
        (halves, unit) = (halves / 1024, unit + 1);
    }
    format!("{} {}", (halves + halves.signum()) / 2, UNITS[unit])
}

fn sizes_of_texts(args: &[ArrayRef]) -> Result<ArrayRef> {
    let sizes = args[0].as_string::<i32>().iter().map(|text| match text {
        Some(text) => match size_of(text) {
            Some(size) => Ok(Some(size)),
            None => exec_err!("invalid size: \"{text:.60}\": write a number and bytes, kB, MB, GB, TB or PB"),
        },
        None => Ok(None),
    });
    Ok(Arc::new(sizes.collect::<Result<Int64Array>>()?))
}

/// The number of bytes that a text says, rounded; `None` if it is no size or too large.
fn size_of(text: &str) -> Option<i64> {
    let text = text.trim();
    let unit_at = text.rfind(|letter: char| !letter.is_ascii_alphabetic()).map_or(0, |last| last + 1);
    let (number, unit) = (text.get(..unit_at)?.trim_end(), text.get(unit_at..)?);
    let power = match unit {
        "" => 0,
        unit => UNITS.iter().position(|known| known.eq_ignore_ascii_case(unit))?,
    };
    let (value, scale) = decimals::read(number)?;
    let bytes = value.checked_mul(1_i128 << (10 * power))?;
    i64::try_from(decimal::rescaled(bytes, scale.into(), 38, 0)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_and_read_as_in_postgresql() {
        for (size, scale, text) in [
            (0, 0, "0 bytes"),
            (1_024, 0, "1024 bytes"),
            (10_239, 0, "10239 bytes"),
            (10_240, 0, "10 kB"),
            (-20_480, 0, "-20 kB"),
            (10_752, 0, "11 kB"),
            (10_485_247, 0, "10239 kB"),
            (10_485_248, 0, "10 MB"),
            (1_234_567_890_123, 0, "1150 GB"),
            (i128::from(i64::MAX), 0, "8192 PB"),
            (12_345, 1, "1234.5 bytes"),
            (-204_805, 1, "-20 kB"),
        ] {
            assert_eq!(pretty(size, scale), text);
        }
        for (text, size) in [
            ("1 GB", Some(1 << 30)),
            ("1.5kB", Some(1_536)),
            (" 100 ", Some(100)),
            ("-2 tb", Some(-(2 << 40))),
            ("10 bytes", Some(10)),
            ("1e3 bytes", Some(1_000)),
            ("1.3 bytes", Some(1)),
            ("1 XB", None),
            ("GB", None),
            ("", None),
            ("9999 PB", None),
        ] {
            assert_eq!(size_of(text), size, "{text}");
        }
    }
}
