//! Conversions that change no value.

use arrow::array::{Array, ArrayRef, BooleanArray, Datum, new_null_array};
use arrow::compute::kernels::cmp::distinct;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::DataType;
use atsdb_core::{Error, ErrorKind, Result};

/// Whether errors name the row by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowNumbers {
    /// The rows are in the caller's order: errors count them from 1.
    Known,
    /// The order of the rows is unknown to the caller.
    Unknown,
}

impl RowNumbers {
    /// The beginning of an error for a row, counted from 0.
    pub(crate) fn prefix(self, row: usize) -> String {
        match self {
            Self::Known => format!("row {}: ", row + 1),
            Self::Unknown => String::new(),
        }
    }
}

/// Converts an array to another type with the same values.
///
/// Errors: [`ErrorKind::InvalidValue`], which names the first row whose value would change.
pub(crate) fn convert(array: &ArrayRef, wanted: &DataType, rows: RowNumbers) -> Result<ArrayRef> {
    let found = array.data_type().clone();
    // Arrow does not convert values back to this type.
    if found.is_null() {
        return Ok(new_null_array(wanted, array.len()));
    }
    let options = CastOptions { safe: true, ..Default::default() };
    let refuse =
        |row: usize| Error::invalid(format!("{}{} does not fit {wanted}", rows.prefix(row), shown(array, row)));
    let converted = cast_with_options(array, wanted, &options).map_err(|error| {
        Error::new(ErrorKind::InvalidValue, format!("{found} values cannot be converted to {wanted}"))
            .with_source(error)
    })?;
    let lost = |row: usize| converted.is_null(row) && !array.is_null(row);
    if converted.null_count() > array.logical_null_count()
        && let Some(row) = (0..array.len()).find(|row| lost(*row))
    {
        return Err(refuse(row));
    }
    if found.is_string() || wanted.is_string() || matches!(found, DataType::Dictionary(..)) {
        return Ok(converted);
    }
    let back = cast_with_options(&converted, &found, &options)?;
    let changed = distinct(&back as &dyn Datum, array as &dyn Datum)?;
    match first_true(&changed) {
        Some(row) => Err(refuse(row)),
        None => Ok(converted),
    }
}

/// A value as an error names it.
pub(crate) fn shown(array: &ArrayRef, row: usize) -> String {
    let value = arrow::util::display::array_value_to_string(array, row).unwrap_or_else(|_| "the value".into());
    format!("{value:.60}")
}

fn first_true(mask: &BooleanArray) -> Option<usize> {
    mask.values().set_indices().next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray};
    use arrow::datatypes::TimeUnit as ArrowUnit;
    use std::sync::Arc;

    #[test]
    fn what_would_change_is_refused_with_its_row() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.5]));
        let message = convert(&floats, &DataType::Int64, RowNumbers::Known).unwrap_err().to_string();
        assert!(message.contains("row 2") && message.contains("2.5"), "{message}");
        let wide: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(1 << 40)]));
        assert!(convert(&wide, &DataType::Int32, RowNumbers::Known).unwrap_err().to_string().contains("row 3"));
        let unrepresentable: ArrayRef = Arc::new(Int64Array::from(vec![(1 << 53) + 1]));
        assert!(convert(&unrepresentable, &DataType::Float64, RowNumbers::Known).is_err());
        let fine: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1_500_001]));
        assert!(convert(&fine, &DataType::Timestamp(ArrowUnit::Millisecond, None), RowNumbers::Known).is_err());
    }

    #[test]
    fn what_stays_the_same_is_converted() {
        let narrow: ArrayRef = Arc::new(Int32Array::from(vec![Some(7), None]));
        let wide = convert(&narrow, &DataType::Int64, RowNumbers::Known).unwrap();
        assert_eq!(wide.as_ref(), &Int64Array::from(vec![Some(7), None]));
        let nulls = convert(&new_null_array(&DataType::Null, 2), &DataType::Int64, RowNumbers::Known).unwrap();
        assert_eq!(nulls.as_ref(), &Int64Array::from(vec![None, None]));
        let text: ArrayRef = Arc::new(StringArray::from(vec!["12", "x"]));
        assert!(convert(&text, &DataType::Int64, RowNumbers::Known).unwrap_err().to_string().contains("row 2: x"));
    }
}
