//! Values in PostgreSQL's binary format.

use super::types::Encoding;
use arrow::datatypes::IntervalMonthDayNano;
use atsdb_core::time::DAY_MICROSECONDS;
use atsdb_foreign::{Elements, Value};
use std::error::Error;
use std::fmt::Write;
use tokio_postgres::types::{FromSql, Type};

/// Days and microseconds from 1970 to 2000, where PostgreSQL begins to count.
const EPOCH_DAYS: i32 = 10_957;
const EPOCH_MICROSECONDS: i64 = EPOCH_DAYS as i64 * DAY_MICROSECONDS;

/// The sign of a `numeric`.
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const NEGATIVE_INFINITY: u16 = 0xf000;

/// The bytes of a value of any type.
#[derive(Debug)]
pub(super) struct Raw<'a>(pub(super) &'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl Encoding {
    /// Decodes the bytes of a value. `scratch` holds the text of a value that has another form. The error describes
    /// what is wrong with the value.
    pub(super) fn decode<'a>(self, bytes: &'a [u8], scratch: &'a mut String) -> Result<Value<'a>, String> {
        Ok(match self {
            Self::Bool => Value::Bool(array::<1>(bytes)? != [0]),
            Self::Int => Value::Int(match bytes.len() {
                2 => i16::from_be_bytes(array(bytes)?).into(),
                4 => i32::from_be_bytes(array(bytes)?).into(),
                _ => i64::from_be_bytes(array(bytes)?).into(),
            }),
            Self::Oid => Value::Int(u32::from_be_bytes(array(bytes)?).into()),
            Self::Float4 => Value::Float(f32::from_be_bytes(array(bytes)?).into()),
            Self::Float8 => Value::Float(f64::from_be_bytes(array(bytes)?)),
            Self::Numeric { scale } => Value::Int(Numeric::parse(bytes)?.scaled(scale)?),
            Self::NumericAsFloat => Value::Float(Numeric::parse(bytes)?.float(scratch)?),
            Self::Timestamp(unit) => match i64::from_be_bytes(array(bytes)?) {
                i64::MAX | i64::MIN => return Err("infinity is not a time here".to_owned()),
                time => Value::time(i128::from(time) + i128::from(EPOCH_MICROSECONDS), unit),
            },
            Self::Date => match i32::from_be_bytes(array(bytes)?) {
                i32::MAX | i32::MIN => return Err("infinity is not a date here".to_owned()),
                days => Value::Int(i128::from(days) + i128::from(EPOCH_DAYS)),
            },
            Self::Time => Value::Int(match i64::from_be_bytes(array(bytes)?) {
                DAY_MICROSECONDS => return Err("24:00:00 is not a time of day here".to_owned()),
                time => time.into(),
            }),
            Self::Interval => interval(bytes)?,
            Self::Text => Value::Text(text(bytes)?),
            // One byte for the version before the text.
            Self::Jsonb => Value::Text(text(bytes.split_first().map_or(bytes, |(_, text)| text))?),
            Self::Uuid => {
                scratch.clear();
                for (position, byte) in array::<16>(bytes)?.into_iter().enumerate() {
                    let hyphen = if matches!(position, 4 | 6 | 8 | 10) { "-" } else { "" };
                    let _ = write!(scratch, "{hyphen}{byte:02x}");
                }
                Value::Text(scratch)
            }
            Self::Bytes => Value::Bytes(bytes),
        })
    }
}

/// The elements of an array. The bytes are the number of its dimensions, a flag, the type, and for each dimension its
/// length and first subscript, all of four bytes; then the length of each element, -1 for NULL, and its bytes.
#[derive(Debug)]
pub(super) struct ArrayElements<'a> {
    count: usize,
    bytes: &'a [u8],
    encoding: Encoding,
    scratch: String,
}

impl<'a> ArrayElements<'a> {
    /// The error describes what is wrong with the array.
    pub(super) fn parse(bytes: &'a [u8], encoding: Encoding) -> Result<Self, String> {
        const CUT: &str = "the server sent an array that is cut off";
        let (head, bytes) = bytes.split_first_chunk::<12>().ok_or(CUT)?;
        let (count, bytes) = match i32::from_be_bytes(array(&head[..4])?) {
            0 => (0, bytes),
            1 => {
                let (dimension, bytes) = bytes.split_first_chunk::<8>().ok_or(CUT)?;
                let count = i32::from_be_bytes(array(&dimension[..4])?);
                (usize::try_from(count).ok().filter(|count| *count <= bytes.len() / 4).ok_or(CUT)?, bytes)
            }
            dimensions => return Err(format!("an array of {dimensions} dimensions has no equal here")),
        };
        Ok(Self { count, bytes, encoding, scratch: String::new() })
    }
}

impl Elements for ArrayElements<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn next_element(&mut self) -> Result<Value<'_>, String> {
        const CUT: &str = "the server sent an element that is cut off";
        let (length, rest) = self.bytes.split_first_chunk::<4>().ok_or(CUT)?;
        self.bytes = rest;
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else { return Ok(Value::Null) };
        let (element, rest) = rest.split_at_checked(length).ok_or(CUT)?;
        self.bytes = rest;
        self.encoding.decode(element, &mut self.scratch)
    }
}

fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N], String> {
    bytes.try_into().map_err(|_| format!("the server sent {} bytes for a value of {N}", bytes.len()))
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "the text is not UTF-8".to_owned())
}

/// Microseconds, days and months.
fn interval<'a>(bytes: &[u8]) -> Result<Value<'a>, String> {
    let bytes = array::<16>(bytes)?;
    let microseconds = i64::from_be_bytes(array(&bytes[..8])?);
    let (days, months) = (i32::from_be_bytes(array(&bytes[8..12])?), i32::from_be_bytes(array(&bytes[12..])?));
    let is_infinite = [(i64::MAX, i32::MAX), (i64::MIN, i32::MIN)]
        .iter()
        .any(|(long, short)| microseconds == *long && days == *short && months == *short);
    if is_infinite {
        return Err("infinity is not an interval here".to_owned());
    }
    let nanoseconds = microseconds.checked_mul(1_000).ok_or("the interval has more than 292 years in hours")?;
    Ok(Value::Interval(IntervalMonthDayNano::new(months, days, nanoseconds)))
}

/// A `numeric`: digits to the base 10,000, the first one times 10,000 to the power of `weight`.
struct Numeric<'a> {
    digits: &'a [u8],
    weight: i32,
    sign: u16,
}

impl<'a> Numeric<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let (head, digits) = bytes.split_first_chunk::<8>().ok_or("the server sent a number that is cut off")?;
        let [_, _, weight_high, weight_low, sign_high, sign_low, _, _] = *head;
        let weight = i16::from_be_bytes([weight_high, weight_low]).into();
        Ok(Self { digits, weight, sign: u16::from_be_bytes([sign_high, sign_low]) })
    }

    fn digits(&self) -> impl Iterator<Item = (u16, i32)> {
        let digit = |pair: &[u8]| u16::from_be_bytes([pair[0], pair[1]]);
        // The power of ten of each digit.
        let powers = (0..).map(move |position: i32| 4 * (self.weight - position));
        self.digits.chunks_exact(2).map(digit).zip(powers)
    }

    /// The number as an integer that counts the last of `scale` digits after the point.
    fn scaled(&self, scale: u8) -> Result<i128, String> {
        const WIDE: &str = "the number has too many digits";
        if ![0, NEGATIVE].contains(&self.sign) {
            return Err("NaN and infinity are not decimals here".to_owned());
        }
        let mut sum: i128 = 0;
        for (digit, power) in self.digits().filter(|(digit, _)| *digit != 0) {
            let power = power + i32::from(scale);
            let ten = 10_i128.checked_pow(power.unsigned_abs()).ok_or(WIDE)?;
            let digit = i128::from(digit);
            let value = match power {
                0.. => digit.checked_mul(ten).ok_or(WIDE)?,
                _ if digit % ten == 0 => digit / ten,
                _ => return Err(WIDE.to_owned()),
            };
            sum = sum.checked_add(value).ok_or(WIDE)?;
        }
        Ok(if self.sign == NEGATIVE { -sum } else { sum })
    }

    fn float(&self, scratch: &mut String) -> Result<f64, String> {
        match self.sign {
            NAN => return Ok(f64::NAN),
            INFINITY => return Ok(f64::INFINITY),
            NEGATIVE_INFINITY => return Ok(f64::NEG_INFINITY),
            _ => {}
        }
        scratch.clear();
        scratch.push_str(if self.sign == NEGATIVE { "-0" } else { "0" });
        let mut last_power = 0;
        for (digit, power) in self.digits() {
            let _ = write!(scratch, "{digit:04}");
            last_power = power;
        }
        let _ = write!(scratch, "e{last_power}");
        scratch.parse().map_err(|_| format!("{scratch:.40} is not a number"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::TimeUnit;

    fn numeric(weight: i16, sign: u16, digits: &[u16]) -> Vec<u8> {
        let head = [digits.len() as u16, weight.cast_unsigned(), sign, 0];
        head.iter().chain(digits).flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn numbers_keep_their_digits() {
        // 12345678.9, -0.0012, 0, 10^36.
        for (bytes, scale, wanted, float) in [
            (numeric(1, 0, &[1234, 5678, 9000]), 1, 123_456_789, 12_345_678.9),
            (numeric(-1, NEGATIVE, &[12]), 4, -12, -0.0012),
            (numeric(0, 0, &[]), 3, 0, 0.0),
            (numeric(9, 0, &[1]), 1, 10_i128.pow(37), 1e36),
        ] {
            let number = Numeric::parse(&bytes).unwrap();
            assert_eq!(number.scaled(scale), Ok(wanted));
            assert_eq!(number.float(&mut String::new()), Ok(float));
        }
        let number = numeric(9, 0, &[9999]);
        assert!(Numeric::parse(&number).unwrap().scaled(2).is_err(), "10^42");
        assert!(Numeric::parse(&numeric(-1, 0, &[12])).unwrap().scaled(3).is_err(), "a digit would be lost");
        assert!(Numeric::parse(&numeric(0, NAN, &[])).unwrap().scaled(3).is_err());
        assert!(Numeric::parse(&[0; 7]).is_err());
    }

    #[test]
    fn values_that_do_not_exist_here_are_refused() {
        let decode = |encoding: Encoding, bytes: &[u8]| encoding.decode(bytes, &mut String::new()).is_ok();
        let stamp = Encoding::Timestamp(TimeUnit::Microsecond);
        assert!(decode(stamp, &0_i64.to_be_bytes()) && !decode(stamp, &i64::MAX.to_be_bytes()));
        assert!(decode(Encoding::Date, &0_i32.to_be_bytes()) && !decode(Encoding::Date, &i32::MIN.to_be_bytes()));
        assert!(!decode(Encoding::Time, &DAY_MICROSECONDS.to_be_bytes()));
        assert!(!decode(Encoding::Int, &[1, 2, 3]) && !decode(Encoding::Text, &[0xff]));
        let interval = |microseconds: i64| [&microseconds.to_be_bytes()[..], &[0; 8]].concat();
        assert!(decode(Encoding::Interval, &interval(1)) && !decode(Encoding::Interval, &interval(i64::MAX)));
    }

    #[test]
    fn arrays_have_elements_and_nulls() {
        let words = |words: &[i32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        let two = words(&[1, 1, 23, 2, 1, 4, 7, -1]);
        let mut elements = ArrayElements::parse(&two, Encoding::Int).unwrap();
        assert_eq!((elements.count(), elements.next_element()), (2, Ok(Value::Int(7))));
        assert_eq!(elements.next_element(), Ok(Value::Null));
        assert!(elements.next_element().is_err());
        assert_eq!(ArrayElements::parse(&words(&[0, 0, 23]), Encoding::Int).unwrap().count(), 0);
        for wrong in [&[2, 0, 23, 1, 1, 1, 1, 4, 7][..], &[1, 0, 23, 1 << 30, 1], &[1, 0, 23, -1, 1], &[1, 0]] {
            assert!(ArrayElements::parse(&words(wrong), Encoding::Int).is_err(), "{wrong:?}");
        }
        let cut = words(&[1, 0, 23, 1, 1, 4]);
        assert!(ArrayElements::parse(&cut, Encoding::Int).unwrap().next_element().is_err());
    }
}
