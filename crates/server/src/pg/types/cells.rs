//! The values of an Arrow array of any type, one at a time.

use super::known;
use arrow::array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, LargeBinaryArray,
    LargeStringArray, PrimitiveArray, StringArray, StringViewArray,
};
use arrow::datatypes::{
    DataType, Date32Type, Date64Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, IntervalDayTimeType, IntervalMonthDayNanoType, IntervalUnit, IntervalYearMonthType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use atsdb::time::{DAY_MICROSECONDS, DAY_MILLISECONDS};

/// Months, days and microseconds.
type Interval = (i32, i32, i64);

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::pg) enum Cell<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float32(f32),
    Float64(f64),
    /// A number as text: digits, a sign, a decimal point; or `NaN`, `Infinity`, `-Infinity`.
    Numeric(String),
    Text(&'a str),
    Bytes(&'a [u8]),
    /// Days since 1970.
    Date(i64),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 1970, UTC. `None`: out of PostgreSQL's range.
    Timestamp(Option<i64>),
    Interval {
        months: i32,
        days: i32,
        microseconds: i64,
    },
    /// The type of the elements, and the elements.
    List(u32, ArrayRef),
    /// An array or a vector of the catalogue.
    Items(Vec<Cell<'a>>),
    /// An object of the catalogue: its number in binary, its name in text.
    Named(i64, &'a str),
    /// Several values in one.
    Record(String),
    /// Any other value, as JSON.
    Json(String),
}

/// Reads the values of one array.
pub(in crate::pg) enum Cells<'a> {
    Null,
    Bool(&'a BooleanArray),
    Int(Ints<'a>),
    Float16(&'a PrimitiveArray<Float16Type>),
    Float32(&'a PrimitiveArray<Float32Type>),
    Float64(&'a PrimitiveArray<Float64Type>),
    UInt64(&'a PrimitiveArray<UInt64Type>),
    Numeric(Box<dyn Fn(usize) -> Option<String> + 'a>),
    Text(&'a StringArray),
    LargeText(&'a LargeStringArray),
    TextView(&'a StringViewArray),
    Bytes(&'a BinaryArray),
    LargeBytes(&'a LargeBinaryArray),
    BytesView(&'a BinaryViewArray),
    FixedBytes(&'a FixedSizeBinaryArray),
    Date(Ints<'a>),
    Time(Ints<'a>),
    Timestamp(Ints<'a>),
    Interval(Box<dyn Fn(usize) -> Option<Interval> + 'a>),
    Dictionary { keys: Vec<Option<usize>>, values: Box<Cells<'a>> },
    List(Box<dyn Fn(usize) -> Option<ArrayRef> + 'a>),
    Other(&'a ArrayRef),
}

/// Integers of any width, converted to the required unit.
pub(in crate::pg) struct Ints<'a> {
    read: Box<dyn Fn(usize) -> Option<Option<i64>> + 'a>,
}

impl<'a> Ints<'a> {
    fn new<T: ArrowPrimitiveType>(array: &'a ArrayRef, convert: impl Fn(i64) -> Option<i64> + 'a) -> Self
    where
        T::Native: Into<i64>,
    {
        let array = array.as_primitive::<T>();
        Self { read: Box::new(move |row| array.is_valid(row).then(|| convert(array.value(row).into()))) }
    }

    fn plain<T: ArrowPrimitiveType>(array: &'a ArrayRef) -> Self
    where
        T::Native: Into<i64>,
    {
        Self::new::<T>(array, Some)
    }
}

impl<'a> Cells<'a> {
    pub(in crate::pg) fn new(array: &'a ArrayRef) -> Self {
        match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bool(array.as_boolean()),
            DataType::Int8 => Self::Int(Ints::plain::<Int8Type>(array)),
            DataType::Int16 => Self::Int(Ints::plain::<Int16Type>(array)),
            DataType::Int32 => Self::Int(Ints::plain::<Int32Type>(array)),
            DataType::Int64 => Self::Int(Ints::plain::<Int64Type>(array)),
            DataType::UInt8 => Self::Int(Ints::plain::<UInt8Type>(array)),
            DataType::UInt16 => Self::Int(Ints::plain::<UInt16Type>(array)),
            DataType::UInt32 => Self::Int(Ints::plain::<UInt32Type>(array)),
            DataType::UInt64 => Self::UInt64(array.as_primitive()),
            DataType::Float16 => Self::Float16(array.as_primitive()),
            DataType::Float32 => Self::Float32(array.as_primitive()),
            DataType::Float64 => Self::Float64(array.as_primitive()),
            DataType::Decimal32(precision, scale) => decimal::<Decimal32Type>(array, *precision, *scale),
            DataType::Decimal64(precision, scale) => decimal::<Decimal64Type>(array, *precision, *scale),
            DataType::Decimal128(precision, scale) => decimal::<Decimal128Type>(array, *precision, *scale),
            DataType::Decimal256(precision, scale) => decimal::<Decimal256Type>(array, *precision, *scale),
            DataType::Utf8 => Self::Text(array.as_string()),
            DataType::LargeUtf8 => Self::LargeText(array.as_string()),
            DataType::Utf8View => Self::TextView(array.as_string_view()),
            DataType::Binary => Self::Bytes(array.as_binary()),
            DataType::LargeBinary => Self::LargeBytes(array.as_binary()),
            DataType::BinaryView => Self::BytesView(array.as_binary_view()),
            DataType::FixedSizeBinary(_) => Self::FixedBytes(array.as_fixed_size_binary()),
            DataType::Date32 => Self::Date(Ints::plain::<Date32Type>(array)),
            DataType::Date64 => Self::Date(Ints::new::<Date64Type>(array, |ms| Some(ms.div_euclid(DAY_MILLISECONDS)))),
            DataType::Time32(TimeUnit::Second) => Self::Time(Ints::new::<Time32SecondType>(array, times(1_000_000))),
            DataType::Time32(_) => Self::Time(Ints::new::<Time32MillisecondType>(array, times(1_000))),
            DataType::Time64(TimeUnit::Nanosecond) => Self::Time(Ints::new::<Time64NanosecondType>(array, micros)),
            DataType::Time64(_) => Self::Time(Ints::plain::<Time64MicrosecondType>(array)),
            DataType::Timestamp(TimeUnit::Second, _) => {
                Self::Timestamp(Ints::new::<TimestampSecondType>(array, times(1_000_000)))
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                Self::Timestamp(Ints::new::<TimestampMillisecondType>(array, times(1_000)))
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                Self::Timestamp(Ints::plain::<TimestampMicrosecondType>(array))
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                Self::Timestamp(Ints::new::<TimestampNanosecondType>(array, micros))
            }
            DataType::Duration(unit) => duration(array, *unit),
            DataType::Interval(unit) => interval(array, *unit),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let validity = dictionary.keys();
                let keys = atsdb::dictionary_keys(dictionary).into_iter().enumerate();
                let keys = keys.map(|(row, key)| validity.is_valid(row).then_some(key)).collect();
                Self::Dictionary { keys, values: Box::new(Self::new(dictionary.values())) }
            }
            DataType::List(element) if is_element(element.data_type()) => {
                let list = array.as_list::<i32>();
                Self::List(Box::new(move |row| list.is_valid(row).then(|| list.value(row))))
            }
            DataType::LargeList(element) if is_element(element.data_type()) => {
                let list = array.as_list::<i64>();
                Self::List(Box::new(move |row| list.is_valid(row).then(|| list.value(row))))
            }
            DataType::FixedSizeList(element, _) if is_element(element.data_type()) => {
                let list = array.as_fixed_size_list();
                Self::List(Box::new(move |row| list.is_valid(row).then(|| list.value(row))))
            }
            _ => Self::Other(array),
        }
    }

    pub(in crate::pg) fn get(&self, row: usize) -> Cell<'_> {
        match self {
            Self::Null => Cell::Null,
            Self::Bool(array) => or_null(array.is_valid(row), || Cell::Bool(array.value(row))),
            Self::Int(ints) => (ints.read)(row).flatten().map_or(Cell::Null, Cell::Int),
            Self::UInt64(array) => or_null(array.is_valid(row), || Cell::Numeric(array.value(row).to_string())),
            Self::Float16(array) => or_null(array.is_valid(row), || Cell::Float32(array.value(row).to_f32())),
            Self::Float32(array) => or_null(array.is_valid(row), || Cell::Float32(array.value(row))),
            Self::Float64(array) => or_null(array.is_valid(row), || Cell::Float64(array.value(row))),
            Self::Numeric(read) => read(row).map_or(Cell::Null, Cell::Numeric),
            Self::Text(array) => or_null(array.is_valid(row), || Cell::Text(array.value(row))),
            Self::LargeText(array) => or_null(array.is_valid(row), || Cell::Text(array.value(row))),
            Self::TextView(array) => or_null(array.is_valid(row), || Cell::Text(array.value(row))),
            Self::Bytes(array) => or_null(array.is_valid(row), || Cell::Bytes(array.value(row))),
            Self::LargeBytes(array) => or_null(array.is_valid(row), || Cell::Bytes(array.value(row))),
            Self::BytesView(array) => or_null(array.is_valid(row), || Cell::Bytes(array.value(row))),
            Self::FixedBytes(array) => or_null(array.is_valid(row), || Cell::Bytes(array.value(row))),
            Self::Date(ints) => (ints.read)(row).flatten().map_or(Cell::Null, Cell::Date),
            Self::Time(ints) => (ints.read)(row).flatten().map_or(Cell::Null, Cell::Time),
            Self::Timestamp(ints) => (ints.read)(row).map_or(Cell::Null, Cell::Timestamp),
            Self::Interval(read) => read(row).map_or(Cell::Null, |(months, days, microseconds)| Cell::Interval {
                months,
                days,
                microseconds,
            }),
            Self::Dictionary { keys, values } => keys[row].map_or(Cell::Null, |key| values.get(key)),
            Self::List(read) => {
                read(row).map_or(Cell::Null, |list| Cell::List(known::of_arrow(list.data_type()), list))
            }
            Self::Other(array) => or_null(array.is_valid(row), || Cell::Json(super::json::json(array.as_ref(), row))),
        }
    }
}

/// Returns whether values of this type may be elements of an array: values without parts, and arrays of such.
fn is_element(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
            is_element(element.data_type())
        }
        other => !other.is_nested(),
    }
}

fn or_null<'a>(is_valid: bool, cell: impl FnOnce() -> Cell<'a>) -> Cell<'a> {
    if is_valid { cell() } else { Cell::Null }
}

fn times(factor: i64) -> impl Fn(i64) -> Option<i64> {
    move |value| value.checked_mul(factor)
}

/// PostgreSQL's types have no nanoseconds: fractions of a microsecond are cut off.
fn micros(nanoseconds: i64) -> Option<i64> {
    Some(nanoseconds.div_euclid(1_000))
}

/// The microseconds of an interval, which PostgreSQL rounds to the nearest ones. Halves go to the even neighbour.
fn rounded_micros(nanoseconds: i64) -> i64 {
    let (micros, rest) = (nanoseconds.div_euclid(1_000), nanoseconds.rem_euclid(1_000));
    micros + i64::from(rest > 500 || rest == 500 && micros % 2 != 0)
}

fn decimal<T: DecimalType>(array: &ArrayRef, precision: u8, scale: i8) -> Cells<'_> {
    let array = array.as_primitive::<T>();
    Cells::Numeric(Box::new(move |row| {
        array.is_valid(row).then(|| T::format_decimal(array.value(row), precision, scale))
    }))
}

fn duration(array: &ArrayRef, unit: TimeUnit) -> Cells<'_> {
    let ints = match unit {
        TimeUnit::Second => Ints::new::<DurationSecondType>(array, times(1_000_000)),
        TimeUnit::Millisecond => Ints::new::<DurationMillisecondType>(array, times(1_000)),
        TimeUnit::Microsecond => Ints::plain::<DurationMicrosecondType>(array),
        TimeUnit::Nanosecond => Ints::new::<DurationNanosecondType>(array, micros),
    };
    let split = |microseconds: i64| (0, (microseconds / DAY_MICROSECONDS) as i32, microseconds % DAY_MICROSECONDS);
    Cells::Interval(Box::new(move |row| (ints.read)(row).flatten().map(split)))
}

fn interval(array: &ArrayRef, unit: IntervalUnit) -> Cells<'_> {
    match unit {
        IntervalUnit::YearMonth => {
            let array = array.as_primitive::<IntervalYearMonthType>();
            Cells::Interval(Box::new(move |row| array.is_valid(row).then(|| (array.value(row), 0, 0))))
        }
        IntervalUnit::DayTime => {
            let array = array.as_primitive::<IntervalDayTimeType>();
            Cells::Interval(Box::new(move |row| {
                let value = array.is_valid(row).then(|| array.value(row))?;
                Some((0, value.days, i64::from(value.milliseconds) * 1_000))
            }))
        }
        IntervalUnit::MonthDayNano => {
            let array = array.as_primitive::<IntervalMonthDayNanoType>();
            Cells::Interval(Box::new(move |row| {
                let value = array.is_valid(row).then(|| array.value(row))?;
                Some((value.months, value.days, rounded_micros(value.nanoseconds)))
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_rounded_to_microseconds() {
        for (nanoseconds, expected) in
            [(0, 0), (1_123_456_700, 1_123_457), (500, 0), (1_500, 2), (-499, 0), (-500, 0), (-1_501, -2), (-2_000, -2)]
        {
            assert_eq!(rounded_micros(nanoseconds), expected, "{nanoseconds}");
        }
    }
}
