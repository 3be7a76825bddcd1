//! Fits values into columns with special types: decimals are rounded to the column's digits, UUIDs get their canonical
//! text, JSON is checked, and each element of an array follows the rules of its type. An error names the first row
//! whose value does not fit.

use crate::chunk::lossless::{RowNumbers, convert, shown};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, BooleanBufferBuilder, Decimal128Array, IntervalMonthDayNanoArray,
    ListArray, PrimitiveArray, StringArray, Time64MicrosecondArray, new_null_array,
};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::compute::{cast, filter};
use arrow::datatypes::{
    ArrowNativeType, ArrowPrimitiveType, DataType, Decimal128Type, Field, FieldRef, Float32Type, Float64Type,
    IntervalMonthDayNano, IntervalUnit, Time64MicrosecondType, Time64NanosecondType, TimeUnit as ArrowUnit,
};
use atsdb_codec::logical_type;
use atsdb_core::interval::{Interval, parse_interval};
use atsdb_core::time::DAY_MICROSECONDS;
use atsdb_core::time_of_day;
use atsdb_core::{
    Column, ColumnType, ElementType, Error, ErrorKind, Result, array_text, decimal, hex, json_text, uuid_text,
};
use std::sync::Arc;

/// Converts values to an array of a column's logical type. `None` for a column whose type has no special rules.
pub(crate) fn fitting(column: &Column, array: &ArrayRef, rows: RowNumbers) -> Result<Option<ArrayRef>> {
    let plain = |array: &ArrayRef| match array.data_type() {
        DataType::Dictionary(_, values) => Ok(cast(array, values)?),
        DataType::LargeUtf8 | DataType::Utf8View => Ok(cast(array, &DataType::Utf8)?),
        _ => Ok::<_, Error>(ArrayRef::clone(array)),
    };
    let values = || Ok::<_, Error>(Values { column, array: plain(&plain(array)?)?, rows });
    match column.column_type {
        ColumnType::Decimal { precision, scale } => values()?.decimals(precision, scale).map(Some),
        ColumnType::Time => values()?.times().map(Some),
        ColumnType::Uuid => values()?.uuids().map(Some),
        ColumnType::Json => values()?.documents().map(Some),
        ColumnType::Interval => values()?.intervals().map(Some),
        ColumnType::Array(element) => values()?.arrays(element).map(Some),
        _ => Ok(None),
    }
}

struct Values<'a> {
    column: &'a Column,
    array: ArrayRef,
    rows: RowNumbers,
}

impl Values<'_> {
    fn decimals(&self, precision: u8, scale: u8) -> Result<ArrayRef> {
        let of_text = |text: &str| decimal::parse(text, precision, scale);
        let numbers: Decimal128Array = match self.array.data_type() {
            DataType::Decimal128(_, from) if *from == scale.cast_signed() => {
                let numbers = self.array.as_primitive::<Decimal128Type>();
                self.each(numbers, |value| decimal::fits(value, precision).then_some(value))?
            }
            DataType::Decimal128(_, from) => {
                let from = i32::from(*from);
                let numbers = self.array.as_primitive::<Decimal128Type>();
                self.each(numbers, |value| decimal::rescaled(value, from, precision, scale))?
            }
            DataType::Float64 => {
                let of_float = |value| decimal::of_float(value, false, precision, scale);
                self.each(self.array.as_primitive::<Float64Type>(), of_float)?
            }
            DataType::Float32 => {
                let of_float = |value: f32| decimal::of_float(value.into(), true, precision, scale);
                self.each(self.array.as_primitive::<Float32Type>(), of_float)?
            }
            DataType::Utf8 => self.each_text(of_text)?,
            // Decimals of any width are read from their text.
            DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal256(..) => {
                let texts = cast(&self.array, &DataType::Utf8)?;
                Values { array: texts, ..*self }.each_text(of_text)?
            }
            found if found.is_integer() || found.is_null() => {
                let whole = cast(&self.array, &DataType::Decimal128(20, 0))?;
                let whole = whole.as_primitive::<Decimal128Type>();
                self.each(whole, |value| decimal::rescaled(value, 0, precision, scale))?
            }
            _ => return Err(self.no_conversion()),
        };
        Ok(Arc::new(numbers.with_precision_and_scale(precision, scale.cast_signed())?))
    }

    fn times(&self) -> Result<ArrayRef> {
        let in_day = |time: i64| (0..DAY_MICROSECONDS).contains(&time).then_some(time);
        let times: Time64MicrosecondArray = match self.array.data_type() {
            DataType::Utf8 => self.each_text(time_of_day::parse)?,
            DataType::Time64(ArrowUnit::Nanosecond) => {
                let times = self.array.as_primitive::<Time64NanosecondType>();
                self.each(times, |time| in_day(time.checked_add(500)?.div_euclid(1_000)))?
            }
            DataType::Time64(_) | DataType::Time32(_) | DataType::Null => {
                let times = cast(&self.array, &DataType::Time64(ArrowUnit::Microsecond))?;
                self.each(times.as_primitive::<Time64MicrosecondType>(), in_day)?
            }
            _ => return Err(self.no_conversion()),
        };
        Ok(Arc::new(times))
    }

    fn intervals(&self) -> Result<ArrayRef> {
        let of_text = |text: &str| {
            let Interval { months, days, nanoseconds } = parse_interval(text, None, None)?;
            Some(IntervalMonthDayNano::new(months, days, nanoseconds))
        };
        let intervals: IntervalMonthDayNanoArray = match self.array.data_type() {
            DataType::Utf8 => self.each_text(of_text)?,
            DataType::Interval(_) | DataType::Duration(_) | DataType::Null => {
                let wanted = DataType::Interval(IntervalUnit::MonthDayNano);
                convert(&self.array, &wanted, self.rows)?.as_primitive().clone()
            }
            _ => return Err(self.no_conversion()),
        };
        Ok(Arc::new(intervals))
    }

    fn arrays(&self, element: ElementType) -> Result<ArrayRef> {
        let arrays = match self.array.data_type() {
            DataType::Utf8 => self.arrays_of_texts()?,
            DataType::List(_) => self.array.as_list::<i32>().clone(),
            DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
                cast(&self.array, &DataType::List(FieldRef::clone(field)))?.as_list::<i32>().clone()
            }
            DataType::Null => return Ok(new_null_array(&logical_type(self.column), self.array.len())),
            _ => return Err(self.no_conversion()),
        };
        if arrays.values().data_type().is_nested() {
            return Err(self.no_conversion().with_hint("an array of a column has one dimension"));
        }
        let arrays = without_hidden_elements(arrays)?;
        let column = Column::new(self.column.id, &self.column.name, element.column_type());
        let wanted = logical_type(&column);
        let elements = match fitting(&column, arrays.values(), RowNumbers::Unknown)? {
            Some(fit) => fit,
            None if *arrays.values().data_type() == wanted => ArrayRef::clone(arrays.values()),
            None => convert(arrays.values(), &wanted, RowNumbers::Unknown)?,
        };
        let field = Arc::new(Field::new_list_field(wanted, true));
        Ok(Arc::new(ListArray::try_new(field, arrays.offsets().clone(), elements, arrays.nulls().cloned())?))
    }

    fn arrays_of_texts(&self) -> Result<ListArray> {
        let texts = self.array.as_string::<i32>();
        let (mut lengths, mut elements) = (Vec::with_capacity(texts.len()), Vec::new());
        for (row, text) in texts.iter().enumerate() {
            let read = text.map(array_text::parse).transpose();
            let read = read.map_err(|error| {
                let message = error.message(text.unwrap_or_default());
                Error::invalid(format!("{}{message}", self.rows.prefix(row)))
            })?;
            lengths.push(read.as_ref().map_or(0, Vec::len));
            elements.extend(read.into_iter().flatten());
        }
        let field = Arc::new(Field::new_list_field(DataType::Utf8, true));
        let elements = Arc::new(StringArray::from(elements));
        Ok(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), elements, texts.nulls().cloned())?)
    }

    fn uuids(&self) -> Result<ArrayRef> {
        let texts = match self.array.data_type() {
            DataType::FixedSizeBinary(16) => {
                let bytes = self.array.as_fixed_size_binary();
                let text = |row: usize| bytes.is_valid(row).then(|| hex::encode(bytes.value(row)));
                (0..bytes.len()).map(text).collect()
            }
            _ => self.texts()?,
        };
        let mut canonical = Vec::with_capacity(texts.len());
        for (row, text) in texts.iter().enumerate() {
            match text.map(uuid_text::canonical) {
                Some(None) => return Err(self.refuse(row)),
                found => canonical.push(found.flatten()),
            }
        }
        Ok(Arc::new(StringArray::from(canonical)))
    }

    fn documents(&self) -> Result<ArrayRef> {
        let texts = self.texts()?;
        for (row, text) in texts.iter().enumerate() {
            if let Some(Err(error)) = text.map(json_text::check) {
                let message =
                    format!("{}{} is not valid JSON: {error}", self.rows.prefix(row), shown(&self.array, row));
                return Err(Error::invalid(message));
            }
        }
        Ok(Arc::new(texts))
    }

    fn texts(&self) -> Result<StringArray> {
        match self.array.data_type() {
            DataType::Utf8 | DataType::Null => Ok(cast(&self.array, &DataType::Utf8)?.as_string::<i32>().clone()),
            // Bytes are text if they are valid UTF-8.
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
                Ok(convert(&self.array, &DataType::Utf8, self.rows)?.as_string::<i32>().clone())
            }
            _ => Err(self.no_conversion()),
        }
    }

    fn each<T: ArrowPrimitiveType, U: ArrowPrimitiveType>(
        &self,
        values: &PrimitiveArray<T>,
        fit: impl Fn(T::Native) -> Option<U::Native>,
    ) -> Result<PrimitiveArray<U>> {
        self.collect(values.len(), |row| values.is_valid(row).then(|| fit(values.value(row))))
    }

    fn each_text<U: ArrowPrimitiveType>(&self, fit: impl Fn(&str) -> Option<U::Native>) -> Result<PrimitiveArray<U>> {
        let texts = self.array.as_string::<i32>();
        self.collect(texts.len(), |row| texts.is_valid(row).then(|| fit(texts.value(row))))
    }

    /// `fit` returns `None` for a NULL, and `Some(None)` for a value that does not fit.
    fn collect<U: ArrowPrimitiveType>(
        &self,
        row_count: usize,
        fit: impl Fn(usize) -> Option<Option<U::Native>>,
    ) -> Result<PrimitiveArray<U>> {
        let mut values = Vec::with_capacity(row_count);
        for row in 0..row_count {
            match fit(row) {
                None => values.push(U::Native::default()),
                Some(Some(value)) => values.push(value),
                Some(None) => return Err(self.refuse(row)),
            }
        }
        Ok(PrimitiveArray::try_new(ScalarBuffer::from(values), self.array.logical_nulls())?)
    }

    fn refuse(&self, row: usize) -> Error {
        let (value, ty) = (shown(&self.array, row), self.column.column_type.sql_name());
        Error::invalid(format!("{}{value} does not fit {ty}", self.rows.prefix(row)))
    }

    fn no_conversion(&self) -> Error {
        let (found, ty) = (self.array.data_type(), self.column.column_type.sql_name());
        Error::new(ErrorKind::InvalidValue, format!("{found} values cannot be converted to {ty}"))
    }
}

/// Returns the arrays without hidden elements: those of a NULL, and those outside of a slice.
fn without_hidden_elements(arrays: ListArray) -> Result<ListArray> {
    let (offsets, values) = (arrays.offsets(), arrays.values());
    let shown_length = |(row, length): (usize, usize)| if arrays.is_valid(row) { length } else { 0 };
    let lengths: Vec<usize> = offsets.lengths().enumerate().map(shown_length).collect();
    if lengths.iter().sum::<usize>() == values.len() {
        return Ok(arrays);
    }
    let mut is_shown = BooleanBufferBuilder::new(values.len());
    is_shown.append_n(offsets.first().map_or(0, |offset| offset.as_usize()), false);
    for (row, length) in offsets.lengths().enumerate() {
        is_shown.append_n(length, arrays.is_valid(row));
    }
    is_shown.append_n(values.len() - is_shown.len(), false);
    let values = filter(values, &BooleanArray::new(is_shown.finish(), None))?;
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    Ok(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), values, arrays.nulls().cloned())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{BooleanArray, FixedSizeBinaryArray, Float64Array, Int64Array, UInt64Array};
    use atsdb_core::ColumnId;

    fn fit(column_type: ColumnType, array: impl Array + 'static) -> Result<ArrayRef> {
        let column = Column::new(ColumnId(0), "x", column_type);
        fitting(&column, &(Arc::new(array) as ArrayRef), RowNumbers::Known).map(|fit| fit.expect("a rule"))
    }

    fn decimals(array: impl Array + 'static) -> Result<Vec<Option<i128>>> {
        let numbers = fit(ColumnType::Decimal { precision: 5, scale: 2 }, array)?;
        assert_eq!(*numbers.data_type(), DataType::Decimal128(5, 2));
        Ok(numbers.as_primitive::<Decimal128Type>().iter().collect())
    }

    fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn decimals_are_rounded_or_refused_with_their_row() {
        let text = StringArray::from(vec![Some("1.005"), None, Some("-999.99")]);
        assert_eq!(decimals(text).unwrap(), [Some(101), None, Some(-99_999)]);
        assert_eq!(decimals(Int64Array::from(vec![None, Some(7)])).unwrap(), [None, Some(700)]);
        assert_eq!(decimals(Float64Array::from(vec![1.005, 0.1])).unwrap(), [Some(101), Some(10)]);
        let wide = |values: Vec<i128>| Decimal128Array::from(values).with_precision_and_scale(38, 4).unwrap();
        assert_eq!(decimals(wide(vec![10_050])).unwrap(), [Some(101)]);
        assert!(message(decimals(wide(vec![0, 9_999_950]))).contains("row 2: 999.9950 does not fit DECIMAL(5, 2)"));
        assert!(message(decimals(UInt64Array::from(vec![1, u64::MAX]))).contains("row 2"));
        assert!(message(decimals(Float64Array::from(vec![f64::NAN]))).contains("row 1"));
        assert!(message(decimals(StringArray::from(vec!["1", "x"]))).contains("row 2: x"));
        assert!(decimals(BooleanArray::from(vec![true])).is_err());
        // Arrow does not check the digits of its decimals.
        let long = Decimal128Array::from(vec![100_000]).with_precision_and_scale(5, 2).unwrap();
        assert!(message(decimals(long)).contains("row 1"));
    }

    #[test]
    fn times_are_within_the_day() {
        let times = fit(ColumnType::Time, StringArray::from(vec![Some("4:05 PM"), None])).unwrap();
        assert_eq!(times.as_ref(), &Time64MicrosecondArray::from(vec![Some(57_900_000_000), None]));
        let nanoseconds = arrow::array::Time64NanosecondArray::from(vec![1_499, 1_500]);
        let times = fit(ColumnType::Time, nanoseconds).unwrap();
        assert_eq!(times.as_ref(), &Time64MicrosecondArray::from(vec![1, 2]));
        let beyond = Time64MicrosecondArray::from(vec![DAY_MICROSECONDS]);
        assert!(message(fit(ColumnType::Time, beyond)).contains("row 1"));
        assert!(fit(ColumnType::Time, Int64Array::from(vec![5])).is_err(), "a number is no time");
    }

    #[test]
    fn intervals_keep_their_parts() {
        let texts = StringArray::from(vec![Some("1 year 2 mons -3 days 04:05:06.7"), None]);
        let expected = IntervalMonthDayNano::new(14, -3, 14_706_700_000_000);
        let intervals = fit(ColumnType::Interval, texts).unwrap();
        assert_eq!(intervals.as_ref(), &IntervalMonthDayNanoArray::from(vec![Some(expected), None]));
        let durations = arrow::array::DurationMicrosecondArray::from(vec![7]);
        let intervals = fit(ColumnType::Interval, durations).unwrap();
        let expected = IntervalMonthDayNano::new(0, 0, 7_000);
        assert_eq!(intervals.as_ref(), &IntervalMonthDayNanoArray::from(vec![expected]));
        assert!(message(fit(ColumnType::Interval, StringArray::from(vec!["1 fortnight"]))).contains("row 1"));
    }

    fn lists(elements: ArrayRef, lengths: &[usize], nulls: Option<Vec<bool>>) -> ListArray {
        let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
        ListArray::new(field, offsets, elements, nulls.map(Into::into))
    }

    #[test]
    fn elements_that_no_row_shows_are_not_converted() {
        let wide: ArrayRef = Arc::new(Int64Array::from(vec![Some(1 << 40), Some(1), None, Some(1 << 40), Some(2)]));
        let expected = |rows: Vec<Option<Vec<Option<i32>>>>| {
            ListArray::from_iter_primitive::<arrow::datatypes::Int32Type, _, _>(rows)
        };
        let arrays = |array: ListArray| fit(ColumnType::Array(ElementType::Int32), array);
        let hidden = lists(ArrayRef::clone(&wide), &[1, 2, 1, 1], Some(vec![false, true, false, true]));
        let found = arrays(hidden).unwrap();
        assert_eq!(found.as_ref(), &expected(vec![None, Some(vec![Some(1), None]), None, Some(vec![Some(2)])]));
        let sliced = lists(ArrayRef::clone(&wide), &[1, 2, 2], None).slice(1, 1);
        assert_eq!(arrays(sliced).unwrap().as_ref(), &expected(vec![Some(vec![Some(1), None])]));
        assert!(message(arrays(lists(wide, &[1, 4], None))).contains("does not fit"));
    }

    #[test]
    fn arrays_without_a_type_of_elements_fit_every_column() {
        for element in [ElementType::Int32, ElementType::Text, ElementType::Uuid, ElementType::Time] {
            let untyped = lists(new_null_array(&DataType::Null, 2), &[0, 2], None);
            let found = fit(ColumnType::Array(element), untyped).unwrap();
            let found = found.as_list::<i32>();
            assert_eq!((found.value(0).len(), found.value(1).len(), found.value(1).null_count()), (0, 2, 2));
        }
    }

    #[test]
    fn texts_are_checked_by_their_type() {
        let canonical = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
        let texts = StringArray::from(vec![Some("{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}"), None]);
        let uuids = fit(ColumnType::Uuid, texts).unwrap();
        assert_eq!(uuids.as_ref(), &StringArray::from(vec![Some(canonical), None]));
        let bytes = FixedSizeBinaryArray::try_from_iter(std::iter::once(u128::MAX.to_be_bytes())).unwrap();
        let uuids = fit(ColumnType::Uuid, bytes).unwrap();
        assert_eq!(uuids.as_ref(), &StringArray::from(vec!["ffffffff-ffff-ffff-ffff-ffffffffffff"]));
        assert!(message(fit(ColumnType::Uuid, StringArray::from(vec!["x"]))).contains("x does not fit UUID"));
        let json = StringArray::from(vec![Some(r#" {"a": [1, null]} "#), None, Some("1")]);
        assert_eq!(fit(ColumnType::Json, json.clone()).unwrap().as_ref(), &json);
        assert!(message(fit(ColumnType::Json, StringArray::from(vec!["1", "{a: 1}"]))).contains("row 2: {a: 1}"));
    }
}
