//! `trim_array(array, n)`: an array without its last `n` elements.

use crate::functions::base::answers::{answer, are_constant};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListArray, UInt64Array};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::{Result, exec_err, internal_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

pub(super) fn function() -> ScalarUDF {
    ScalarUDF::new_from_impl(TrimArray { signature: Signature::user_defined(Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TrimArray {
    signature: Signature,
}

impl ScalarUDFImpl for TrimArray {
    fn name(&self) -> &'static str {
        "trim_array"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [array @ DataType::List(_), count] if count.is_integer() || count.is_null() => {
                Ok(vec![array.clone(), DataType::Int64])
            }
            _ => plan_err!("trim_array takes 2 arguments, an array and a number of elements"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("trim_array has the type of its first argument")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields {
            [array, _] => Ok(Arc::new(array.as_ref().clone().with_name(self.name()).with_nullable(true))),
            _ => internal_err!("trim_array takes 2 arguments"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = are_constant(&args.args);
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [arrays, counts] = arrays.as_slice() else { return internal_err!("trim_array takes 2 arguments") };
        let trimmed: ArrayRef = Arc::new(trimmed(arrays.as_list::<i32>(), counts.as_primitive::<Int64Type>())?);
        answer(is_constant, trimmed)
    }
}

fn trimmed(arrays: &ListArray, counts: &Int64Array) -> Result<ListArray> {
    let (mut kept, mut lengths) = (Vec::new(), Vec::with_capacity(arrays.len()));
    let offsets = arrays.value_offsets().windows(2).map(|bounds| (bounds[0], bounds[1]));
    for (row, (start, end)) in offsets.enumerate() {
        if arrays.is_null(row) || counts.is_null(row) {
            lengths.push(0);
            continue;
        }
        let length = usize::try_from(end - start).unwrap_or_default();
        let count = usize::try_from(counts.value(row)).ok().and_then(|count| length.checked_sub(count));
        let Some(count) = count else {
            return exec_err!("number of elements to trim must be between 0 and {length}");
        };
        kept.extend((start..end).take(count).filter_map(|element| u64::try_from(element).ok()));
        lengths.push(count);
    }
    let elements = take(arrays.values().as_ref(), &UInt64Array::from(kept), None)?;
    let DataType::List(element) = arrays.data_type() else { return internal_err!("trim_array takes an array") };
    let nulls = NullBuffer::union(arrays.nulls(), counts.nulls());
    Ok(ListArray::try_new(Arc::clone(element), OffsetBuffer::from_lengths(lengths), elements, nulls)?)
}
