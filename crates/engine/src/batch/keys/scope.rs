//! Between which values the key columns of some rows lie, so that chunks that hold none of them are not read.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use arrow::compute::{max, min};
use arrow::datatypes::*;
use atsdb_core::{Bound, ColumnStatistics};
use std::cmp::Ordering;

/// The bounds of each column of a key.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    columns: Vec<Reach>,
}

#[derive(Debug, Clone)]
enum Reach {
    /// No value so far that is not NULL.
    Nothing,
    Between(Bound, Bound),
    Unknown,
}

impl Scope {
    pub(crate) fn new(column_count: usize) -> Self {
        Self { columns: vec![Reach::Nothing; column_count] }
    }

    /// With nothing known of any column but one.
    pub(crate) fn of_one(column: usize, column_count: usize) -> Self {
        let reach = |other| if other == column { Reach::Nothing } else { Reach::Unknown };
        Self { columns: (0..column_count).map(reach).collect() }
    }

    /// Takes the key's columns of some rows in.
    pub(crate) fn widen(&mut self, columns: &[ArrayRef]) {
        let known = self.columns.iter_mut().zip(columns).filter(|(reach, _)| !matches!(reach, Reach::Unknown));
        for (reach, array) in known {
            let more = reach_of(array);
            *reach = match (std::mem::replace(reach, Reach::Unknown), more) {
                (Reach::Nothing, more) => more,
                (reach, Reach::Nothing) => reach,
                (Reach::Between(min, max), Reach::Between(other_min, other_max)) => {
                    match (compare(&min, &other_min), compare(&max, &other_max)) {
                        (Some(by_min), Some(by_max)) => Reach::Between(
                            if by_min.is_le() { min } else { other_min },
                            if by_max.is_ge() { max } else { other_max },
                        ),
                        _ => Reach::Unknown,
                    }
                }
                _ => Reach::Unknown,
            };
        }
    }

    /// Between which integers a column lies; `None` if it is of another type, or nothing is known.
    pub(crate) fn integers(&self, column: usize) -> Option<(i64, i64)> {
        match self.columns.get(column)? {
            Reach::Between(Bound::Int(min), Bound::Int(max)) => Some((*min, *max)),
            Reach::Between(Bound::UInt(min), Bound::UInt(max)) => {
                Some((i64::try_from(*min).ok()?, i64::try_from(*max).ok()?))
            }
            _ => None,
        }
    }

    /// Whether a chunk of these statistics, one for each column, may hold a row of the same key.
    pub(crate) fn meets(&self, row_count: u32, statistics: &[ColumnStatistics]) -> bool {
        self.columns.iter().zip(statistics).all(|(reach, chunk)| match (reach, &chunk.min, &chunk.max) {
            (Reach::Nothing, ..) => false,
            _ if chunk.null_count >= row_count => false,
            (Reach::Between(min, max), Some(chunk_min), Some(chunk_max)) => {
                compare(chunk_max, min) != Some(Ordering::Less) && compare(chunk_min, max) != Some(Ordering::Greater)
            }
            _ => true,
        })
    }
}

/// Whether two chunks, by their row counts and statistics, may hold rows of the same key.
pub(crate) fn may_meet(a: (u32, &[ColumnStatistics]), b: (u32, &[ColumnStatistics])) -> bool {
    a.1.iter().zip(b.1).all(|(one, other)| {
        let apart = |max: &Option<Bound>, min: &Option<Bound>| match (max, min) {
            (Some(max), Some(min)) => compare(max, min) == Some(Ordering::Less),
            _ => false,
        };
        let all_null = one.null_count >= a.0 || other.null_count >= b.0;
        !all_null && !apart(&one.max, &other.min) && !apart(&other.max, &one.min)
    })
}

fn reach_of(array: &ArrayRef) -> Reach {
    fn numbers<T: ArrowPrimitiveType>(array: &ArrayRef, bound: impl Fn(T::Native) -> Bound) -> Reach
    where
        T::Native: arrow::array::ArrowNativeTypeOp,
    {
        let array = array.as_primitive::<T>();
        match (min(array), max(array)) {
            (Some(min), Some(max)) => Reach::Between(bound(min), bound(max)),
            _ => Reach::Nothing,
        }
    }
    fn bytes<'a>(values: impl Iterator<Item = Option<&'a [u8]>>) -> Reach {
        let ends = values.flatten().fold(None, |ends: Option<(&[u8], &[u8])>, value| match ends {
            Some((min, max)) => Some((min.min(value), max.max(value))),
            None => Some((value, value)),
        });
        match ends {
            Some((min, max)) => Reach::Between(Bound::Bytes(min.to_vec()), Bound::Bytes(max.to_vec())),
            None => Reach::Nothing,
        }
    }
    /// A NaN stands at an end of arrow's order, and a chunk that has one has no bounds.
    fn of_floats(reach: Reach) -> Reach {
        match reach {
            Reach::Between(Bound::Float(min), Bound::Float(max)) if min.is_nan() || max.is_nan() => Reach::Unknown,
            reach => reach,
        }
    }
    use arrow::datatypes::TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    match array.data_type() {
        _ if array.null_count() == array.len() => Reach::Nothing,
        DataType::Int8 => numbers::<Int8Type>(array, |value| Bound::Int(value.into())),
        DataType::Int16 => numbers::<Int16Type>(array, |value| Bound::Int(value.into())),
        DataType::Int32 => numbers::<Int32Type>(array, |value| Bound::Int(value.into())),
        DataType::Int64 => numbers::<Int64Type>(array, Bound::Int),
        DataType::UInt8 => numbers::<UInt8Type>(array, |value| Bound::UInt(value.into())),
        DataType::UInt16 => numbers::<UInt16Type>(array, |value| Bound::UInt(value.into())),
        DataType::UInt32 => numbers::<UInt32Type>(array, |value| Bound::UInt(value.into())),
        DataType::UInt64 => numbers::<UInt64Type>(array, Bound::UInt),
        DataType::Date32 => numbers::<Date32Type>(array, |value| Bound::Int(value.into())),
        DataType::Timestamp(Second, _) => numbers::<TimestampSecondType>(array, Bound::Int),
        DataType::Timestamp(Millisecond, _) => numbers::<TimestampMillisecondType>(array, Bound::Int),
        DataType::Timestamp(Microsecond, _) => numbers::<TimestampMicrosecondType>(array, Bound::Int),
        DataType::Timestamp(Nanosecond, _) => numbers::<TimestampNanosecondType>(array, Bound::Int),
        DataType::Float32 => of_floats(numbers::<Float32Type>(array, |value| Bound::Float(value.into()))),
        DataType::Float64 => of_floats(numbers::<Float64Type>(array, Bound::Float)),
        DataType::Utf8 => bytes(array.as_string::<i32>().iter().map(|text| text.map(str::as_bytes))),
        DataType::Binary => bytes(array.as_binary::<i32>().iter()),
        _ => Reach::Unknown,
    }
}

fn compare(a: &Bound, b: &Bound) -> Option<Ordering> {
    match (a, b) {
        (Bound::Int(a), Bound::Int(b)) => Some(a.cmp(b)),
        (Bound::UInt(a), Bound::UInt(b)) => Some(a.cmp(b)),
        (Bound::Float(a), Bound::Float(b)) => a.partial_cmp(b),
        (Bound::Bytes(a), Bound::Bytes(b)) => Some(a.cmp(b)),
        _ => None,
    }
}
