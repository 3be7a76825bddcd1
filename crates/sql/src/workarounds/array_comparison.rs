//! Arrays are compared element by element, then by their lengths: NULLs are equal to each other and after all other
//! elements, 0.0 equals -0.0, and NaN equals NaN. A text that is compared with an array is read as one.
//!
//! DataFusion 55 compares the bits of floats, and puts NULLs first. No upstream issue known.

use super::expressions::rewrite_expressions;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, DynComparator, Int8Array, ListArray, make_comparator};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{InList, Sort};
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use datafusion::logical_expr::{
    Between, BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility, binary_expr, cast, lit,
};
use datafusion::optimizer::AnalyzerRule;
use std::cmp::Ordering;
use std::sync::Arc;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct CompareArrays;

impl AnalyzerRule for CompareArrays {
    fn name(&self) -> &str {
        "compare_arrays"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = plan.transform_up_with_subqueries(|plan| Ok(with_nulls_of_arrays(plan)))?.data;
        rewrite_expressions(plan, |_| false, |expr, schema| Ok(rewrite(expr, schema)))
    }
}

/// `ORDER BY a NULLS FIRST` puts the NULLs first that are no arrays. DataFusion does it with the NULLs in them, too.
fn with_nulls_of_arrays(plan: LogicalPlan) -> Transformed<LogicalPlan> {
    let LogicalPlan::Sort(mut sort) = plan else { return Transformed::no(plan) };
    let schema = Arc::clone(sort.input.schema());
    let is_odd =
        |key: &Sort| key.nulls_first == key.asc && matches!(key.expr.get_type(schema.as_ref()), Ok(DataType::List(_)));
    if !sort.expr.iter().any(is_odd) {
        return Transformed::no(LogicalPlan::Sort(sort));
    }
    let keys = std::mem::take(&mut sort.expr).into_iter().flat_map(|key| match is_odd(&key) {
        true => {
            let nulls = Sort::new(key.expr.clone().is_null(), !key.nulls_first, false);
            vec![nulls, Sort::new(key.expr, key.asc, !key.asc)]
        }
        false => vec![key],
    });
    sort.expr = keys.collect();
    Transformed::yes(LogicalPlan::Sort(sort))
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let compared = match &expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(*op) => {
            order(left, right, schema).map(|order| binary_expr(order, *op, lit(0_i8)))
        }
        Expr::Between(Between { expr: value, negated, low, high }) => {
            order(value, low, schema).zip(order(value, high, schema)).map(|(low, high)| {
                let is_between =
                    binary_expr(low, Operator::GtEq, lit(0_i8)).and(binary_expr(high, Operator::LtEq, lit(0_i8)));
                if *negated { Expr::Not(Box::new(is_between)) } else { is_between }
            })
        }
        Expr::InList(InList { expr: value, list, negated }) => {
            let equal = |item: &Expr| Some(binary_expr(order(value, item, schema)?, Operator::Eq, lit(0_i8)));
            let any = list.iter().map(equal).collect::<Option<Vec<_>>>();
            any.and_then(|any| any.into_iter().reduce(Expr::or)).map(|any| match negated {
                true => Expr::Not(Box::new(any)),
                false => any,
            })
        }
        _ => None,
    };
    compared.map_or_else(|| Transformed::no(expr), Transformed::yes)
}

fn compares(op: Operator) -> bool {
    use Operator as O;
    matches!(op, O::Eq | O::NotEq | O::Lt | O::LtEq | O::Gt | O::GtEq)
}

/// The order of two arrays as a number below, above or equal to 0; `None` if they are no arrays.
fn order(left: &Expr, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let types = [left, right].map(|expr| expr.get_type(schema).ok());
    let [Some(left_type), Some(right_type)] = types else { return None };
    if !matches!(left_type, DataType::List(_)) && !matches!(right_type, DataType::List(_)) {
        return None;
    }
    let is_untyped = |expr: &Expr, data_type: &DataType| {
        data_type.is_null() || data_type.is_string() && matches!(expr, Expr::Literal(..) | Expr::Placeholder(_))
    };
    let common = match (&left_type, &right_type) {
        (list, other) if is_untyped(right, other) => list.clone(),
        (other, list) if is_untyped(left, other) => list.clone(),
        (left, right) => comparison_coercion(left, right).filter(|of| matches!(of, DataType::List(_)))?,
    };
    let typed = |expr: &Expr, data_type: &DataType| match *data_type == common {
        true => expr.clone(),
        false => cast(expr.clone(), common.clone()),
    };
    let args = vec![typed(left, &left_type), typed(right, &right_type)];
    Some(ScalarUDF::new_from_impl(ArrayOrder { signature: Signature::any(2, Volatility::Immutable) }).call(args))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayOrder {
    signature: Signature,
}

impl ScalarUDFImpl for ArrayOrder {
    fn name(&self) -> &str {
        "array_order"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let orders: ArrayRef = Arc::new(orders(arrays[0].as_list(), arrays[1].as_list())?);
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&orders, 0)?),
            false => ColumnarValue::Array(orders),
        })
    }
}

fn orders(left: &ListArray, right: &ListArray) -> Result<Int8Array> {
    let nulls_last = SortOptions { descending: false, nulls_first: false };
    let elements = make_comparator(&comparable(left.values()), &comparable(right.values()), nulls_last)?;
    let order =
        |row: usize| (left.is_valid(row) && right.is_valid(row)).then(|| order_of(left, right, row, &elements) as i8);
    Ok((0..left.len()).map(order).collect())
}

fn order_of(left: &ListArray, right: &ListArray, row: usize, elements: &DynComparator) -> Ordering {
    let range = |list: &ListArray| list.value_offsets()[row] as usize..list.value_offsets()[row + 1] as usize;
    let (left, right) = (range(left), range(right));
    let different = left.clone().zip(right.clone()).map(|(left, right)| elements(left, right));
    different.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| left.len().cmp(&right.len()))
}

/// The elements with one zero and one NaN.
fn comparable(elements: &ArrayRef) -> ArrayRef {
    match elements.data_type() {
        DataType::Float32 => {
            let one = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
            Arc::new(elements.as_primitive::<Float32Type>().unary::<_, Float32Type>(one))
        }
        DataType::Float64 => {
            let one = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
            Arc::new(elements.as_primitive::<Float64Type>().unary::<_, Float64Type>(one))
        }
        _ => Arc::clone(elements),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(left: Vec<Option<f64>>, right: Vec<Option<f64>>) -> i8 {
        let list = |values| ListArray::from_iter_primitive::<Float64Type, _, _>([Some(values)]);
        orders(&list(left), &list(right)).unwrap().value(0)
    }

    #[test]
    fn arrays_have_the_order_of_postgresql() {
        let nan = || f64::from_bits(0xfff8_0000_0000_0001);
        assert_eq!(compared(vec![Some(1.0), None], vec![Some(1.0), None]), 0);
        assert_eq!(compared(vec![Some(1.0), None], vec![Some(1.0), Some(f64::NAN)]), 1);
        assert_eq!(compared(vec![Some(1.0)], vec![Some(1.0), None]), -1);
        assert_eq!(compared(vec![], vec![None]), -1);
        assert_eq!(compared(vec![Some(0.0), Some(nan())], vec![Some(-0.0), Some(f64::NAN)]), 0);
        assert_eq!(compared(vec![Some(nan())], vec![Some(f64::INFINITY)]), 1);
        assert_eq!(compared(vec![Some(2.0)], vec![Some(1.0), Some(9.0)]), 1);
    }
}
