//! The columns of a key as bits that can be hashed and compared.
//!
//! Values that are equal in SQL have the same bits here; this includes 0.0 and -0.0, and all NaNs. A row with a NULL in
//! one of the columns has no key, except in keys that treat NULLs as equal.

use crate::hash::HashSeed;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, ArrowPrimitiveType, DataType, Float32Type, Float64Type};
use atsdb_core::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// The keys of some rows. It is cheap to clone, since it shares the columns' buffers.
#[derive(Debug, Clone)]
pub struct RowKeys {
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
    Wide(ScalarBuffer<i128>),
    Bytes(Bytes),
    /// A column of a key that treats NULLs as equal.
    Nullable(Box<KeyColumn>, Option<NullBuffer>),
}

/// The hash of a NULL that equals other NULLs.
const NULL_HASH: u64 = 0x51ed_270b_7f4a_7c15;

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

/// Evaluates an expression with a comparison that is specialised for keys of a single column, or with one for all
/// columns.
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

impl RowKeys {
    /// Creates keys from columns of equal length.
    pub fn new(arrays: &[ArrayRef]) -> Result<Self> {
        let row_count = arrays.first().map_or(0, |array| array.len());
        let columns = arrays.iter().map(|array| KeyColumn::new(&normalize(array))).collect::<Result<_>>()?;
        let nulls = arrays.iter().fold(None, |nulls, array| NullBuffer::union(nulls.as_ref(), array.nulls()));
        Ok(Self { columns, nulls: nulls.filter(|nulls| nulls.null_count() > 0), row_count })
    }

    /// Creates keys from columns of equal length, in which a NULL equals another NULL: every row has a key.
    pub fn with_equal_nulls(arrays: &[ArrayRef]) -> Result<Self> {
        let plain = Self::new(arrays)?;
        let nullable = |(column, array): (KeyColumn, &ArrayRef)| {
            KeyColumn::Nullable(Box::new(column), array.nulls().filter(|nulls| nulls.null_count() > 0).cloned())
        };
        let columns = plain.columns.into_iter().zip(arrays).map(nullable).collect();
        Ok(Self { columns, nulls: None, row_count: plain.row_count })
    }

    /// Returns the number of rows, including those without a key.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Returns whether a row has no key because one of its values is NULL.
    #[inline]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Returns whether other keys have the same types.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        let same = |(own, other): (&KeyColumn, &KeyColumn)| {
            std::mem::discriminant(own.values()) == std::mem::discriminant(other.values())
        };
        self.columns.len() == other.columns.len() && self.columns.iter().zip(&other.columns).all(same)
    }

    /// Appends the hashes of some rows.
    pub(crate) fn hash(&self, rows: Range<usize>, seed: HashSeed, hashes: &mut Vec<u32>) {
        hashes.reserve(rows.len());
        match self.columns.as_slice() {
            [only] => only.hash(rows, seed, |hash| hashes.push((hash >> 32) as u32)),
            columns => {
                let mut combined = vec![0_u64; rows.len()];
                for column in columns {
                    let mut combined = combined.iter_mut();
                    column.hash(rows.clone(), seed, |hash| {
                        combined.next().into_iter().for_each(|combined| *combined = seed.join(*combined, hash));
                    });
                }
                hashes.extend(combined.into_iter().map(|hash| (seed.number(hash) >> 32) as u32));
            }
        }
    }
}

/// Replaces -0.0 by 0.0 and every NaN by the same one. The column is copied only if it has such values, which is rare.
fn normalize(array: &ArrayRef) -> ArrayRef {
    fn normalize_with<T: ArrowPrimitiveType>(
        array: &ArrayRef,
        needs_change: impl Fn(T::Native) -> bool,
        canonical: impl Fn(T::Native) -> T::Native,
    ) -> ArrayRef {
        let values = array.as_primitive::<T>();
        match values.values().iter().any(|value| needs_change(*value)) {
            true => Arc::new(values.unary::<_, T>(canonical)),
            false => ArrayRef::clone(array),
        }
    }
    match array.data_type() {
        DataType::Float32 => {
            let canonical = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
            normalize_with::<Float32Type>(array, |value| value.to_bits() != canonical(value).to_bits(), canonical)
        }
        DataType::Float64 => {
            let canonical = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
            normalize_with::<Float64Type>(array, |value| value.to_bits() != canonical(value).to_bits(), canonical)
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
                Some(16) => Self::Wide(numbers(&data)),
                _ => return Err(Error::internal(format!("{other} cannot be the type of a key"))),
            },
        })
    }

    /// The column without its NULLs.
    fn values(&self) -> &Self {
        match self {
            Self::Nullable(values, _) => values,
            values => values,
        }
    }

    fn is_null(&self, row: usize) -> bool {
        matches!(self, Self::Nullable(_, Some(nulls)) if nulls.is_null(row))
    }

    fn hash(&self, rows: Range<usize>, seed: HashSeed, mut each: impl FnMut(u64)) {
        match self {
            Self::Nullable(values, None) => values.hash(rows, seed, each),
            Self::Nullable(values, Some(nulls)) => {
                let mut row = rows.start;
                let mut each_value = |hash| {
                    each(if nulls.is_null(row) { NULL_HASH } else { hash });
                    row += 1;
                };
                let each_value: &mut dyn FnMut(u64) = &mut each_value;
                values.hash(rows, seed, each_value);
            }
            Self::Bits(values) => rows.for_each(|row| each(seed.number(u64::from(values.value(row))))),
            Self::Byte(values) => values[rows].iter().for_each(|value| each(seed.number(u64::from(*value)))),
            Self::Short(values) => values[rows].iter().for_each(|value| each(seed.number(u64::from(*value)))),
            Self::Word(values) => values[rows].iter().for_each(|value| each(seed.number(u64::from(*value)))),
            Self::Long(values) => values[rows].iter().for_each(|value| each(seed.number(*value))),
            Self::Wide(values) => values[rows].iter().for_each(|value| each(seed.bytes(&value.to_le_bytes()))),
            Self::Bytes(bytes) => rows.for_each(|row| each(seed.bytes(bytes.value(row)))),
        }
    }

    pub(crate) fn same(&self, row: usize, other: &Self, other_row: usize) -> bool {
        match (self, other) {
            (Self::Nullable(..), _) | (_, Self::Nullable(..)) => match (self.is_null(row), other.is_null(other_row)) {
                (false, false) => self.values().same(row, other.values(), other_row),
                (own, other) => own && other,
            },
            (Self::Bits(own), Self::Bits(other)) => own.value(row) == other.value(other_row),
            (Self::Byte(own), Self::Byte(other)) => own[row] == other[other_row],
            (Self::Short(own), Self::Short(other)) => own[row] == other[other_row],
            (Self::Word(own), Self::Word(other)) => own[row] == other[other_row],
            (Self::Long(own), Self::Long(other)) => own[row] == other[other_row],
            (Self::Wide(own), Self::Wide(other)) => own[row] == other[other_row],
            (Self::Bytes(own), Self::Bytes(other)) => own.value(row) == other.value(other_row),
            _ => false,
        }
    }
}
