//! Arrays are compared element by element, then by their lengths: NULLs are equal to each other and after all other
//! elements, 0.0 equals -0.0, and NaN equals NaN. A text that is compared with an array is read as one.
//!
//! DataFusion 55 compares the bits of floats, and puts NULLs first. No upstream issue known.

use super::expressions::rewrite_expressions;
use crate::text::datafusion_errors::external;
use crate::text::errors::not_supported;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, DynComparator, Int8Array, ListArray, make_comparator};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::expr::{InList, InSubquery, Sort};
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use datafusion::logical_expr::{
    Between, BinaryExpr, ColumnarValue, Distinct, Expr, ExprSchemable, LogicalPlan, Operator, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility, binary_expr, cast, lit,
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
        let plan = plan.transform_up_with_subqueries(|plan| {
            refuse_groups_of_floats(&plan)?;
            Ok(with_order_of_arrays(plan))
        })?;
        rewrite_expressions(plan.data, |_| false, rewrite)
    }
}

/// Rows with equal arrays are found by the bits of floats, for which 0.0 is not -0.0.
fn refuse_groups_of_floats(plan: &LogicalPlan) -> Result<()> {
    let has_floats = |expr: &Expr, schema: &DFSchema| expr.get_type(schema).is_ok_and(|of| is_array_of_floats(&of));
    let is_grouped = match plan {
        LogicalPlan::Aggregate(aggregate) => {
            let schema = aggregate.input.schema();
            let is_distinct = |expr: &Expr| {
                let mut found = false;
                let _ = expr.apply(|expr| {
                    if let Expr::AggregateFunction(call) = expr {
                        found |= call.params.distinct && call.params.args.iter().any(|arg| has_floats(arg, schema));
                    }
                    Ok(TreeNodeRecursion::Continue)
                });
                found
            };
            aggregate.group_expr.iter().any(|expr| has_floats(expr, schema))
                || aggregate.aggr_expr.iter().any(is_distinct)
        }
        LogicalPlan::Distinct(Distinct::All(input)) => {
            input.schema().fields().iter().any(|field| is_array_of_floats(field.data_type()))
        }
        LogicalPlan::Distinct(Distinct::On(on)) => on.on_expr.iter().any(|expr| has_floats(expr, on.input.schema())),
        LogicalPlan::Join(join) => join.on.iter().any(|(left, _)| has_floats(left, join.left.schema())),
        LogicalPlan::Window(window) => window.window_expr.iter().any(|expr| {
            let schema = window.input.schema();
            let mut found = false;
            let _ = expr.apply(|expr| {
                if let Expr::WindowFunction(call) = expr {
                    found |= call.params.partition_by.iter().any(|expr| has_floats(expr, schema));
                }
                Ok(TreeNodeRecursion::Continue)
            });
            found
        }),
        _ => false,
    };
    if is_grouped { Err(floats_in_groups()) } else { Ok(()) }
}

fn floats_in_groups() -> DataFusionError {
    let error = not_supported("finding equal arrays of floats by GROUP BY, DISTINCT, IN or a set operation");
    external(error.with_hint("compare them with =, or group by their text: CAST(x AS TEXT)"))
}

fn is_array_of_floats(data_type: &DataType) -> bool {
    matches!(data_type, DataType::List(element) if matches!(element.data_type(), DataType::Float32 | DataType::Float64))
}

fn with_order_of_arrays(plan: LogicalPlan) -> Transformed<LogicalPlan> {
    let LogicalPlan::Sort(mut sort) = plan else { return Transformed::no(plan) };
    let schema = Arc::clone(sort.input.schema());
    let is_changed = order_by_arrays(&mut sort.expr, schema.as_ref());
    if is_changed { Transformed::yes(LogicalPlan::Sort(sort)) } else { Transformed::no(LogicalPlan::Sort(sort)) }
}

/// Orders arrays as they are compared. `ORDER BY a NULLS FIRST` puts the NULLs first that are no arrays, and DataFusion
/// the NULLs in them, too. Returns whether something changed.
fn order_by_arrays(keys: &mut Vec<Sort>, schema: &DFSchema) -> bool {
    let is_array = |key: &Sort| matches!(key.expr.get_type(schema), Ok(DataType::List(_)));
    let is_odd = |key: &Sort| is_array(key) && key.nulls_first == key.asc;
    let has_floats = |key: &Sort| key.expr.get_type(schema).is_ok_and(|of| is_array_of_floats(&of));
    if !keys.iter().any(|key| is_odd(key) || has_floats(key)) {
        return false;
    }
    let all = std::mem::take(keys).into_iter().flat_map(|mut key| {
        let nulls = is_odd(&key).then(|| Sort::new(key.expr.clone().is_null(), !key.nulls_first, false));
        if nulls.is_some() {
            key.nulls_first = !key.asc;
        }
        if has_floats(&key) {
            let function = ComparableArray { signature: Signature::any(1, Volatility::Immutable) };
            key.expr = ScalarUDF::new_from_impl(function).call(vec![key.expr]);
        }
        nulls.into_iter().chain([key]).collect::<Vec<_>>()
    });
    *keys = all.collect();
    true
}

fn rewrite(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_ordered = match &mut expr {
        Expr::WindowFunction(call) => order_by_arrays(&mut call.params.order_by, schema),
        Expr::AggregateFunction(call) => order_by_arrays(&mut call.params.order_by, schema),
        _ => false,
    };
    if is_ordered {
        return Ok(Transformed::yes(expr));
    }
    let is_array = |expr: &Expr| matches!(expr.get_type(schema), Ok(DataType::List(_)));
    match &expr {
        Expr::ScalarFunction(call) if matches!(call.name(), "greatest" | "least") && call.args.iter().any(is_array) => {
            return Err(external(not_supported(format_args!("{} of arrays", call.name()))));
        }
        Expr::InSubquery(InSubquery { expr: value, .. })
            if value.get_type(schema).is_ok_and(|of| is_array_of_floats(&of)) =>
        {
            return Err(floats_in_groups());
        }
        _ => {}
    }
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
    Ok(compared.map_or_else(|| Transformed::no(expr), Transformed::yes))
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

/// Arrays whose floats have one zero and one NaN.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ComparableArray {
    signature: Signature,
}

impl ScalarUDFImpl for ComparableArray {
    fn name(&self) -> &str {
        "comparable_array"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = args.args[0].to_array(args.number_rows)?;
        let DataType::List(field) = arrays.data_type() else { return Ok(ColumnarValue::Array(arrays)) };
        let lists = arrays.as_list::<i32>();
        let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
        let list = ListArray::try_new(Arc::clone(field), offsets, comparable(lists.values()), nulls)?;
        Ok(ColumnarValue::Array(Arc::new(list)))
    }
}

fn orders(left: &ListArray, right: &ListArray) -> Result<Int8Array> {
    let nulls_last = SortOptions { descending: false, nulls_first: false };
    let elements = make_comparator(&comparable(left.values()), &comparable(right.values()), nulls_last)?;
    let order = |row: usize| match order_of(left, right, row, &elements) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    };
    let known = |row: usize| (left.is_valid(row) && right.is_valid(row)).then(|| order(row));
    Ok((0..left.len()).map(known).collect())
}

fn order_of(left: &ListArray, right: &ListArray, row: usize, elements: &DynComparator) -> Ordering {
    let range = |list: &ListArray| list.value_offsets()[row] as usize..list.value_offsets()[row + 1] as usize;
    let (left, right) = (range(left), range(right));
    let different = left.clone().zip(right.clone()).map(|(left, right)| elements(left, right));
    different.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| left.len().cmp(&right.len()))
}

/// The elements with one zero and one NaN.
pub(super) fn comparable(elements: &ArrayRef) -> ArrayRef {
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
