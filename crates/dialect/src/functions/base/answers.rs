//! The answers of functions: one value where no argument has rows, else a value for each row.

use datafusion::arrow::array::ArrayRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::ColumnarValue;

/// Returns whether all arguments are single values, the same for every row.
pub(crate) fn are_constant(args: &[ColumnarValue]) -> bool {
    args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)))
}

/// The answer with these values. If it `is_constant`, it is the first one.
pub(crate) fn answer(is_constant: bool, values: ArrayRef) -> Result<ColumnarValue> {
    if is_constant {
        return ScalarValue::try_from_array(&values, 0).map(ColumnarValue::Scalar);
    }
    Ok(ColumnarValue::Array(values))
}
