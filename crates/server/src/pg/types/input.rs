//! Parameters of statements as values, in both formats.

use super::array_elements::{elements_of, malformed_array};
use super::bytea::bytea;
use super::calendar::{days_since_1970, microseconds_since_1970};
use super::floats::{float32, float64};
use super::{known, numeric};
use crate::pg::error::{PgError, Severity};
use crate::pg::wire::fields::Fields;
use arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalUnit, TimeUnit};
use atsdb::array_text;
use atsdb::interval::{Interval, is_out_of_range, parse_interval};
use atsdb::sql::{parse_date, parse_time};
use atsdb::time::DAY_MICROSECONDS;
use atsdb::{decimal as exact, hex, uuid_text};
use datafusion::common::ScalarValue;

/// The format of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pg) enum Format {
    Text,
    Binary,
}

impl Format {
    pub(in crate::pg) fn of(code: i16) -> Result<Self, PgError> {
        match code {
            0 => Ok(Self::Text),
            1 => Ok(Self::Binary),
            other => Err(PgError::error("22023", format!("unsupported format code: {other}"))),
        }
    }

    pub(in crate::pg) fn code(self) -> i16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }

    /// The format at a position. The list is empty (all are text), has one format for all, or one for each.
    pub(in crate::pg) fn at(codes: &[i16], position: usize) -> Result<Self, PgError> {
        match codes {
            [] => Ok(Self::Text),
            [all] => Self::of(*all),
            each => each
                .get(position)
                .map_or_else(|| Err(PgError::protocol("too few format codes")), |code| Self::of(*code)),
        }
    }
}

/// The digits of a `numeric`, and how many of them are after the point if no value says it.
const NUMERIC_DIGITS: (u8, i8) = (38, 10);

/// The Arrow type for values of a type; `None` if it depends on the position in the statement.
pub(in crate::pg) fn arrow_type(type_id: u32) -> Option<DataType> {
    Some(match type_id {
        known::BOOL => DataType::Boolean,
        known::INT2 => DataType::Int16,
        known::INT4 => DataType::Int32,
        known::INT8 | known::OID => DataType::Int64,
        known::FLOAT4 => DataType::Float32,
        known::FLOAT8 => DataType::Float64,
        known::TEXT
        | known::VARCHAR
        | known::BPCHAR
        | known::NAME
        | known::CHAR
        | known::JSON
        | known::UUID
        | known::JSONB => DataType::Utf8,
        known::BYTEA => DataType::Binary,
        known::DATE => DataType::Date32,
        known::TIME => DataType::Time64(TimeUnit::Microsecond),
        // All times are UTC.
        known::TIMESTAMP | known::TIMESTAMPTZ => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        known::INTERVAL => DataType::Interval(IntervalUnit::MonthDayNano),
        known::NUMERIC => DataType::Decimal128(NUMERIC_DIGITS.0, NUMERIC_DIGITS.1),
        other => {
            let element = arrow_type(known::element_of(other)?.id)?;
            DataType::new_list(element, true)
        }
    })
}

/// A value of a parameter.
pub(in crate::pg) fn parameter(type_id: u32, format: Format, value: Option<&[u8]>) -> Result<ScalarValue, PgError> {
    let Some(bytes) = value else {
        let data_type = arrow_type(type_id).unwrap_or(DataType::Null);
        return ScalarValue::try_from(&data_type).map_err(|error| PgError::error("XX000", error.to_string()));
    };
    match format {
        Format::Text => of_text(type_id, str::from_utf8(bytes).map_err(|_| PgError::not_utf8())?),
        // The value is wrong and not the frame, so further messages can be read.
        Format::Binary => of_binary(type_id, bytes).map_err(|error| PgError { severity: Severity::Error, ..error }),
    }
}

/// The error for a text that is not a value of a type.
pub(in crate::pg) fn invalid(type_id: u32, text: &str) -> PgError {
    let name = known::sql_name(type_id).unwrap_or_else(|| type_id.to_string());
    PgError::error("22P02", format!("invalid input syntax for type {name}: \"{text}\""))
}

/// The error for a value that a type cannot have.
pub(in crate::pg) fn out_of_range(type_id: u32, text: &str) -> PgError {
    let name = known::sql_name(type_id).unwrap_or_else(|| type_id.to_string());
    PgError::error("22003", format!("value \"{text}\" is out of range for type {name}"))
}

/// A value that is given as text.
pub(super) fn of_text(type_id: u32, text: &str) -> Result<ScalarValue, PgError> {
    let trimmed = text.trim();
    let integer = || match trimmed.parse::<i128>() {
        Ok(value) => Ok(value),
        Err(_) => Err(invalid(type_id, text)),
    };
    let fits = |is_fit: bool| if is_fit { Ok(()) } else { Err(out_of_range(type_id, text)) };
    Ok(match type_id {
        known::BOOL => ScalarValue::Boolean(Some(boolean(trimmed).ok_or_else(|| invalid(type_id, text))?)),
        known::INT2 => {
            let value = i16::try_from(integer()?).ok();
            fits(value.is_some())?;
            ScalarValue::Int16(value)
        }
        known::INT4 => {
            let value = i32::try_from(integer()?).ok();
            fits(value.is_some())?;
            ScalarValue::Int32(value)
        }
        known::INT8 | known::OID => {
            let value = i64::try_from(integer()?).ok();
            fits(value.is_some())?;
            ScalarValue::Int64(value)
        }
        known::FLOAT4 => ScalarValue::Float32(Some(float32(trimmed.parse().map_err(|_| invalid(type_id, text))?))),
        known::FLOAT8 => ScalarValue::Float64(Some(float64(trimmed.parse().map_err(|_| invalid(type_id, text))?))),
        known::NUMERIC => decimal(trimmed)?,
        known::BYTEA => ScalarValue::Binary(Some(bytea(text).ok_or_else(|| invalid(type_id, text))?)),
        // Columns have UUIDs in their canonical form.
        known::UUID => ScalarValue::Utf8(Some(uuid_text::canonical(text).ok_or_else(|| invalid(type_id, text))?)),
        known::DATE => ScalarValue::Date32(Some(parse_date(trimmed).ok_or_else(|| invalid(type_id, text))?)),
        known::TIMESTAMP | known::TIMESTAMPTZ => {
            let time = parse_time(trimmed, atsdb::TimeUnit::Microsecond).ok_or_else(|| invalid(type_id, text))?;
            timestamp(time)
        }
        known::INTERVAL => match parse_interval(trimmed, None, None) {
            Some(Interval { months, days, nanoseconds }) => {
                ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano::new(months, days, nanoseconds)))
            }
            None if is_out_of_range(trimmed, None, None) => {
                return Err(PgError::error("22015", format!("interval field value out of range: \"{text}\"")));
            }
            None => return Err(invalid(type_id, text)),
        },
        known::TIME => {
            let data_type = arrow_type(type_id).unwrap_or(DataType::Utf8);
            ScalarValue::try_from_string(trimmed.to_owned(), &data_type).map_err(|_| invalid(type_id, text))?
        }
        other => match known::element_of(other) {
            Some(element) => {
                let items = array_text::parse(text).map_err(|error| malformed_array(text, error))?;
                let items = items.iter().map(|item| match item {
                    Some(item) => of_text(element.id, item),
                    None => parameter(element.id, Format::Text, None),
                });
                list(element.id, items.collect::<Result<_, _>>()?)?
            }
            None => ScalarValue::Utf8(Some(text.to_owned())),
        },
    })
}

fn of_binary(type_id: u32, bytes: &[u8]) -> Result<ScalarValue, PgError> {
    let mut fields = Fields::new(bytes);
    let value = match type_id {
        known::BOOL => ScalarValue::Boolean(Some(fields.u8()? != 0)),
        known::INT2 => ScalarValue::Int16(Some(fields.i16()?)),
        known::INT4 => ScalarValue::Int32(Some(fields.i32()?)),
        known::INT8 => ScalarValue::Int64(Some(fields.i64()?)),
        id if id == known::OID || known::is_named(id) => ScalarValue::Int64(Some(i64::from(fields.u32()?))),
        known::FLOAT4 => ScalarValue::Float32(Some(float32(f32::from_bits(fields.u32()?)))),
        known::FLOAT8 => ScalarValue::Float64(Some(float64(f64::from_bits(fields.i64()? as u64)))),
        known::DATE => {
            let days = days_since_1970(fields.i32()?).map_err(|infinity| out_of_range(type_id, infinity))?;
            ScalarValue::Date32(Some(days))
        }
        known::TIME => {
            let microseconds = fields.i64()?;
            if !(0..DAY_MICROSECONDS).contains(&microseconds) {
                return Err(PgError::error("22008", "time out of range"));
            }
            ScalarValue::Time64Microsecond(Some(microseconds))
        }
        known::TIMESTAMP | known::TIMESTAMPTZ => {
            let time = microseconds_since_1970(fields.i64()?);
            timestamp(time.map_err(|infinity| out_of_range(type_id, infinity))?)
        }
        known::INTERVAL => {
            let (microseconds, days, months) = (fields.i64()?, fields.i32()?, fields.i32()?);
            let nanoseconds = microseconds.checked_mul(1_000).ok_or_else(|| out_of_range(type_id, "interval"))?;
            ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano::new(months, days, nanoseconds)))
        }
        known::NUMERIC => return decimal(&numeric::read(bytes)?),
        known::BYTEA => return Ok(ScalarValue::Binary(Some(bytes.to_vec()))),
        known::UUID => return uuid(bytes),
        // An empty "char" is a zero.
        known::CHAR => return text(bytes.strip_suffix(&[0]).unwrap_or(bytes)),
        known::JSONB => return text(bytes.strip_prefix(&[known::JSONB_VERSION]).unwrap_or(bytes)),
        other => match known::element_of(other) {
            Some(element) => array(element.id, &mut fields)?,
            None if known::is_sent_as_text(other) => return text(bytes),
            // Its bytes are not a text.
            None => {
                let name = known::sql_name(other).unwrap_or_else(|| format!("with the number {other}"));
                let error = PgError::not_supported(format_args!("a binary value of the type {name}"));
                return Err(error.with_hint("send it as text"));
            }
        },
    };
    fields.end()?;
    Ok(value)
}

fn text(bytes: &[u8]) -> Result<ScalarValue, PgError> {
    let text = str::from_utf8(bytes).map_err(|_| PgError::not_utf8())?;
    Ok(ScalarValue::Utf8(Some(text.to_owned())))
}

fn timestamp(microseconds: i64) -> ScalarValue {
    ScalarValue::TimestampMicrosecond(Some(microseconds), Some("UTC".into()))
}

fn uuid(bytes: &[u8]) -> Result<ScalarValue, PgError> {
    let text = uuid_text::canonical(&hex::encode(bytes)).ok_or_else(|| PgError::protocol("a uuid has 16 bytes"))?;
    Ok(ScalarValue::Utf8(Some(text)))
}

/// A number of up to 38 digits, exactly as it is written.
fn decimal(text: &str) -> Result<ScalarValue, PgError> {
    let invalid = || invalid(known::NUMERIC, text);
    if let Some(plain) = without_exponent(text)
        && let Ok(value) = decimal(&plain)
    {
        return Ok(value);
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if digits.contains(['e', 'E'])
        || digits.eq_ignore_ascii_case("nan")
        || digits.to_ascii_lowercase().starts_with("inf")
    {
        return Ok(ScalarValue::Float64(Some(float64(text.parse().map_err(|_| invalid())?))));
    }
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) || digits.len() < 2 && !is_number(digits) || digits.is_empty() {
        return Err(invalid());
    }
    let fraction = fraction.trim_end_matches('0');
    let joined = format!("{}{fraction}", whole.trim_start_matches('0'));
    if joined.len() > 38 {
        return Err(out_of_range(known::NUMERIC, text));
    }
    let magnitude: i128 = if joined.is_empty() { 0 } else { joined.parse().map_err(|_| invalid())? };
    let value = if text.starts_with('-') { -magnitude } else { magnitude };
    Ok(ScalarValue::Decimal128(Some(value), NUMERIC_DIGITS.0, fraction.len() as i8))
}

/// A number like `-1.5e3` with its point moved instead: `-1500.`. `None` if it has no exponent or a very large one.
fn without_exponent(text: &str) -> Option<String> {
    let (mantissa, exponent) = text.split_once(['e', 'E'])?;
    let exponent: i8 = exponent.parse().ok()?;
    let digits = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let sign = if mantissa.starts_with('-') { "-" } else { "" };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() || digits.starts_with(['-', '+']) {
        return None;
    }
    let zeros = "0".repeat(exponent.unsigned_abs().into());
    let (digits, point) = if exponent < 0 {
        (format!("{zeros}{whole}{fraction}"), whole.len())
    } else {
        (format!("{whole}{fraction}{zeros}"), whole.len() + zeros.len())
    };
    let (whole, fraction) = digits.split_at_checked(point)?;
    Some(format!("{sign}{whole}.{fraction}"))
}

fn boolean(text: &str) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    match text.as_str() {
        "on" | "1" => Some(true),
        "of" | "off" | "0" => Some(false),
        "" => None,
        // The beginnings of these words.
        beginning if "true".starts_with(beginning) || "yes".starts_with(beginning) => Some(true),
        beginning if "false".starts_with(beginning) || "no".starts_with(beginning) => Some(false),
        _ => None,
    }
}

pub(in crate::pg) fn parse_boolean(text: &str) -> Option<bool> {
    boolean(text.trim())
}

fn list(element: u32, items: Vec<ScalarValue>) -> Result<ScalarValue, PgError> {
    let data_type = arrow_type(element).ok_or_else(|| PgError::not_supported("an array of this type"))?;
    let (data_type, items) = if element == known::NUMERIC { decimals(&items)? } else { (data_type, items) };
    Ok(ScalarValue::List(ScalarValue::new_list(&items, &data_type, true)))
}

/// Decimals as decimals of one type, with as many digits after the point as one of them needs.
fn decimals(items: &[ScalarValue]) -> Result<(DataType, Vec<ScalarValue>), PgError> {
    let scale_of = |item: &ScalarValue| match item {
        ScalarValue::Decimal128(Some(_), _, scale) => Some(*scale),
        _ => None,
    };
    let (precision, unknown_scale) = NUMERIC_DIGITS;
    let scale = items.iter().filter_map(scale_of).max().unwrap_or(unknown_scale);
    let alike = |item: &ScalarValue| match item {
        ScalarValue::Decimal128(Some(value), _, from) => {
            let rescaled = exact::rescaled(*value, i32::from(*from), precision, scale.unsigned_abs());
            let text = || exact::format(*value, from.unsigned_abs());
            let rescaled = rescaled.ok_or_else(|| out_of_range(known::NUMERIC, &text()))?;
            Ok(ScalarValue::Decimal128(Some(rescaled), precision, scale))
        }
        item if item.is_null() => Ok(ScalarValue::Decimal128(None, precision, scale)),
        // It is infinite, not a number, or has more digits than a decimal.
        other => Err(out_of_range(known::NUMERIC, &other.to_string())),
    };
    let items = items.iter().map(alike).collect::<Result<_, _>>()?;
    Ok((DataType::Decimal128(precision, scale), items))
}

fn array(element: u32, fields: &mut Fields<'_>) -> Result<ScalarValue, PgError> {
    let (sent, elements) = elements_of(fields)?;
    let element = if known::by_id(sent).is_some() { sent } else { element };
    let items = elements.into_iter().map(|item| match item {
        Some(bytes) => of_binary(element, bytes),
        None => parameter(element, Format::Binary, None),
    });
    list(element, items.collect::<Result<_, PgError>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_bytes_say_the_same() {
        let pairs: [(u32, &str, &[u8]); 6] = [
            (known::BOOL, "true", &[1]),
            (known::INT4, " -7 ", &(-7_i32).to_be_bytes()),
            (known::INT8, "9223372036854775807", &i64::MAX.to_be_bytes()),
            (known::FLOAT8, "1.5", &1.5_f64.to_be_bytes()),
            (known::TIMESTAMPTZ, "2000-01-01 00:00:01+00", &1_000_000_i64.to_be_bytes()),
            (known::DATE, "2000-01-02", &1_i32.to_be_bytes()),
        ];
        for (id, text, bytes) in pairs {
            let of_text = parameter(id, Format::Text, Some(text.as_bytes())).unwrap();
            assert_eq!(of_text, parameter(id, Format::Binary, Some(bytes)).unwrap(), "{text}");
        }
        assert_eq!(decimal("-12.50").unwrap(), ScalarValue::Decimal128(Some(-125), 38, 1));
    }

    #[test]
    fn nan_has_no_sign() {
        let nan = ScalarValue::Float64(Some(f64::NAN));
        assert_eq!(parameter(known::FLOAT8, Format::Text, Some(b"-NaN")).unwrap(), nan);
        assert_eq!(parameter(known::FLOAT8, Format::Binary, Some(&(-f64::NAN).to_be_bytes())).unwrap(), nan);
        assert_eq!(decimal("-nan").unwrap(), nan);
    }

    fn numerics(texts: &[Option<&str>]) -> [Result<ScalarValue, PgError>; 2] {
        let count = u32::try_from(texts.len()).unwrap();
        let mut bytes: Vec<u8> = [1, 1, known::NUMERIC, count, 1].iter().flat_map(|n| n.to_be_bytes()).collect();
        for text in texts {
            let mut number = Vec::new();
            match text {
                Some(text) => {
                    numeric::push(&mut number, text);
                    bytes.extend(u32::try_from(number.len()).unwrap().to_be_bytes());
                }
                None => bytes.extend((-1_i32).to_be_bytes()),
            }
            bytes.extend(number);
        }
        let text = array_text::format(texts.iter().copied());
        let array = known::by_id(known::NUMERIC).unwrap().array;
        [parameter(array, Format::Text, Some(text.as_bytes())), parameter(array, Format::Binary, Some(&bytes))]
    }

    #[test]
    fn decimals_of_an_array_keep_their_values() {
        let list = |values: &[Option<i128>], scale: i8| {
            let values: Vec<_> = values.iter().map(|value| ScalarValue::Decimal128(*value, 38, scale)).collect();
            ScalarValue::List(ScalarValue::new_list(&values, &DataType::Decimal128(38, scale), true))
        };
        let whole = "12345678901234567890123456789012345678";
        for (texts, expected) in [
            (vec![None, Some("1"), Some("2.50")], list(&[None, Some(10), Some(25)], 1)),
            (vec![Some("-0.001"), Some("7.5"), Some("300")], list(&[Some(-1), Some(7_500), Some(300_000)], 3)),
            (vec![Some(whole), None], list(&[whole.parse().ok(), None], 0)),
            (vec![None], list(&[None], 10)),
            (vec![], list(&[], 10)),
        ] {
            for found in numerics(&texts) {
                assert_eq!(found.unwrap(), expected, "{texts:?}");
            }
        }
        for found in numerics(&[Some(whole), Some("0.5")]) {
            assert_eq!(found.unwrap_err().code, "22003", "39 digits are too many");
        }
        let of_text = |text: &str| parameter(1231, Format::Text, Some(text.as_bytes()));
        assert_eq!(of_text("{1e2,-2.5E-1}").unwrap(), list(&[Some(10_000), Some(-25)], 2));
        for wrong in ["{NaN,1}", "{1,Infinity}", "{1e300}"] {
            assert_eq!(of_text(wrong).unwrap_err().code, "22003", "{wrong}");
        }
        for wrong in ["{e5}", "{+-5e1}", "{1-2e3}", "{1e}"] {
            assert_eq!(of_text(wrong).unwrap_err().code, "22P02", "{wrong}");
        }
    }

    #[test]
    fn lengths_of_time_are_read_in_every_form() {
        let of_text = |text: &str| parameter(known::INTERVAL, Format::Text, Some(text.as_bytes()));
        for (text, (months, days, nanoseconds)) in [
            ("1 day 0:00:02.000003", (0, 1, 2_000_003_000)),
            ("-1 mons +02:00:00", (-1, 0, 7_200_000_000_000)),
            ("P1DT2S", (0, 1, 2_000_000_000)),
        ] {
            let expected = IntervalMonthDayNano::new(months, days, nanoseconds);
            assert_eq!(of_text(text).unwrap(), ScalarValue::IntervalMonthDayNano(Some(expected)), "{text}");
        }
        assert_eq!(of_text("soon").unwrap_err().code, "22P02");
    }

    #[test]
    fn bytes_of_other_types_are_not_taken_for_a_text() {
        let (address, time_with_zone): ([u8; 8], [u8; 12]) = ([2, 32, 0, 4, 1, 2, 3, 4], [0; 12]);
        for (id, bytes) in [(869, address.as_slice()), (1266, time_with_zone.as_slice())] {
            let error = parameter(id, Format::Binary, Some(bytes)).unwrap_err();
            assert_eq!((error.code, error.hint.is_some()), ("0A000", true), "{id}");
        }
        let text = ScalarValue::from("1.2.3.4");
        assert_eq!(parameter(869, Format::Text, Some(b"1.2.3.4")).unwrap(), text);
        assert_eq!(parameter(known::VARCHAR, Format::Binary, Some(b"1.2.3.4")).unwrap(), text);
        assert_eq!(parameter(known::CHAR, Format::Binary, Some(&[0])).unwrap(), ScalarValue::from(""));
    }

    #[test]
    fn uuids_become_canonical() {
        let canonical = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
        let digits = "A0EEBC999C0B4EF8BB6D6BB9BD380A11";
        let expected = ScalarValue::from(canonical);
        assert_eq!(parameter(known::UUID, Format::Text, Some(digits.as_bytes())).unwrap(), expected);
        let list = ScalarValue::List(ScalarValue::new_list(&[expected], &DataType::Utf8, true));
        assert_eq!(parameter(2951, Format::Text, Some(format!("{{{digits}}}").as_bytes())).unwrap(), list);
        assert_eq!(parameter(known::UUID, Format::Text, Some(b"a0ee")).unwrap_err().code, "22P02");
    }

    #[test]
    fn what_is_no_value_is_an_error_with_its_code() {
        for (id, text, code) in [
            (known::INT4, "abc", "22P02"),
            (known::INT2, "40000", "22003"),
            (known::BOOL, "maybe", "22P02"),
            (known::TIMESTAMPTZ, "yesterday-ish", "22P02"),
            (1007, "{1,", "22P02"),
            (known::NUMERIC, "1.2.3", "22P02"),
            (known::NUMERIC, "", "22P02"),
        ] {
            assert_eq!(parameter(id, Format::Text, Some(text.as_bytes())).unwrap_err().code, code, "{text}");
        }
        for (id, bytes) in [
            (known::DATE, i32::MIN.to_be_bytes().to_vec()),
            (known::DATE, i32::MAX.to_be_bytes().to_vec()),
            (known::TIMESTAMPTZ, i64::MIN.to_be_bytes().to_vec()),
            (known::TIMESTAMP, i64::MAX.to_be_bytes().to_vec()),
        ] {
            let error = parameter(id, Format::Binary, Some(&bytes)).unwrap_err();
            assert!(error.code == "22003" && error.message.contains("infinity"), "{id} {bytes:?}");
        }
        for microseconds in [-1, DAY_MICROSECONDS] {
            let error = parameter(known::TIME, Format::Binary, Some(&microseconds.to_be_bytes())).unwrap_err();
            assert_eq!(error.code, "22008", "{microseconds}");
        }
        assert!(parameter(known::INT8, Format::Binary, Some(&[1, 2])).is_err());
        assert!(
            parameter(1007, Format::Binary, Some(&[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 127, 0, 0, 0, 0, 0, 0, 1]))
                .is_err()
        );
    }
}
