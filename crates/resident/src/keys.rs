//! The columns of a key, as bits that can be hashed and compared.
//!
//! Values that are equal in SQL have the same bits here: 0.0 and -0.0 have, and all NaNs. A row with a NULL in one of the
//! columns has no key.

use crate::hash::Seed;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, ArrowPrimitiveType, DataType, Float32Type, Float64Type};
use atsdb_core::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// The keys of some rows. Cheap to clone: it shares the columns' buffers.
#[derive(Debug, Clone)]
pub struct Keys {
    pub(crate) columns: Vec<KeyColumn>,
    nulls: Option<NullBuffer>,
    row_count: usize,
}

/// One column of a key.
#[derive(Debug, Clone)]
pub(crate) enum KeyColumn {
    Bits(BooleanBuffer),
    Byte(ScalarBuffer<u8>),
    Short(ScalarBuffer<u16>),
    Word(ScalarBuffer<u32>),
    Long(ScalarBuffer<u64>),
    Bytes(Bytes),
}

/// Text or bytes.
#[derive(Debug, Clone)]
pub(crate) struct Bytes {
    offsets: ScalarBuffer<i32>,
    values: Buffer,
}

impl Bytes {
    #[inline]
    pub(crate) fn value(&self, row: usize) -> &[u8] {
        &self.values[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// Calls an expression with the type of the one column that both keys have, or with all columns.
macro_rules! by_column {
    ($own:expr, $other:expr, $same:ident => $body:expr) => {
        match ($own.columns.as_slice(), $other.columns.as_slice()) {
            ([$crate::keys::KeyColumn::Word(own)], [$crate::keys::KeyColumn::Word(other)]) => {
                let $same = |row: usize, other_row: usize| own[row] == other[other_row];
                $body
            }
            ([$crate::keys::KeyColumn::Long(own)], [$crate::keys::KeyColumn::Long(other)]) => {
                let $same = |row: usize, other_row: usize| own[row] == other[other_row];
                $body
            }
            ([$crate::keys::KeyColumn::Bytes(own)], [$crate::keys::KeyColumn::Bytes(other)]) => {
                let $same = |row: usize, other_row: usize| own.value(row) == other.value(other_row);
                $body
            }
            (own, other) => {
                let $same = |row: usize, other_row: usize| {
                    own.iter().zip(other).all(|(own, other)| own.same(row, other, other_row))
                };
                $body
            }
        }
    };
}
pub(crate) use by_column;

impl Keys {
    /// The keys that these columns are. All have as many rows.
    pub fn new(arrays: &[ArrayRef]) -> Result<Self> {
        let row_count = arrays.first().map_or(0, |array| array.len());
        let columns = arrays.iter().map(|array| KeyColumn::new(&normal(array))).collect::<Result<_>>()?;
        let nulls = arrays.iter().fold(None, |nulls, array| NullBuffer::union(nulls.as_ref(), array.nulls()));
        Ok(Self { columns, nulls: nulls.filter(|nulls| nulls.null_count() > 0), row_count })
    }

    /// How many rows there are, those without a key included.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Whether a row has no key, as one of its values is NULL.
    #[inline]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Whether other keys are of the same types.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        let same = |(own, other)| std::mem::discriminant::<KeyColumn>(own) == std::mem::discriminant(other);
        self.columns.len() == other.columns.len() && self.columns.iter().zip(&other.columns).all(same)
    }

    /// The hashes of some rows, behind those that are there.
    pub(crate) fn hash(&self, rows: Range<usize>, seed: Seed, hashes: &mut Vec<u32>) {
        hashes.reserve(rows.len());
        match self.columns.as_slice() {
            [only] => only.hash(rows, seed, |hash| hashes.push((hash >> 32) as u32)),
            columns => {
                let mut joined = vec![0_u64; rows.len()];
                for column in columns {
                    let mut joined = joined.iter_mut();
                    column.hash(rows.clone(), seed, |hash| {
                        joined.next().into_iter().for_each(|joined| *joined = seed.join(*joined, hash));
                    });
                }
                hashes.extend(joined.into_iter().map(|hash| (seed.number(hash) >> 32) as u32));
            }
        }
    }
}

/// The column with one zero and one NaN. Copied only where it has others, which is rare.
fn normal(array: &ArrayRef) -> ArrayRef {
    fn with_one<T: ArrowPrimitiveType>(
        array: &ArrayRef,
        is_odd: impl Fn(T::Native) -> bool,
        one: impl Fn(T::Native) -> T::Native,
    ) -> ArrayRef {
        let values = array.as_primitive::<T>();
        match values.values().iter().any(|value| is_odd(*value)) {
            true => Arc::new(values.unary::<_, T>(one)),
            false => ArrayRef::clone(array),
        }
    }
    match array.data_type() {
        DataType::Float32 => {
            let one = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
            with_one::<Float32Type>(array, |value| value.to_bits() != one(value).to_bits(), one)
        }
        DataType::Float64 => {
            let one = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
            with_one::<Float64Type>(array, |value| value.to_bits() != one(value).to_bits(), one)
        }
        _ => ArrayRef::clone(array),
    }
}

impl KeyColumn {
    fn new(array: &ArrayRef) -> Result<Self> {
        let data = array.to_data();
        fn numbers<T: ArrowNativeType>(data: &arrow::array::ArrayData) -> ScalarBuffer<T> {
            ScalarBuffer::new(data.buffers()[0].clone(), data.offset(), data.len())
        }
        Ok(match array.data_type() {
            DataType::Boolean => Self::Bits(array.as_boolean().values().clone()),
            DataType::Utf8 | DataType::Binary => Self::Bytes(Bytes {
                // An array without rows may have no offsets.
                offsets: match data.len() {
                    0 => ScalarBuffer::from(vec![0]),
                    rows => ScalarBuffer::new(data.buffers()[0].clone(), data.offset(), rows + 1),
                },
                values: data.buffers()[1].clone(),
            }),
            other => match other.primitive_width() {
                Some(1) => Self::Byte(numbers(&data)),
                Some(2) => Self::Short(numbers(&data)),
                Some(4) => Self::Word(numbers(&data)),
                Some(8) => Self::Long(numbers(&data)),
                _ => return Err(Error::internal(format!("{other} is no type of a key"))),
            },
        })
    }

    fn hash(&self, rows: Range<usize>, seed: Seed, mut each: impl FnMut(u64)) {
        match self {
            Self::Bits(values) => rows.for_each(|row| each(seed.number(u64::from(values.value(row))))),
            Self::Byte(values) => values[rows].iter().for_each(|value| each(seed.number(u64::from(*value)))),
            Self::Short(values) => values[rows].iter().for_each(|value| each(seed.number(u64::from(*value)))),
            Self::Word(values) => values[rows].iter().for_each(|value| each(seed.number(u64::from(*value)))),
            Self::Long(values) => values[rows].iter().for_each(|value| each(seed.number(*value))),
            Self::Bytes(bytes) => rows.for_each(|row| each(seed.bytes(bytes.value(row)))),
        }
    }

    pub(crate) fn same(&self, row: usize, other: &Self, other_row: usize) -> bool {
        match (self, other) {
            (Self::Bits(own), Self::Bits(other)) => own.value(row) == other.value(other_row),
            (Self::Byte(own), Self::Byte(other)) => own[row] == other[other_row],
            (Self::Short(own), Self::Short(other)) => own[row] == other[other_row],
            (Self::Word(own), Self::Word(other)) => own[row] == other[other_row],
            (Self::Long(own), Self::Long(other)) => own[row] == other[other_row],
            (Self::Bytes(own), Self::Bytes(other)) => own.value(row) == other.value(other_row),
            _ => false,
        }
    }
}
