//! Functions of a unit and a value whose unit differs between rows: the rows of each unit are computed together.
//! DataFusion's `date_trunc` and `date_part` take a constant unit alone, and refuse NULL.
//!
//! No upstream issue known.

use crate::functions::types::type_names::name_of;
use crate::text::datafusion_errors::external;
use atsdb_core::Error;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt64Array, new_null_array};
use datafusion::arrow::compute::{cast, interleave, take};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The result of a call whose units are an array. `compute` returns that of a call with one unit. It is cast to the
/// type `result`, and is NULL where the unit or the value is.
pub(super) fn by_unit(
    args: &ScalarFunctionArgs,
    result: &DataType,
    compute: impl Fn(ScalarFunctionArgs) -> Result<ColumnarValue>,
) -> Result<ColumnarValue> {
    let arrays = ColumnarValue::values_to_arrays(&args.args)?;
    let [units, values] = arrays.as_slice() else { return internal_err!("a unit and {} values", arrays.len()) };
    let units = cast(units, &DataType::Utf8)?;
    let mut rows_by_unit: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (row, unit) in units.as_string::<i32>().iter().enumerate() {
        if let Some(unit) = unit
            && values.is_valid(row)
        {
            rows_by_unit.entry(unit).or_default().push(row);
        }
    }
    // Rows without a unit or a value take the NULL of the first array.
    let mut found: Vec<ArrayRef> = vec![new_null_array(result, 1)];
    let mut places = vec![(0, 0); units.len()];
    for (unit, rows) in rows_by_unit {
        let values = take(values, &UInt64Array::from_iter_values(rows.iter().map(|row| *row as u64)), None)?;
        let call = ScalarFunctionArgs {
            args: vec![ColumnarValue::Scalar(ScalarValue::from(unit)), ColumnarValue::Array(values)],
            arg_fields: args.arg_fields.clone(),
            number_rows: rows.len(),
            return_field: Arc::clone(&args.return_field),
            config_options: Arc::clone(&args.config_options),
        };
        let computed = compute(call)?.into_array(rows.len())?;
        for (at, row) in rows.into_iter().enumerate() {
            places[row] = (found.len(), at);
        }
        found.push(cast(&computed, result)?);
    }
    let found: Vec<&dyn Array> = found.iter().map(AsRef::as_ref).collect();
    Ok(ColumnarValue::Array(interleave(&found, &places)?))
}

/// The error for a unit that no value has.
pub(super) fn unknown_unit(unit: &str, values: &DataType) -> DataFusionError {
    let message = format!("unit \"{:.60}\" not recognized for type {}", unit.to_ascii_lowercase(), name_of(values));
    external(Error::invalid(message).with_hint("write year, month, day, hour, minute or second"))
}
