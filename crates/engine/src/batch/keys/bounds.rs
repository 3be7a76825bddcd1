//! The bounds of the key columns of some rows. Chunks outside these bounds need not be read.

use crate::batch::keys::key::Key;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use arrow::compute::{max, min};
use arrow::datatypes::*;
use atsdb_core::{Bound, ColumnStatistics};
use std::cmp::Ordering;

/// The bounds of each column of a key.
#[derive(Debug, Clone)]
pub(crate) struct KeyBounds {
    columns: Vec<ValueRange>,
    /// For each column, whether a row has NULL in it. Used only by keys that treat NULLs as equal.
    has_null: Vec<bool>,
    nulls_equal: bool,
}

#[derive(Debug, Clone)]
enum ValueRange {
    /// All values so far are NULL.
    Empty,
    /// The smallest and the largest value.
    Between(Bound, Bound),
    /// Any value is possible.
    Unknown,
}

impl KeyBounds {
    pub(crate) fn new(key: &Key) -> Self {
        Self::over(key, |_| ValueRange::Empty)
    }

    /// Bounds of a single column. Any value is possible in the others.
    pub(crate) fn of_one(column: usize, key: &Key) -> Self {
        Self::over(key, |other| if other == column { ValueRange::Empty } else { ValueRange::Unknown })
    }

    fn over(key: &Key, range: impl Fn(usize) -> ValueRange) -> Self {
        let columns: Vec<ValueRange> = (0..key.positions.len()).map(range).collect();
        Self { has_null: vec![false; columns.len()], columns, nulls_equal: key.nulls_equal }
    }

    /// Extends the bounds to more rows, given as the columns of the key.
    pub(crate) fn widen(&mut self, columns: &[ArrayRef]) {
        for (has_null, array) in self.has_null.iter_mut().zip(columns) {
            *has_null |= array.null_count() > 0;
        }
        let known = self.columns.iter_mut().zip(columns).filter(|(range, _)| !matches!(range, ValueRange::Unknown));
        for (range, array) in known {
            let more = range_of(array);
            *range = match (std::mem::replace(range, ValueRange::Unknown), more) {
                (ValueRange::Empty, more) => more,
                (range, ValueRange::Empty) => range,
                (ValueRange::Between(min, max), ValueRange::Between(other_min, other_max)) => {
                    match (compare(&min, &other_min), compare(&max, &other_max)) {
                        (Some(by_min), Some(by_max)) => ValueRange::Between(
                            if by_min.is_le() { min } else { other_min },
                            if by_max.is_ge() { max } else { other_max },
                        ),
                        _ => ValueRange::Unknown,
                    }
                }
                _ => ValueRange::Unknown,
            };
        }
    }

    /// The smallest and largest value of an integer column. `None` for another type, or if they are not known.
    pub(crate) fn integers(&self, column: usize) -> Option<(i64, i64)> {
        match self.columns.get(column)? {
            ValueRange::Between(Bound::Int(min), Bound::Int(max)) => Some((*min, *max)),
            ValueRange::Between(Bound::UInt(min), Bound::UInt(max)) => {
                Some((i64::try_from(*min).ok()?, i64::try_from(*max).ok()?))
            }
            _ => None,
        }
    }

    /// Returns whether a chunk with these statistics, one for each column of the key, may hold a row of the same key.
    pub(crate) fn meets(&self, row_count: u32, statistics: &[ColumnStatistics]) -> bool {
        let may_be_null = |column: usize, chunk: &ColumnStatistics| {
            self.nulls_equal
                && chunk.null_count > 0
                && (self.has_null[column] || matches!(self.columns[column], ValueRange::Unknown))
        };
        self.columns.iter().zip(statistics).enumerate().all(|(column, (range, chunk))| {
            let has_value = match (range, &chunk.min, &chunk.max) {
                (ValueRange::Empty, ..) => false,
                _ if chunk.null_count >= row_count => false,
                (ValueRange::Between(min, max), Some(chunk_min), Some(chunk_max)) => {
                    compare(chunk_max, min) != Some(Ordering::Less)
                        && compare(chunk_min, max) != Some(Ordering::Greater)
                }
                _ => true,
            };
            has_value || may_be_null(column, chunk)
        })
    }
}

/// Returns whether two chunks, by their row counts and statistics, may hold rows of the same key.
pub(crate) fn may_meet(key: &Key, a: (u32, &[ColumnStatistics]), b: (u32, &[ColumnStatistics])) -> bool {
    a.1.iter().zip(b.1).all(|(one, other)| {
        let apart = |max: &Option<Bound>, min: &Option<Bound>| match (max, min) {
            (Some(max), Some(min)) => compare(max, min) == Some(Ordering::Less),
            _ => false,
        };
        let all_null = one.null_count >= a.0 || other.null_count >= b.0;
        let both_null = key.nulls_equal && one.null_count > 0 && other.null_count > 0;
        both_null || (!all_null && !apart(&one.max, &other.min) && !apart(&other.max, &one.min))
    })
}

fn range_of(array: &ArrayRef) -> ValueRange {
    fn numbers<T: ArrowPrimitiveType>(array: &ArrayRef, bound: impl Fn(T::Native) -> Bound) -> ValueRange
    where
        T::Native: arrow::array::ArrowNativeTypeOp,
    {
        let array = array.as_primitive::<T>();
        match (min(array), max(array)) {
            (Some(min), Some(max)) => ValueRange::Between(bound(min), bound(max)),
            _ => ValueRange::Empty,
        }
    }
    fn bytes<'a>(values: impl Iterator<Item = Option<&'a [u8]>>) -> ValueRange {
        let ends = values.flatten().fold(None, |ends: Option<(&[u8], &[u8])>, value| match ends {
            Some((min, max)) => Some((min.min(value), max.max(value))),
            None => Some((value, value)),
        });
        match ends {
            Some((min, max)) => ValueRange::Between(Bound::Bytes(min.to_vec()), Bound::Bytes(max.to_vec())),
            None => ValueRange::Empty,
        }
    }
    /// NaN comes first or last in Arrow's order, and a chunk with a NaN has no bounds.
    fn of_floats(range: ValueRange) -> ValueRange {
        match range {
            ValueRange::Between(Bound::Float(min), Bound::Float(max)) if min.is_nan() || max.is_nan() => {
                ValueRange::Unknown
            }
            range => range,
        }
    }
    use arrow::datatypes::TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    match array.data_type() {
        _ if array.null_count() == array.len() => ValueRange::Empty,
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
        _ => ValueRange::Unknown,
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
