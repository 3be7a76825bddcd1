//! `array_to_string` writes elements as casts to text do, `array_remove(x, NULL)` removes the NULLs, and
//! `array_cat(x, NULL)` is `x`, as is `x` beside an array without elements. DataFusion 55 writes booleans, floats and
//! times in forms of its own, makes NULL of the array, refuses the NULL, and adds an empty array as an element of one
//! with more dimensions.
//!
//! Waits for [#6808](https://github.com/apache/datafusion/issues/6808) (`array_cat`). DataFusion's `array_remove` is as
//! [#21011](https://github.com/apache/datafusion/issues/21011) asks for; for the forms of elements no upstream issue is
//! known.

use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::of_inner::of_inner;
use crate::workarounds::casts::postgres::element_texts;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::{filter, is_not_null};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::utils::list_ndims;
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::execution::context::SessionContext;
use datafusion::functions_nested::concat::array_concat_udf;
use datafusion::logical_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use std::sync::Arc;

/// Replaces DataFusion's functions.
pub(crate) fn register(context: &SessionContext) {
    let inner = |name: &str| context.state().scalar_functions().get(name).cloned();
    if let Some(inner) = inner("array_to_string") {
        context.register_udf(ScalarUDF::new_from_impl(ArrayToString { inner }));
    }
    // PostgreSQL's `array_remove` is called by this name.
    if let Some(inner) = inner("array_remove_all") {
        context.register_udf(ScalarUDF::new_from_impl(ArrayRemove { inner }));
    }
    if let Some(inner) = inner("array_concat") {
        context.register_udf(ScalarUDF::new_from_impl(ArrayConcat { inner }));
    }
}

/// `array || array`, where they have several dimensions, or one has one more than the other.
pub(crate) fn concatenated(left: Expr, right: Expr) -> Expr {
    ScalarUDF::new_from_impl(ArrayConcat { inner: array_concat_udf() }).call(vec![left, right])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayToString {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for ArrayToString {
    of_inner!(name, aliases, signature, coerce_types, return_type, documentation);

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(arrays) = args.args.first_mut()
            && matches!(arrays.data_type(), DataType::List(element) if !element.data_type().is_nested())
        {
            *arrays = match arrays {
                ColumnarValue::Array(array) => ColumnarValue::Array(with_texts(array)?),
                ColumnarValue::Scalar(scalar) => {
                    ColumnarValue::Scalar(ScalarValue::try_from_array(&with_texts(&scalar.to_array()?)?, 0)?)
                }
            };
        }
        self.inner.invoke_with_args(args)
    }
}

/// The same arrays with the texts of their elements.
fn with_texts(arrays: &ArrayRef) -> Result<ArrayRef> {
    let lists = arrays.as_list::<i32>();
    let field = Arc::new(Field::new_list_field(DataType::Utf8, true));
    let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
    Ok(Arc::new(ListArray::try_new(field, offsets, element_texts(lists.values())?, nulls)?))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayRemove {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for ArrayRemove {
    of_inner!(name, aliases, signature, coerce_types, return_type, return_field_from_args, documentation);

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let row_count = args.number_rows;
        let (arrays, element) = match args.args.as_slice() {
            [arrays, element] => (arrays.to_array(row_count)?, element.to_array(row_count)?),
            _ => return self.inner.invoke_with_args(args),
        };
        match element.logical_null_count() {
            0 => self.inner.invoke_with_args(args),
            nulls if nulls == row_count => {
                let rest = without_nulls(&arrays)?.unwrap_or(arrays);
                Ok(match are_constant(&args.args) && row_count > 0 {
                    true => ColumnarValue::Scalar(ScalarValue::try_from_array(&rest, 0)?),
                    false => ColumnarValue::Array(rest),
                })
            }
            _ => exec_err!("array_remove of an element that is NULL in some rows alone is not supported"),
        }
    }
}

/// The arrays without their NULLs; `None` if none of them has a NULL.
fn without_nulls(arrays: &ArrayRef) -> Result<Option<ArrayRef>> {
    let DataType::List(field) = arrays.data_type() else { return Ok(None) };
    let lists = arrays.as_list::<i32>();
    if lists.values().null_count() == 0 {
        return Ok(None);
    }
    let is_present = is_not_null(lists.values())?;
    let counts = (0..lists.len()).map(|row| {
        let range = lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize;
        range.filter(|at| is_present.value(*at)).count()
    });
    let offsets = OffsetBuffer::from_lengths(counts);
    // Values outside of all lists, of a slice, must not shift the others.
    let (first, last) = (lists.value_offsets()[0] as usize, lists.value_offsets()[lists.len()] as usize);
    let values = lists.values().slice(first, last - first);
    let values = filter(&values, &is_present.slice(first, last - first))?;
    Ok(Some(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, lists.nulls().cloned())?)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayConcat {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for ArrayConcat {
    of_inner!(name, aliases, signature, return_type, documentation);

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let list = types.iter().find(|data_type| matches!(data_type, DataType::List(_)));
        let known = types.iter().map(|data_type| match list {
            Some(list) if data_type.is_null() => list.clone(),
            _ => data_type.clone(),
        });
        self.inner.coerce_types(&known.collect::<Vec<_>>())
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let dimension_count = args.args.iter().map(|arg| list_ndims(&arg.data_type())).max().unwrap_or(0);
        if dimension_count < 2 || !args.args.iter().all(|arg| matches!(arg.data_type(), DataType::List(_))) {
            return self.inner.invoke_with_args(args);
        }
        let is_scalar = are_constant(&args.args);
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let parts = arrays.iter().map(|arrays| part(arrays, dimension_count).map(ColumnarValue::Array));
        args.args = parts.collect::<Result<_>>()?;
        let row_count = arrays.first().map_or(0, |arrays| arrays.len());
        args.number_rows = row_count;
        let joined = self.inner.invoke_with_args(args)?.to_array(row_count)?;
        // Arrays without elements make an empty array, not NULL.
        let (field, offsets, values, _) = joined.as_list::<i32>().clone().into_parts();
        let is_known = (0..row_count).map(|row| arrays.iter().any(|arrays| arrays.is_valid(row)));
        let joined = ListArray::try_new(field, offsets, values, Some(is_known.collect::<Vec<bool>>().into()))?;
        answer(is_scalar, Arc::new(joined))
    }
}

/// The arrays with so many dimensions. An array without elements becomes NULL, which adds nothing to others.
fn part(arrays: &ArrayRef, dimension_count: u64) -> Result<ArrayRef> {
    let mut lists = Arc::clone(arrays);
    for _ in list_ndims(arrays.data_type())..dimension_count {
        let field = Arc::new(Field::new_list_field(lists.data_type().clone(), true));
        let offsets = OffsetBuffer::from_repeated_length(1, lists.len());
        lists = Arc::new(ListArray::try_new(field, offsets, lists, None)?);
    }
    let (field, offsets, values, _) = lists.as_list::<i32>().clone().into_parts();
    Ok(Arc::new(ListArray::try_new(field, offsets, values, Some(have_elements(arrays).into()))?))
}

/// Returns for each array whether it has an element. One of empty arrays has none.
fn have_elements(arrays: &ArrayRef) -> Vec<bool> {
    let Some(lists) = arrays.as_list_opt::<i32>() else { return vec![true; arrays.len()] };
    let inner = have_elements(lists.values());
    let ranges = lists.value_offsets().windows(2).map(|ends| ends[0] as usize..ends[1] as usize);
    ranges.enumerate().map(|(row, range)| lists.is_valid(row) && inner[range].contains(&true)).collect()
}
