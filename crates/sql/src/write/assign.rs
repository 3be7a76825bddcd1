//! Converts the result of a query to the types of the columns that it is inserted into, with the rules of assignment:
//! times are rounded to the column's unit, decimals and floats to integers, text is parsed, floats are narrowed, and
//! texts are written as `CAST(x AS TEXT)` writes them. Exact conversions are left to the engine.

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, ListArray, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Date32Type, Field, Float32Type, Float64Type, TimeUnit as ArrowUnit};
use atsdb_codec::logical_type;
use atsdb_core::time::DAY_SECONDS;
use atsdb_core::{Column, ColumnType, ElementType, Error, Result, TableDefinition, TimeUnit};
use atsdb_dialect::functions::base::arguments::is_text;
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_dialect::text::decimals::nearest_floats;
use atsdb_dialect::text::errors::unfit;
use atsdb_dialect::text::literal::Literal;
use atsdb_dialect::text::literal_columns::LiteralColumn;
use atsdb_dialect::workarounds::value_texts;
use std::sync::Arc;

/// The values for the column at `position`. `rows_before` counts the rows of earlier batches, for the row in an error.
/// Without it, the error does not name the row.
pub(crate) fn assign(
    definition: &TableDefinition,
    position: usize,
    array: &ArrayRef,
    rows_before: Option<u64>,
) -> Result<ArrayRef> {
    let column = &definition.columns[position];
    let time_unit = (definition.time_column() == Some(column)).then(|| definition.time_unit());
    Assignment { column, time_unit, array, rows_before }
        .assigned()
        .map_err(|error| error.context(format_args!("table {}, column {}", definition.name, column.name)))
}

struct Assignment<'a> {
    column: &'a Column,
    /// The table's unit of times for its time column.
    time_unit: Option<TimeUnit>,
    array: &'a ArrayRef,
    rows_before: Option<u64>,
}

impl Assignment<'_> {
    fn assigned(&self) -> Result<ArrayRef> {
        let Self { column, array, .. } = *self;
        match (array.data_type(), column.column_type) {
            (DataType::List(_), ColumnType::Array(element)) => self.elements(element),
            (found, ColumnType::Text) if !is_text(found) && !matches!(found, DataType::Null | DataType::Struct(_)) => {
                value_texts(array).map_err(from_datafusion)
            }
            // The engine has the rules of these types.
            (_, ColumnType::Text | ColumnType::Uuid | ColumnType::Json) => Ok(Arc::clone(array)),
            (_, ColumnType::Decimal { .. } | ColumnType::Time | ColumnType::Interval) => Ok(Arc::clone(array)),
            (found, _) if is_text(found) => self.read_text(),
            (DataType::Timestamp(..) | DataType::Date32, ColumnType::Timestamp(unit)) => self.times(unit),
            (DataType::Timestamp(..), ColumnType::Date) => self.days(),
            (DataType::Timestamp(..) | DataType::Date32, ColumnType::Int64) if let Some(unit) = self.time_unit => {
                self.times(unit)
            }
            (DataType::Timestamp(..) | DataType::Date32, other) if other != ColumnType::Date => {
                Err(Error::invalid(format!("a time cannot be converted to {}", other.sql_name()))
                    .with_hint("choose what it counts: CAST(extract(epoch FROM time) AS BIGINT)"))
            }
            (DataType::Float64, ColumnType::Float32) => self.narrow_floats(),
            (DataType::Decimal128(..), other) if is_integer(other) => self.whole_decimals(),
            (DataType::Float32 | DataType::Float64, other) if is_integer(other) => self.whole_floats(),
            (found, ColumnType::Float32 | ColumnType::Float64) if found.is_integer() => {
                cast(array, &logical_type(column)).map_err(internal)
            }
            (DataType::Decimal128(..), ColumnType::Float32 | ColumnType::Float64) => {
                nearest_floats(array, &logical_type(column)).map_err(internal)
            }
            _ => Ok(Arc::clone(array)),
        }
    }

    /// Arrays, each of whose elements is assigned. The error does not name the row.
    fn elements(&self, element: ElementType) -> Result<ArrayRef> {
        let arrays = self.array.as_list::<i32>();
        let column = Column::new(self.column.id, &self.column.name, element.column_type());
        let elements = Assignment { column: &column, time_unit: None, array: arrays.values(), rows_before: None };
        let elements = elements.assigned()?;
        let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
        let assigned = ListArray::try_new(field, arrays.offsets().clone(), elements, arrays.nulls().cloned());
        Ok(Arc::new(assigned.map_err(internal)?))
    }

    fn refuse(&self, row: usize) -> Error {
        let value = arrow::util::display::array_value_to_string(self.array, row).unwrap_or_else(|_| "the value".into());
        self.at(row, unfit(value, self.column.column_type))
    }

    fn at(&self, row: usize, error: Error) -> Error {
        match self.rows_before {
            Some(rows_before) => error.context(format_args!("row {}", rows_before + row as u64 + 1)),
            None => error,
        }
    }

    fn read_text(&self) -> Result<ArrayRef> {
        let texts = cast(self.array, &DataType::Utf8).map_err(internal)?;
        let mut read = LiteralColumn::new(self.column);
        for (row, text) in texts.as_string::<i32>().iter().enumerate() {
            let literal = text.map_or(Literal::Null, |text| Literal::Text(text.into()));
            read.push(&literal).map_err(|error| self.at(row, error))?;
        }
        Ok(read.finish())
    }

    /// Times as counts of a unit, in the column's type.
    fn times(&self, unit: TimeUnit) -> Result<ArrayRef> {
        let counts = self.convert(i128::from(unit.per_second()), 1, |count| i64::try_from(count).ok())?;
        let wanted = logical_type(self.column);
        cast(&(Arc::new(counts.into_iter().collect::<Int64Array>()) as ArrayRef), &wanted).map_err(internal)
    }

    /// The days that contain the times.
    fn days(&self) -> Result<ArrayRef> {
        let days = self.convert(1, i128::from(DAY_SECONDS), |count| i32::try_from(count).ok())?;
        Ok(Arc::new(days.into_iter().collect::<Int32Array>().reinterpret_cast::<Date32Type>()))
    }

    /// Converts each time to a unit; a second has `numerator / denominator` of them. It rounds, except that a
    /// day is the one that contains the time.
    fn convert<T>(
        &self,
        numerator: i128,
        denominator: i128,
        narrow: impl Fn(i128) -> Option<T>,
    ) -> Result<Vec<Option<T>>> {
        let (numerator, denominator) = match self.array.data_type() {
            DataType::Timestamp(ArrowUnit::Millisecond, _) => (numerator, denominator * 1_000),
            DataType::Timestamp(ArrowUnit::Microsecond, _) => (numerator, denominator * 1_000_000),
            DataType::Timestamp(ArrowUnit::Nanosecond, _) => (numerator, denominator * 1_000_000_000),
            DataType::Date32 => (numerator * i128::from(DAY_SECONDS), denominator),
            _ => (numerator, denominator),
        };
        let half = if self.column.column_type == ColumnType::Date { 0 } else { denominator / 2 };
        let counts = match self.array.data_type() {
            DataType::Date32 => cast(&cast(self.array, &DataType::Int32).map_err(internal)?, &DataType::Int64),
            _ => cast(self.array, &DataType::Int64),
        };
        let counts = counts.map_err(internal)?;
        let convert = |(row, count): (usize, Option<i64>)| match count {
            Some(count) => {
                let scaled = (i128::from(count) * numerator + half).div_euclid(denominator);
                narrow(scaled).map(Some).ok_or_else(|| self.refuse(row))
            }
            None => Ok(None),
        };
        counts.as_primitive::<arrow::datatypes::Int64Type>().iter().enumerate().map(convert).collect()
    }

    /// Decimals as integers of the column's type: rounded, halves away from zero.
    fn whole_decimals(&self) -> Result<ArrayRef> {
        self.integers(&cast(self.array, &DataType::Decimal128(38, 0)).map_err(internal)?)
    }

    /// Floats as integers of the column's type: rounded, halves to the even number.
    fn whole_floats(&self) -> Result<ArrayRef> {
        let floats = cast(self.array, &DataType::Float64).map_err(internal)?;
        let whole = floats.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::round_ties_even);
        self.integers(&(Arc::new(whole) as ArrayRef))
    }

    /// Whole numbers in the column's type.
    fn integers(&self, whole: &ArrayRef) -> Result<ArrayRef> {
        let integers = cast(whole, &logical_type(self.column)).map_err(internal)?;
        match (0..integers.len()).find(|row| integers.is_null(*row) && self.array.is_valid(*row)) {
            Some(row) => Err(self.refuse(row)),
            None => Ok(integers),
        }
    }

    /// Rounds to the nearest float. Only a value that becomes infinite by that does not fit.
    fn narrow_floats(&self) -> Result<ArrayRef> {
        let narrow = cast(self.array, &DataType::Float32).map_err(internal)?;
        let wide = self.array.as_primitive::<Float64Type>();
        let lost = narrow.as_primitive::<Float32Type>().iter().zip(wide).position(|pair| match pair {
            (Some(narrow), Some(wide)) => narrow.is_infinite() && wide.is_finite(),
            _ => false,
        });
        match lost {
            Some(row) => Err(self.refuse(row)),
            None => Ok(narrow),
        }
    }
}

fn is_integer(column_type: ColumnType) -> bool {
    use ColumnType as C;
    matches!(column_type, C::Int8 | C::Int16 | C::Int32 | C::Int64 | C::UInt8 | C::UInt16 | C::UInt32 | C::UInt64)
}

fn internal(error: arrow::error::ArrowError) -> Error {
    Error::internal(error.to_string())
}

/// Converts a dictionary with more texts than rows, or with none, to plain text, and untyped NULLs to the column's
/// type.
pub(crate) fn plain(array: &ArrayRef, column: &Column) -> Result<ArrayRef> {
    if array.data_type().is_null() {
        let data_type = if column.map.is_some() { DataType::Utf8 } else { logical_type(column) };
        return Ok(new_null_array(&data_type, array.len()));
    }
    match array.as_any_dictionary_opt() {
        Some(dictionary) if dictionary.values().is_empty() || dictionary.values().len() > array.len() => {
            cast(array, &DataType::Utf8).map_err(|error| Error::internal(error.to_string()))
        }
        _ => Ok(Arc::clone(array)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, TimestampMicrosecondArray, TimestampNanosecondArray};

    fn table() -> TableDefinition {
        TableDefinition::new("t")
            .with_column("time", ColumnType::Int64, None)
            .with_column("ms", ColumnType::Timestamp(TimeUnit::Millisecond), None)
            .with_column("ns", ColumnType::Timestamp(TimeUnit::Nanosecond), None)
            .with_column("day", ColumnType::Date, None)
            .with_time("time", TimeUnit::Second)
            .unwrap()
    }

    fn counts(position: usize, array: ArrayRef) -> Vec<Option<i64>> {
        let assigned = assign(&table(), position, &array, Some(0)).unwrap();
        assert_eq!(*assigned.data_type(), logical_type(&table().columns[position]));
        let counts = match assigned.data_type() {
            DataType::Date32 => cast(&cast(&assigned, &DataType::Int32).unwrap(), &DataType::Int64).unwrap(),
            _ => cast(&assigned, &DataType::Int64).unwrap(),
        };
        counts.as_primitive::<arrow::datatypes::Int64Type>().iter().collect()
    }

    #[test]
    fn times_are_rounded_to_what_the_column_counts() {
        let times: ArrayRef =
            Arc::new(TimestampNanosecondArray::from(vec![Some(1_499_999), None, Some(1_500_000), Some(-1_500_001)]));
        assert_eq!(counts(1, Arc::clone(&times)), [Some(1), None, Some(2), Some(-2)]);
        assert_eq!(counts(2, Arc::clone(&times)), [Some(1_499_999), None, Some(1_500_000), Some(-1_500_001)]);
        assert_eq!(counts(0, Arc::clone(&times)), [Some(0), None, Some(0), Some(0)]);
        assert_eq!(counts(3, times), [Some(0), None, Some(0), Some(-1)]);
    }

    #[test]
    fn floats_are_rounded_to_the_even_integer() {
        let definition = TableDefinition::new("t").with_column("n", ColumnType::Int16, None);
        let floats: ArrayRef =
            Arc::new(Float64Array::from(vec![Some(0.5), None, Some(1.5), Some(-2.5), Some(32_767.4)]));
        let assigned = assign(&definition, 0, &floats, Some(0)).unwrap();
        let integers = assigned.as_primitive::<arrow::datatypes::Int16Type>().iter().collect::<Vec<_>>();
        assert_eq!(integers, [Some(0), None, Some(2), Some(-2), Some(32_767)]);
        for wrong in [32_767.5, f64::NAN, f64::INFINITY] {
            let floats: ArrayRef = Arc::new(Float64Array::from(vec![wrong]));
            let message = assign(&definition, 0, &floats, Some(4)).unwrap_err().to_string();
            assert!(message.contains("table t, column n: row 5"), "{message}");
        }
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_row() {
        let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![0, i64::MAX]));
        let message = assign(&table(), 2, &times, Some(10)).unwrap_err().to_string();
        assert!(message.contains("table t, column ns: row 12") && message.contains("TIMESTAMP(9)"), "{message}");
    }
}
