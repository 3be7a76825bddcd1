//! The decoded rows of chunks, value by value.

use crate::clock_text::clock_text;
use crate::error::module_error;
use crate::time_format::{TimeFormat, TimeScale, TimeValue, TimeWriter};
use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Float32Array, Float64Array, ListArray, PrimitiveArray,
    RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    Time64MicrosecondType, UInt32Type, UInt64Type,
};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use atsdb_core::interval_text::interval_text;
use atsdb_core::{ColumnType, json_text};
use rusqlite::Result;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};

/// The rows of a chunk that were read.
pub(crate) struct ChunkRows {
    columns: Vec<ColumnValues>,
    /// The number of each row in its chunk.
    numbers: UInt32Array,
    /// The number of the chunk in the upper bits.
    rowid_base: i64,
}

/// How many rows a chunk has at most, as a number of bits.
const ROW_BITS: u32 = 17;
const _: () = assert!(atsdb_core::limits::CHUNK_ROWS_MAX <= 1 << ROW_BITS);

/// The rowid of the first row of a chunk.
pub(crate) fn first_rowid(chunk: i64) -> Result<i64> {
    match (0..=i64::MAX >> ROW_BITS).contains(&chunk) {
        true => Ok(chunk << ROW_BITS),
        false => Err(module_error(format!("chunk {chunk} has a number without rowids"))),
    }
}

/// The rowid of the last row that a chunk can have.
pub(crate) fn last_rowid(first: i64) -> i64 {
    first | ((1 << ROW_BITS) - 1)
}

impl ChunkRows {
    pub(crate) fn new(rows: &RecordBatch, numbers: UInt32Array, chunk: i64, types: &[ColumnType]) -> Result<Self> {
        let columns = rows.columns().iter().zip(types).map(|(array, column)| ColumnValues::new(array, *column));
        Ok(Self { columns: columns.collect::<Result<_>>()?, numbers, rowid_base: first_rowid(chunk)? })
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(crate) fn rowid(&self, row: usize) -> i64 {
        self.rowid_base | i64::from(self.numbers.value(row))
    }

    /// The rows with these rowids: the first, and the one behind the last.
    pub(crate) fn rows_with(&self, rowids: &std::ops::RangeInclusive<i64>) -> std::ops::Range<usize> {
        let values = self.numbers.values();
        let rowid = |number: &u32| self.rowid_base | i64::from(*number);
        let start = values.partition_point(|number| rowid(number) < *rowids.start());
        start..values.partition_point(|number| rowid(number) <= *rowids.end()).max(start)
    }

    /// The stored time in a column of times or integers.
    pub(crate) fn time(&self, column: usize, row: usize) -> i64 {
        match &self.columns[column] {
            ColumnValues::Integer(values) | ColumnValues::Time(values, _) => values.value(row),
            ColumnValues::Unsigned(values) => i64::try_from(values.value(row)).unwrap_or(i64::MAX),
            _ => 0,
        }
    }

    /// The value of a row as SQLite has it. Text that is computed is in the writer.
    pub(crate) fn value<'a>(
        &'a self,
        column: usize,
        row: usize,
        format: TimeFormat,
        writer: &'a mut TimeWriter,
    ) -> ToSqlOutput<'a> {
        use ToSqlOutput::Borrowed;
        let value = match &self.columns[column] {
            ColumnValues::Integer(values) if values.is_valid(row) => ValueRef::Integer(values.value(row)),
            ColumnValues::Time(values, scale) if values.is_valid(row) => {
                match scale.value(values.value(row), format, writer) {
                    TimeValue::Text(text) => ValueRef::Text(text),
                    TimeValue::Integer(value) => ValueRef::Integer(value),
                    TimeValue::Real(value) => ValueRef::Real(value),
                }
            }
            ColumnValues::Unsigned(values) if values.is_valid(row) => match i64::try_from(values.value(row)) {
                Ok(value) => ValueRef::Integer(value),
                Err(_) => return ToSqlOutput::Owned(Value::Text(values.value(row).to_string())),
            },
            ColumnValues::Float32(values) if values.is_valid(row) => ValueRef::Real(f64::from(values.value(row))),
            ColumnValues::Float64(values) if values.is_valid(row) => ValueRef::Real(values.value(row)),
            ColumnValues::Bool(values) if values.is_valid(row) => ValueRef::Integer(i64::from(values.value(row))),
            ColumnValues::Text(values) if values.is_valid(row) => ValueRef::Text(values.value(row).as_bytes()),
            ColumnValues::Mapped(indices, strings) if indices.is_valid(row) => {
                ValueRef::Text(strings.value(indices.value(row) as usize).as_bytes())
            }
            ColumnValues::Binary(values) if values.is_valid(row) => ValueRef::Blob(values.value(row)),
            ColumnValues::TimeArrays { arrays, counts, scale } if arrays.is_valid(row) => {
                let json = array_json(arrays, row, |at| match scale.value(counts.value(at), format, writer) {
                    _ if counts.is_null(at) => "null".to_owned(),
                    TimeValue::Text(text) => json_text::quoted(&String::from_utf8_lossy(text)),
                    TimeValue::Integer(value) => value.to_string(),
                    // This has a point or an exponent, so that it stays a floating point number.
                    TimeValue::Real(value) => format!("{value:?}"),
                });
                return ToSqlOutput::Owned(Value::Text(json));
            }
            _ => ValueRef::Null,
        };
        Borrowed(value)
    }
}

/// The values of a column.
enum ColumnValues {
    Bool(BooleanArray),
    Integer(PrimitiveArray<Int64Type>),
    Unsigned(UInt64Array),
    Float32(Float32Array),
    Float64(Float64Array),
    Text(StringArray),
    Mapped(PrimitiveArray<UInt32Type>, StringArray),
    Binary(BinaryArray),
    Time(PrimitiveArray<Int64Type>, TimeScale),
    /// Arrays of times or dates. Their elements are positions in the counts.
    TimeArrays {
        arrays: ListArray,
        counts: PrimitiveArray<Int64Type>,
        scale: TimeScale,
    },
}

impl ColumnValues {
    fn new(array: &ArrayRef, column: ColumnType) -> Result<Self> {
        let unexpected = || module_error(format!("a column of type {column} is {:?}", array.data_type()));
        let to = |wanted: &DataType| cast(array, wanted).map_err(|_| unexpected());
        Ok(match array.data_type() {
            DataType::Boolean => Self::Bool(array.as_boolean().clone()),
            DataType::Float32 => Self::Float32(array.as_primitive::<Float32Type>().clone()),
            DataType::Float64 => Self::Float64(array.as_primitive::<Float64Type>().clone()),
            DataType::Utf8 => Self::Text(array.as_string().clone()),
            DataType::Interval(_) => {
                let intervals = array.as_primitive_opt::<IntervalMonthDayNanoType>().ok_or_else(unexpected)?;
                let text = |parts: IntervalMonthDayNano| {
                    let IntervalMonthDayNano { months, days, nanoseconds } = parts;
                    interval_text(months, days, nanoseconds)
                };
                Self::Text(intervals.iter().map(|parts| parts.map(text)).collect())
            }
            DataType::Decimal128(..) => Self::Text(to(&DataType::Utf8)?.as_string().clone()),
            DataType::Time64(_) => {
                let times = array.as_primitive_opt::<Time64MicrosecondType>().ok_or_else(unexpected)?;
                Self::Text(times.iter().map(|time| time.map(clock_text)).collect())
            }
            DataType::Binary => Self::Binary(array.as_binary().clone()),
            DataType::List(element) if matches!(element.data_type(), DataType::Date32 | DataType::Timestamp(..)) => {
                let arrays = array.as_list::<i32>().clone();
                let counts = counts_of(arrays.values()).map_err(|_| unexpected())?;
                let ColumnType::Array(element) = column else { return Err(unexpected()) };
                let scale = TimeScale::of(element.column_type()).ok_or_else(unexpected)?;
                Self::TimeArrays { arrays, counts, scale }
            }
            DataType::List(_) => Self::Text(arrays_json(array.as_list()).map_err(|_| unexpected())?),
            DataType::Dictionary(_, _) => {
                let dictionary = array.as_any_dictionary();
                let strings = dictionary.values().as_string_opt::<i32>().ok_or_else(unexpected)?;
                let indices = cast(dictionary.keys(), &DataType::UInt32).map_err(|_| unexpected())?;
                Self::Mapped(indices.as_primitive::<UInt32Type>().clone(), strings.clone())
            }
            DataType::UInt64 => Self::Unsigned(array.as_primitive::<UInt64Type>().clone()),
            DataType::Date32 | DataType::Timestamp(..) => {
                let counts = counts_of(array).map_err(|_| unexpected())?;
                Self::Time(counts, TimeScale::of(column).ok_or_else(unexpected)?)
            }
            other if other.is_integer() => Self::Integer(to(&DataType::Int64)?.as_primitive::<Int64Type>().clone()),
            _ => return Err(unexpected()),
        })
    }
}

/// Times or dates as counts of their unit.
fn counts_of(times: &ArrayRef) -> Result<PrimitiveArray<Int64Type>, ArrowError> {
    let counts = match times.data_type() {
        // Arrow casts dates to 64-bit integers only by way of 32 bits.
        DataType::Date32 => cast(&cast(times, &DataType::Int32)?, &DataType::Int64)?,
        _ => cast(times, &DataType::Int64)?,
    };
    Ok(counts.as_primitive::<Int64Type>().clone())
}

/// One array as JSON, with the JSON of each element by its position.
fn array_json(arrays: &ListArray, row: usize, element: impl FnMut(usize) -> String) -> String {
    let range = arrays.value_offsets()[row] as usize..arrays.value_offsets()[row + 1] as usize;
    format!("[{}]", range.map(element).collect::<Vec<_>>().join(","))
}

/// Arrays as JSON, which `json_each` reads. Numbers that JSON does not have are null.
fn arrays_json(arrays: &ListArray) -> Result<StringArray, ArrowError> {
    let elements = arrays.values();
    let is_plain = elements.data_type().is_numeric() || *elements.data_type() == DataType::Boolean;
    let formatter = ArrayFormatter::try_new(elements, &FormatOptions::new())?;
    let element = |at: usize| match formatter.value(at).to_string() {
        _ if elements.is_null(at) => "null".to_owned(),
        text if !is_plain => json_text::quoted(&text),
        text if matches!(text.as_str(), "NaN" | "inf" | "-inf") => "null".to_owned(),
        text => text,
    };
    let json = |row: usize| arrays.is_valid(row).then(|| array_json(arrays, row, element));
    Ok((0..arrays.len()).map(json).collect())
}
