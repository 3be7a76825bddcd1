//! The values of a column, collected one by one until they become an array.

use crate::types::plain_type;
use arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Float32Builder,
    Float64Builder, Int8Builder, Int16Builder, Int32Builder, Int64Array, Int64Builder, IntervalMonthDayNanoBuilder,
    ListArray, NullBufferBuilder, PrimitiveArray, StringBuilder, Time64MicrosecondBuilder, UInt8Builder, UInt16Builder,
    UInt32Builder, UInt64Builder,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{
    ArrowTimestampType, Field, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use atsdb_core::{ColumnType, ElementType, TimeUnit};
use std::sync::Arc;

/// The number of values, and of bytes of texts, that a new collection has room for.
const CAPACITY: usize = 1_024;

/// Collects the values of a column in arrays of its [plain type](plain_type).
#[derive(Debug)]
pub enum ColumnValues {
    /// Booleans.
    Bool(BooleanBuilder),
    /// 8-bit signed integers.
    Int8(Int8Builder),
    /// 16-bit signed integers.
    Int16(Int16Builder),
    /// 32-bit signed integers.
    Int32(Int32Builder),
    /// 64-bit signed integers.
    Int64(Int64Builder),
    /// 8-bit unsigned integers.
    UInt8(UInt8Builder),
    /// 16-bit unsigned integers.
    UInt16(UInt16Builder),
    /// 32-bit unsigned integers.
    UInt32(UInt32Builder),
    /// 64-bit unsigned integers.
    UInt64(UInt64Builder),
    /// 32-bit floating point numbers.
    Float32(Float32Builder),
    /// 64-bit floating point numbers.
    Float64(Float64Builder),
    /// Texts, UUIDs and JSON.
    Text(StringBuilder),
    /// Bytes.
    Binary(BinaryBuilder),
    /// Counts of the unit since the Unix epoch, UTC.
    Timestamp(Int64Builder, TimeUnit),
    /// Days since the Unix epoch.
    Date(Date32Builder),
    /// The digits of decimals.
    Decimal(Decimal128Builder),
    /// Times of day, in microseconds since midnight.
    Time(Time64MicrosecondBuilder),
    /// Intervals.
    Interval(IntervalMonthDayNanoBuilder),
    /// Arrays.
    Array(Box<ArrayValues>),
}

/// Collects arrays: their elements one by one, then the end of each array.
#[derive(Debug)]
pub struct ArrayValues {
    element: ColumnType,
    elements: ColumnValues,
    lengths: Vec<usize>,
    nulls: NullBufferBuilder,
}

impl ArrayValues {
    fn new(element: ElementType) -> Self {
        Self {
            element: element.column_type(),
            elements: ColumnValues::new(element.column_type()),
            lengths: Vec::new(),
            nulls: NullBufferBuilder::new(0),
        }
    }

    /// Adds an array. `append` adds its elements, and returns how many there are.
    pub fn append<E>(
        &mut self,
        element_count: usize,
        append: impl FnOnce(ColumnType, &mut ColumnValues) -> Result<(), E>,
    ) -> Result<(), E> {
        append(self.element, &mut self.elements)?;
        self.lengths.push(element_count);
        self.nulls.append_non_null();
        Ok(())
    }

    fn append_null(&mut self) {
        self.lengths.push(0);
        self.nulls.append_null();
    }

    fn finish(&mut self) -> ListArray {
        let elements = self.elements.finish();
        let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths(std::mem::take(&mut self.lengths));
        ListArray::new(field, offsets, elements, self.nulls.finish())
    }
}

/// Runs the same code for a builder of any type.
macro_rules! with_builder {
    ($values:expr, $builder:ident => $action:expr) => {
        match $values {
            Self::Bool($builder) => $action,
            Self::Int8($builder) => $action,
            Self::Int16($builder) => $action,
            Self::Int32($builder) => $action,
            Self::Int64($builder) => $action,
            Self::UInt8($builder) => $action,
            Self::UInt16($builder) => $action,
            Self::UInt32($builder) => $action,
            Self::UInt64($builder) => $action,
            Self::Float32($builder) => $action,
            Self::Float64($builder) => $action,
            Self::Text($builder) => $action,
            Self::Binary($builder) => $action,
            Self::Timestamp($builder, _) => $action,
            Self::Date($builder) => $action,
            Self::Decimal($builder) => $action,
            Self::Time($builder) => $action,
            Self::Interval($builder) => $action,
            Self::Array($builder) => $action,
        }
    };
}

impl ColumnValues {
    /// No values yet, for columns of a type.
    pub fn new(column_type: ColumnType) -> Self {
        Self::with_capacity(column_type, CAPACITY, CAPACITY)
    }

    /// No values yet, with room for as many as an array of the same column has.
    pub fn with_room_for(column_type: ColumnType, array: &ArrayRef) -> Self {
        let texts = array.as_string_opt::<i32>().map(|texts| texts.value_data().len());
        let bytes = || array.as_binary_opt::<i32>().map(|values| values.value_data().len());
        Self::with_capacity(column_type, array.len(), texts.or_else(bytes).unwrap_or(0))
    }

    fn with_capacity(column_type: ColumnType, count: usize, byte_count: usize) -> Self {
        match column_type {
            ColumnType::Bool => Self::Bool(BooleanBuilder::with_capacity(count)),
            ColumnType::Int8 => Self::Int8(Int8Builder::with_capacity(count)),
            ColumnType::Int16 => Self::Int16(Int16Builder::with_capacity(count)),
            ColumnType::Int32 => Self::Int32(Int32Builder::with_capacity(count)),
            ColumnType::Int64 => Self::Int64(Int64Builder::with_capacity(count)),
            ColumnType::UInt8 => Self::UInt8(UInt8Builder::with_capacity(count)),
            ColumnType::UInt16 => Self::UInt16(UInt16Builder::with_capacity(count)),
            ColumnType::UInt32 => Self::UInt32(UInt32Builder::with_capacity(count)),
            ColumnType::UInt64 => Self::UInt64(UInt64Builder::with_capacity(count)),
            ColumnType::Float32 => Self::Float32(Float32Builder::with_capacity(count)),
            ColumnType::Float64 => Self::Float64(Float64Builder::with_capacity(count)),
            ColumnType::Text | ColumnType::Uuid | ColumnType::Json => {
                Self::Text(StringBuilder::with_capacity(count, byte_count))
            }
            ColumnType::Binary => Self::Binary(BinaryBuilder::with_capacity(count, byte_count)),
            ColumnType::Timestamp(unit) => Self::Timestamp(Int64Builder::with_capacity(count), unit),
            ColumnType::Date => Self::Date(Date32Builder::with_capacity(count)),
            ColumnType::Decimal { .. } => {
                Self::Decimal(Decimal128Builder::with_capacity(count).with_data_type(plain_type(column_type)))
            }
            ColumnType::Time => Self::Time(Time64MicrosecondBuilder::with_capacity(count)),
            ColumnType::Interval => Self::Interval(IntervalMonthDayNanoBuilder::with_capacity(count)),
            ColumnType::Array(element) => Self::Array(Box::new(ArrayValues::new(element))),
        }
    }

    /// Adds a NULL.
    pub fn append_null(&mut self) {
        with_builder!(self, builder => builder.append_null());
    }

    /// Returns the collected values as an array and removes them.
    pub fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Timestamp(builder, unit) => timestamps(&builder.finish(), *unit),
            other => with_builder!(other, builder => Arc::new(builder.finish()) as ArrayRef),
        }
    }
}

/// Returns counts of a unit since the Unix epoch as times in UTC.
pub fn timestamps(counts: &Int64Array, unit: TimeUnit) -> ArrayRef {
    match unit {
        TimeUnit::Second => times::<TimestampSecondType>(counts),
        TimeUnit::Millisecond => times::<TimestampMillisecondType>(counts),
        TimeUnit::Microsecond => times::<TimestampMicrosecondType>(counts),
        TimeUnit::Nanosecond => times::<TimestampNanosecondType>(counts),
    }
}

fn times<T: ArrowTimestampType>(counts: &Int64Array) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(counts.values().clone(), counts.nulls().cloned()).with_timezone("UTC"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_room_are_collected_like_others() {
        for column_type in [ColumnType::Text, ColumnType::Binary, ColumnType::Bool, ColumnType::Int64] {
            let mut values = ColumnValues::new(column_type);
            values.append_null();
            let array = values.finish();
            let mut more = ColumnValues::with_room_for(column_type, &array);
            more.append_null();
            assert_eq!(&more.finish(), &array, "{column_type}");
        }
    }

    #[test]
    fn arrays_have_the_type_of_their_column() {
        let others = [ColumnType::Time, ColumnType::Uuid, ColumnType::Json, ColumnType::Interval];
        let scalars = ColumnType::PLAIN.into_iter().chain(ColumnType::decimal(38, 4)).chain(others);
        let arrays = scalars.clone().filter_map(ColumnType::array);
        for column_type in scalars.chain(arrays) {
            let mut values = ColumnValues::new(column_type);
            values.append_null();
            let array = values.finish();
            assert_eq!(*array.data_type(), plain_type(column_type));
            assert_eq!((array.len(), array.null_count(), values.finish().len()), (1, 1, 0), "{column_type}");
        }
    }
}
