//! Buffers the values of one column while rows are added one by one.

use crate::shared::interner::Interner;
use arrow::array::{ArrayRef, BinaryArray, BooleanArray, Int64Array, PrimitiveArray, StringArray, new_empty_array};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::*;
use atsdb_codec::{stored_type, timestamps};
use atsdb_core::{Column, ColumnType, Error, Result, TextLength};
use std::sync::Arc;

/// The typed values of one column, and a validity flag for each.
pub(crate) struct ColumnBuffer {
    pub(crate) values: BufferedValues,
    pub(crate) takes_null: bool,
    /// The declared length of the column's texts.
    pub(crate) length: Option<TextLength>,
    /// A flag for each value that is true unless it is NULL. Empty as long as there is no NULL.
    valid: Vec<bool>,
}

/// Typed values.
pub(crate) enum BufferedValues {
    Bool(Vec<bool>),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    UInt8(Vec<u8>),
    UInt16(Vec<u16>),
    UInt32(Vec<u32>),
    UInt64(Vec<u64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    /// Text and binary.
    Bytes {
        ends: Vec<i32>,
        bytes: Vec<u8>,
    },
    /// Nothing: no field of a record has the type of this column.
    Refused,
    /// Local numbers of an interner, for a mapped column.
    Mapped {
        interner: Interner,
        numbers: Vec<u32>,
    },
}

impl ColumnBuffer {
    pub(crate) fn new(column: &Column) -> Self {
        let values = match (column.column_type, column.map) {
            (_, Some(_)) => BufferedValues::Mapped { interner: Interner::new(), numbers: Vec::new() },
            (ColumnType::Bool, _) => BufferedValues::Bool(Vec::new()),
            (ColumnType::Int8, _) => BufferedValues::Int8(Vec::new()),
            (ColumnType::Int16, _) => BufferedValues::Int16(Vec::new()),
            (ColumnType::Int32 | ColumnType::Date, _) => BufferedValues::Int32(Vec::new()),
            (ColumnType::Int64 | ColumnType::Timestamp(_), _) => BufferedValues::Int64(Vec::new()),
            (ColumnType::UInt8, _) => BufferedValues::UInt8(Vec::new()),
            (ColumnType::UInt16, _) => BufferedValues::UInt16(Vec::new()),
            (ColumnType::UInt32, _) => BufferedValues::UInt32(Vec::new()),
            (ColumnType::UInt64, _) => BufferedValues::UInt64(Vec::new()),
            (ColumnType::Float32, _) => BufferedValues::Float32(Vec::new()),
            (ColumnType::Float64, _) => BufferedValues::Float64(Vec::new()),
            (ColumnType::Text | ColumnType::Binary, _) => BufferedValues::Bytes { ends: vec![0], bytes: Vec::new() },
            (ColumnType::Decimal { .. } | ColumnType::Time | ColumnType::Interval, _) => BufferedValues::Refused,
            (ColumnType::Uuid | ColumnType::Json | ColumnType::Array(_), _) => BufferedValues::Refused,
        };
        let takes_null = column.nullable && !matches!(values, BufferedValues::Refused);
        Self { values, takes_null, length: column.length, valid: Vec::new() }
    }

    /// Marks the value just pushed as not NULL. This costs nothing before the first NULL.
    #[inline]
    pub(crate) fn mark_valid(&mut self) {
        if !self.valid.is_empty() {
            self.valid.push(true);
        }
    }

    /// Adds a NULL.
    pub(crate) fn push_null(&mut self) {
        let before = self.len();
        match &mut self.values {
            BufferedValues::Bool(values) => values.push(false),
            BufferedValues::Int8(values) => values.push(0),
            BufferedValues::Int16(values) => values.push(0),
            BufferedValues::Int32(values) => values.push(0),
            BufferedValues::Int64(values) => values.push(0),
            BufferedValues::UInt8(values) => values.push(0),
            BufferedValues::UInt16(values) => values.push(0),
            BufferedValues::UInt32(values) => values.push(0),
            BufferedValues::UInt64(values) => values.push(0),
            BufferedValues::Float32(values) => values.push(0.0),
            BufferedValues::Float64(values) => values.push(0.0),
            BufferedValues::Bytes { ends, .. } => ends.push(ends[ends.len() - 1]),
            BufferedValues::Mapped { numbers, .. } => numbers.push(0),
            BufferedValues::Refused => return,
        }
        if self.valid.is_empty() {
            self.valid.resize(before, true);
        }
        self.valid.push(false);
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        match &self.values {
            BufferedValues::Bool(values) => values.len(),
            BufferedValues::Int8(values) => values.len(),
            BufferedValues::Int16(values) => values.len(),
            BufferedValues::Int32(values) => values.len(),
            BufferedValues::Int64(values) => values.len(),
            BufferedValues::UInt8(values) => values.len(),
            BufferedValues::UInt16(values) => values.len(),
            BufferedValues::UInt32(values) => values.len(),
            BufferedValues::UInt64(values) => values.len(),
            BufferedValues::Float32(values) => values.len(),
            BufferedValues::Float64(values) => values.len(),
            BufferedValues::Bytes { ends, .. } => ends.len() - 1,
            BufferedValues::Mapped { numbers, .. } => numbers.len(),
            BufferedValues::Refused => 0,
        }
    }

    /// Keeps the first `length` values. This removes an unfinished row, with the strings that only that row uses.
    pub(crate) fn truncate(&mut self, length: usize) {
        match &mut self.values {
            BufferedValues::Bool(values) => values.truncate(length),
            BufferedValues::Int8(values) => values.truncate(length),
            BufferedValues::Int16(values) => values.truncate(length),
            BufferedValues::Int32(values) => values.truncate(length),
            BufferedValues::Int64(values) => values.truncate(length),
            BufferedValues::UInt8(values) => values.truncate(length),
            BufferedValues::UInt16(values) => values.truncate(length),
            BufferedValues::UInt32(values) => values.truncate(length),
            BufferedValues::UInt64(values) => values.truncate(length),
            BufferedValues::Float32(values) => values.truncate(length),
            BufferedValues::Float64(values) => values.truncate(length),
            BufferedValues::Bytes { ends, bytes } => {
                ends.truncate(length + 1);
                bytes.truncate(ends[ends.len() - 1] as usize);
            }
            BufferedValues::Refused => {}
            BufferedValues::Mapped { interner, numbers } => {
                let dropped = numbers.get(length..).unwrap_or_default().iter().max();
                let is_new = dropped.is_some_and(|number| *number as usize >= interner.indices().len());
                numbers.truncate(length);
                if is_new {
                    let valid = self.valid.iter().copied().chain(std::iter::repeat(true));
                    let used =
                        numbers.iter().zip(valid).filter(|(_, valid)| *valid).map(|(number, _)| *number as usize + 1);
                    interner.truncate(used.max().unwrap_or(0));
                }
            }
        }
        self.valid.truncate(length);
    }

    /// Takes the values as an array of the column's stored type. The buffer is empty afterwards. For a mapped column
    /// use [`take_numbers`](Self::take_numbers).
    pub(crate) fn take_array(&mut self, column: &Column) -> Result<ArrayRef> {
        fn primitive<T: ArrowPrimitiveType>(values: &mut Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
            let capacity = values.len();
            let taken = std::mem::replace(values, Vec::with_capacity(capacity));
            Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(taken), nulls))
        }
        let nulls = self.take_nulls();
        let array: ArrayRef = match (&mut self.values, column.column_type) {
            (BufferedValues::Bool(values), _) => Arc::new(BooleanArray::new(std::mem::take(values).into(), nulls)),
            (BufferedValues::Int8(values), _) => primitive::<Int8Type>(values, nulls),
            (BufferedValues::Int16(values), _) => primitive::<Int16Type>(values, nulls),
            (BufferedValues::Int32(values), ColumnType::Date) => primitive::<Date32Type>(values, nulls),
            (BufferedValues::Int32(values), _) => primitive::<Int32Type>(values, nulls),
            (BufferedValues::Int64(values), ColumnType::Timestamp(unit)) => {
                timestamps(&Int64Array::new(std::mem::take(values).into(), nulls), unit)
            }
            (BufferedValues::Int64(values), _) => primitive::<Int64Type>(values, nulls),
            (BufferedValues::UInt8(values), _) => primitive::<UInt8Type>(values, nulls),
            (BufferedValues::UInt16(values), _) => primitive::<UInt16Type>(values, nulls),
            (BufferedValues::UInt32(values), _) => primitive::<UInt32Type>(values, nulls),
            (BufferedValues::UInt64(values), _) => primitive::<UInt64Type>(values, nulls),
            (BufferedValues::Float32(values), _) => primitive::<Float32Type>(values, nulls),
            (BufferedValues::Float64(values), _) => primitive::<Float64Type>(values, nulls),
            (BufferedValues::Bytes { ends, bytes }, column_type) => {
                let offsets = OffsetBuffer::new(ScalarBuffer::from(std::mem::replace(ends, vec![0])));
                let bytes = Buffer::from_vec(std::mem::take(bytes));
                let malformed = |error| {
                    Error::invalid(format!("column {}: a value is not valid UTF-8", column.name)).with_source(error)
                };
                match column_type {
                    ColumnType::Text => Arc::new(StringArray::try_new(offsets, bytes, nulls).map_err(malformed)?),
                    _ => Arc::new(BinaryArray::try_new(offsets, bytes, nulls).map_err(malformed)?),
                }
            }
            (BufferedValues::Refused, _) => new_empty_array(&stored_type(column)),
            (BufferedValues::Mapped { .. }, _) => {
                return Err(Error::internal("a mapped column holds numbers, not values"));
            }
        };
        Ok(array)
    }

    /// Takes the local numbers of a mapped column, and which are NULL. The interner stays.
    pub(crate) fn take_numbers(&mut self) -> (Vec<u32>, Option<NullBuffer>) {
        let nulls = self.take_nulls();
        let numbers = match &mut self.values {
            BufferedValues::Mapped { numbers, .. } => {
                let capacity = numbers.len();
                std::mem::replace(numbers, Vec::with_capacity(capacity))
            }
            _ => Vec::new(),
        };
        (numbers, nulls)
    }

    fn take_nulls(&mut self) -> Option<NullBuffer> {
        let valid = std::mem::take(&mut self.valid);
        (!valid.is_empty()).then(|| NullBuffer::from(valid))
    }
}
