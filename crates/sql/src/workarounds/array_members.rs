//! NULLs in arrays equal nothing: `ARRAY[1, NULL] @> ARRAY[NULL]` is false, and so is `&&` of two arrays that only
//! have NULL in common. For DataFusion's `array_has_all` and `array_has_any` they are equal, and a NULL has all
//! elements of an empty array. A text beside an array is read as one: `tags @> '{a}'`.
//!
//! No upstream issue known.

use super::array_comparison::comparable;
use crate::functions::of_inner::of_inner;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListArray};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::{and, filter, is_not_null, not, nullif};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::sync::Arc;

/// Replaces DataFusion's functions.
pub(super) fn register(context: &SessionContext) {
    for (name, needs_all) in [("array_has_all", true), ("array_has_any", false)] {
        if let Some(inner) = context.state().scalar_functions().get(name) {
            let signature = Signature::user_defined(Volatility::Immutable);
            let function = ArrayMembers { inner: Arc::clone(inner), needs_all, signature };
            context.register_udf(ScalarUDF::new_from_impl(function));
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayMembers {
    inner: Arc<ScalarUDF>,
    /// Whether all members must be found, not just one.
    needs_all: bool,
    signature: Signature,
}

impl ScalarUDFImpl for ArrayMembers {
    of_inner!(name, aliases, return_type, documentation);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let is_untyped = |data_type: &DataType| data_type.is_string() || data_type.is_null();
        let common = match types {
            [list @ DataType::List(_), other] | [other, list @ DataType::List(_)] if is_untyped(other) => {
                Some(list.clone())
            }
            [left, right] if left.is_nested() && right.is_nested() => comparison_coercion(left, right),
            _ => None,
        };
        match common {
            Some(common) => Ok(vec![common.clone(), common]),
            None => plan_err!("{} takes two arrays", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let is_known = arrays.iter().map(|array| is_not_null(array)).collect::<Result<Vec<_>, _>>()?;
        let found = self.found(args)?;
        let is_unknown = match is_known.as_slice() {
            [one, other] => not(&and(one, other)?)?,
            _ => return Ok(found),
        };
        match found {
            found if is_unknown.true_count() == 0 => Ok(found),
            _ if is_scalar => Ok(ColumnarValue::Scalar(ScalarValue::Boolean(None))),
            found => Ok(ColumnarValue::Array(nullif(&found.to_array(is_unknown.len())?, &is_unknown)?)),
        }
    }
}

impl ArrayMembers {
    fn found(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        for arrays in &mut args.args {
            with_comparable_floats(arrays)?;
        }
        let Some(members) = args.args.get_mut(1) else { return self.inner.invoke_with_args(args) };
        let is_scalar = matches!(members, ColumnarValue::Scalar(_));
        let arrays = members.to_array(1)?;
        let Some((present, is_complete)) = without_nulls(&arrays)? else { return self.inner.invoke_with_args(args) };
        *members = match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&present, 0)?),
            false => ColumnarValue::Array(present),
        };
        let row_count = args.number_rows;
        let found = self.inner.invoke_with_args(args)?;
        if !self.needs_all {
            return Ok(found);
        }
        let is_complete = match is_scalar {
            true => BooleanArray::from(vec![is_complete.value(0); row_count]),
            false => is_complete,
        };
        match found {
            ColumnarValue::Scalar(ScalarValue::Boolean(found)) => {
                let found = found.map(|found| found && is_complete.value(0));
                Ok(ColumnarValue::Scalar(ScalarValue::Boolean(found)))
            }
            found => {
                let found = found.to_array(row_count)?;
                Ok(ColumnarValue::Array(Arc::new(and(found.as_boolean(), &is_complete)?)))
            }
        }
    }
}

/// Gives floats in arrays one zero and one NaN, because DataFusion compares their bits.
fn with_comparable_floats(arrays: &mut ColumnarValue) -> Result<()> {
    let data_type = arrays.data_type();
    let DataType::List(field) = &data_type else { return Ok(()) };
    if !field.data_type().is_floating() {
        return Ok(());
    }
    let given = arrays.to_array(1)?;
    let lists = given.as_list::<i32>();
    let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
    let list: ArrayRef = Arc::new(ListArray::try_new(Arc::clone(field), offsets, comparable(lists.values()), nulls)?);
    *arrays = match arrays {
        ColumnarValue::Scalar(_) => ColumnarValue::Scalar(ScalarValue::try_from_array(&list, 0)?),
        ColumnarValue::Array(_) => ColumnarValue::Array(list),
    };
    Ok(())
}

/// The arrays without their NULLs, and for each whether it had none; `None` if none of them has a NULL.
pub(super) fn without_nulls(arrays: &ArrayRef) -> Result<Option<(ArrayRef, BooleanArray)>> {
    let DataType::List(field) = arrays.data_type() else { return Ok(None) };
    let lists = arrays.as_list::<i32>();
    if lists.values().null_count() == 0 {
        return Ok(None);
    }
    let is_present = is_not_null(lists.values())?;
    let counts: Vec<usize> = (0..lists.len())
        .map(|row| {
            let range = lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize;
            range.filter(|at| is_present.value(*at)).count()
        })
        .collect();
    let is_complete = (0..lists.len()).map(|row| Some(counts[row] == lists.value_length(row) as usize));
    let is_complete: BooleanArray = is_complete.collect();
    // Values outside of all lists, of a slice, must not shift the others.
    let (first, last) = (lists.value_offsets()[0] as usize, lists.value_offsets()[lists.len()] as usize);
    let values = lists.values().slice(first, last - first);
    let values = filter(&values, &is_present.slice(first, last - first))?;
    let offsets = OffsetBuffer::from_lengths(counts);
    let present = ListArray::try_new(Arc::clone(field), offsets, values, lists.nulls().cloned())?;
    Ok(Some((Arc::new(present), is_complete)))
}
