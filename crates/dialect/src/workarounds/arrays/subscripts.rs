//! `x[i]` and `x[i:j]`: positions below 1 are outside of the array, and a parameter is an integer. DataFusion 55 counts
//! such positions from the end, and has no subscripts of JSON: `doc['key']` and `doc[0]` are parts of a document.
//!
//! Waits for [#22254](https://github.com/apache/datafusion/issues/22254) (positions); for the others no upstream issue
//! is known.

use super::comparison::Arrays;
use crate::functions::base::answers::are_constant;
use crate::functions::json::read::extraction;
use crate::functions::types::declared::text_type_of;
use crate::workarounds::untyped::texts::typed_parameter;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt64Array};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::utils::take_function_args;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawFieldAccessExpr};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, GetFieldAccess, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, cast as cast_expr, lit, when,
};
use std::sync::Arc;

/// Runs while a statement is planned.
#[derive(Debug)]
pub(crate) struct Subscripts;

impl ExprPlanner for Subscripts {
    fn plan_field_access(
        &self,
        access: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let RawFieldAccessExpr { field_access, expr } = access;
        if text_type_of(&expr, schema).is_some_and(|of| of.is_json()) {
            let key = match field_access {
                GetFieldAccess::NamedStructField { name } => lit(name),
                GetFieldAccess::ListIndex { key } => cast_expr(*key, DataType::Utf8),
                other => return Ok(PlannerResult::Original(RawFieldAccessExpr { field_access: other, expr })),
            };
            return Ok(PlannerResult::Planned(extraction().call(vec![expr, key])));
        }
        let is_list = matches!(expr.get_type(schema), Ok(DataType::List(_)));
        let field_access = match field_access {
            GetFieldAccess::ListIndex { key }
                if is_list && !is_position(&key) && !matches!(expr, Expr::AggregateFunction(_)) =>
            {
                let key = match position(*key) {
                    key if matches!(key.get_type(schema), Ok(DataType::Int32)) => key,
                    key => cast_expr(key, DataType::Int64),
                };
                let key = when(key.clone().lt(lit(0_i64)), lit(0_i64)).otherwise(key)?;
                GetFieldAccess::ListIndex { key: Box::new(key) }
            }
            GetFieldAccess::ListRange { start, stop, stride } if is_list && is_one(&stride) => {
                let slice = ScalarUDF::new_from_impl(Slice { signature: Signature::any(3, Volatility::Immutable) });
                return Ok(PlannerResult::Planned(slice.call(vec![expr, position(*start), position(*stop)])));
            }
            other => other,
        };
        Ok(PlannerResult::Original(RawFieldAccessExpr { field_access, expr }))
    }
}

/// A subscript with its type.
fn position(subscript: Expr) -> Expr {
    typed_parameter(subscript, DataType::Int32)
}

/// Returns whether a subscript is a number from 0 on, or the name of a field.
fn is_position(key: &Expr) -> bool {
    match key {
        Expr::Literal(value, _) => match value.cast_to(&DataType::Int64) {
            Ok(ScalarValue::Int64(Some(position))) => position >= 0,
            _ => true,
        },
        _ => false,
    }
}

fn is_one(stride: &Expr) -> bool {
    matches!(stride, Expr::Literal(value, _) if value.cast_to(&DataType::Int64).ok() == Some(ScalarValue::Int64(Some(1))))
}

/// The elements from one position to another.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Slice {
    signature: Signature,
}

impl ScalarUDFImpl for Slice {
    fn name(&self) -> &str {
        "slice"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = are_constant(&args.args);
        let [arrays, first, last] = take_function_args(self.name(), &args.args)?;
        let row_count = if is_scalar { 1 } else { args.number_rows };
        let (first, last) = (first.to_array(row_count)?, last.to_array(row_count)?);
        let slices: ArrayRef = Arc::new(slices(&Arrays::of(arrays)?, &first, &last)?);
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&slices, 0)?),
            false => ColumnarValue::Array(slices),
        })
    }
}

fn slices(arrays: &Arrays, first: &ArrayRef, last: &ArrayRef) -> Result<ListArray> {
    let (first, last) = (cast(first, &DataType::Int64)?, cast(last, &DataType::Int64)?);
    let (first, last) = (first.as_primitive::<Int64Type>(), last.as_primitive::<Int64Type>());
    let (mut lengths, mut positions) = (Vec::with_capacity(first.len()), Vec::new());
    let mut valid = Vec::with_capacity(first.len());
    for row in 0..first.len() {
        let before = positions.len();
        let array = arrays.range(row).filter(|_| first.is_valid(row) && last.is_valid(row));
        if let Some(array) = &array {
            let range = first.value(row).max(1)..=last.value(row).min(array.len() as i64);
            positions.extend(range.map(|position| array.start as u64 + (position - 1) as u64));
        }
        valid.push(array.is_some());
        lengths.push(positions.len() - before);
    }
    let elements = take(arrays.elements(), &UInt64Array::from(positions), None)?;
    let nulls = Some(NullBuffer::from(valid)).filter(|nulls| nulls.null_count() > 0);
    Ok(ListArray::try_new(arrays.field(), OffsetBuffer::from_lengths(lengths), elements, nulls)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Int64Array;
    use datafusion::arrow::datatypes::Int32Type;

    #[test]
    fn slices_are_what_the_array_has_between_the_positions() {
        let three = Some(vec![Some(1), None, Some(3)]);
        let list = |values| ListArray::from_iter_primitive::<Int32Type, _, _>([values]);
        let arrays = |values| Arrays::of(&ColumnarValue::Array(Arc::new(list(values)))).unwrap();
        for (first, last, expected) in [
            (Some(1), Some(2), Some(vec![Some(1), None])),
            (Some(-1), Some(1), Some(vec![Some(1)])),
            (Some(2), Some(i64::MAX), Some(vec![None, Some(3)])),
            (Some(3), Some(2), Some(vec![])),
            (Some(5), Some(9), Some(vec![])),
            (Some(i64::MIN), Some(i64::MAX), three.clone()),
            (None, Some(1), None),
        ] {
            let bound = |bound: Option<i64>| Arc::new(Int64Array::from(vec![bound])) as ArrayRef;
            let found = slices(&arrays(three.clone()), &bound(first), &bound(last)).unwrap();
            assert_eq!(found, list(expected), "{first:?} to {last:?}");
        }
        assert!(
            slices(
                &arrays(None),
                &(Arc::new(Int64Array::from(vec![1])) as _),
                &(Arc::new(Int64Array::from(vec![1])) as _)
            )
            .unwrap()
            .is_null(0)
        );
    }
}
