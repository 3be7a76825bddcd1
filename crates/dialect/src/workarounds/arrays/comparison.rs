//! Arrays are compared element by element, then by their lengths: NULLs are equal to each other and after all other
//! elements, 0.0 equals -0.0, and NaN equals NaN. A text that is compared with an array is read as one.
//!
//! DataFusion 55 compares the bits of floats, and puts NULLs first. Whether two arrays are equal, it answers correctly
//! if floats have one zero and one NaN, so joins stay hash joins. Waits for
//! [#6806](https://github.com/apache/datafusion/issues/6806).

use crate::functions::base::answers::are_constant;
use crate::text::datafusion_errors::external;
use crate::text::errors::not_supported;
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use crate::workarounds::shared::expressions::rewrite_expressions;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, DynComparator, Int8Array, ListArray, make_comparator};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{DataType, FieldRef, Float32Type, Float64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::utils::take_function_args;
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::expr::{InList, InSubquery, ScalarFunction, Sort};
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use datafusion::logical_expr::{
    Between, BinaryExpr, ColumnarValue, Distinct, Expr, ExprSchemable, LogicalPlan, Operator, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility, binary_expr, cast, in_list, lit, when,
};
use datafusion::optimizer::AnalyzerRule;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Functions that look an element up in an array.
const SEARCHING: [&str; 3] = ["array_has", "array_position", "array_positions"];

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct CompareArrays;

impl AnalyzerRule for CompareArrays {
    fn name(&self) -> &str {
        "compare_arrays"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = plan.dyn_transform_up_with_subqueries(|plan| {
            refuse_groups_of_floats(&plan)?;
            Ok(with_order_of_arrays(plan))
        })?;
        rewrite_expressions(plan.data, rewrite)
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
                let _ = expr.dyn_apply(|expr| {
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
            let _ = expr.dyn_apply(|expr| {
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
            key.expr = comparable_array(key.expr);
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
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_equality(*op, left, right) => {
            operands(left, right, schema).map(|(left, right, common)| {
                if is_array_of_floats(&common) {
                    binary_expr(comparable_array(left), *op, comparable_array(right))
                } else {
                    binary_expr(left, *op, right)
                }
            })
        }
        Expr::ScalarFunction(call) if SEARCHING.contains(&call.name()) => {
            searched(call, schema).or_else(|| searched_decimals(call, schema))
        }
        Expr::ScalarFunction(call)
            if call.name() == "nullif"
                && let [value, other] = call.args.as_slice()
                && let Some((value, other, common)) = operands(value, other, schema)
                && is_array_of_floats(&common) =>
        {
            let is_equal = comparable_array(value.clone()).eq(comparable_array(other));
            Some(when(is_equal, lit(ScalarValue::try_from(&common)?)).otherwise(value)?)
        }
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

/// A search in an array of floats; `None` if it is one in other elements. `x = ANY (a)` is one, too. In a constant, it
/// is like `x IN (...)`, which has its own rule for zeros.
fn searched(call: &ScalarFunction, schema: &DFSchema) -> Option<Expr> {
    let [array, element, ..] = call.args.as_slice() else { return None };
    if !array.get_type(schema).is_ok_and(|of| is_array_of_floats(&of)) {
        return None;
    }
    if let (Expr::Literal(ScalarValue::List(list), _), "array_has") = (array, call.name())
        && list.is_valid(0)
    {
        let items = list.value(0);
        let items = (0..items.len()).map(|at| ScalarValue::try_from_array(&items, at).map(lit));
        return items.collect::<Result<Vec<_>>>().ok().map(|items| in_list(element.clone(), items, false));
    }
    let mut args = call.args.clone();
    args[0] = comparable_array(args[0].clone());
    if element.get_type(schema).is_ok_and(|of| of.is_floating()) {
        args[1] = comparable_array(args[1].clone());
    }
    Some(call.func.call(args))
}

/// A search for a decimal in an array of decimals with other digits; `None` if it is another search. DataFusion refuses
/// it.
fn searched_decimals(call: &ScalarFunction, schema: &DFSchema) -> Option<Expr> {
    let [array, element, ..] = call.args.as_slice() else { return None };
    let (DataType::List(of_array), of_element) = (array.get_type(schema).ok()?, element.get_type(schema).ok()?) else {
        return None;
    };
    let of_array = of_array.data_type();
    if !of_array.is_decimal() || !of_element.is_decimal() || *of_array == of_element {
        return None;
    }
    let common = comparison_coercion(of_array, &of_element).filter(DataType::is_decimal)?;
    let mut args = call.args.clone();
    args[0] = cast(args[0].clone(), DataType::new_list(common.clone(), true));
    args[1] = cast(args[1].clone(), common);
    Some(call.func.call(args))
}

/// Returns whether an operator tests if arrays are equal, in a form that a join may find by a hash. A constant is
/// compared by [`ArrayOrder`], which does not copy it for each row.
fn is_equality(op: Operator, left: &Expr, right: &Expr) -> bool {
    let varies = |expr: &Expr| expr.any_column_refs() || expr.contains_outer();
    match op {
        Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => true,
        Operator::Eq => varies(left) && varies(right),
        _ => false,
    }
}

/// The order of two arrays as a number below, above or equal to 0; `None` if they are no arrays.
fn order(left: &Expr, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (left, right, _) = operands(left, right, schema)?;
    let function = ArrayOrder { signature: Signature::any(2, Volatility::Immutable) };
    Some(ScalarUDF::new_from_impl(function).call(vec![left, right]))
}

fn comparable_array(array: Expr) -> Expr {
    let function = ComparableArray { signature: Signature::any(1, Volatility::Immutable) };
    ScalarUDF::new_from_impl(function).call(vec![array])
}

/// Two arrays as arrays of one type, and the type; `None` if they are no arrays.
fn operands(left: &Expr, right: &Expr, schema: &DFSchema) -> Option<(Expr, Expr, DataType)> {
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
    let (left, right) = (typed(left, &left_type), typed(right, &right_type));
    Some((left, right, common))
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
        let is_scalar = are_constant(&args.args);
        let [left, right] = take_function_args(self.name(), &args.args)?;
        let row_count = if is_scalar { 1 } else { args.number_rows };
        let orders: ArrayRef = Arc::new(orders(&Arrays::of(left)?, &Arrays::of(right)?, row_count)?);
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&orders, 0)?),
            false => ColumnarValue::Array(orders),
        })
    }
}

/// Floats, or arrays of them, with one zero and one NaN.
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
        let values = args.args[0].to_array(1)?;
        let values: ArrayRef = match values.data_type() {
            DataType::List(field) => {
                let lists = values.as_list::<i32>();
                let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
                Arc::new(ListArray::try_new(Arc::clone(field), offsets, comparable(lists.values()), nulls)?)
            }
            _ => comparable(&values),
        };
        Ok(match &args.args[0] {
            ColumnarValue::Scalar(_) => ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?),
            ColumnarValue::Array(_) => ColumnarValue::Array(values),
        })
    }
}

/// The arrays of the rows of a batch. A constant is one array for all of them.
pub(crate) struct Arrays {
    lists: ListArray,
    is_constant: bool,
}

impl Arrays {
    pub(crate) fn of(value: &ColumnarValue) -> Result<Self> {
        let lists = value.to_array(1)?.as_list::<i32>().clone();
        Ok(Self { lists, is_constant: matches!(value, ColumnarValue::Scalar(_)) })
    }

    /// The positions of a row's elements among all elements; `None` if the array is NULL.
    pub(crate) fn range(&self, row: usize) -> Option<Range<usize>> {
        let row = if self.is_constant { 0 } else { row };
        let offsets = self.lists.value_offsets();
        self.lists.is_valid(row).then(|| offsets[row] as usize..offsets[row + 1] as usize)
    }

    /// Returns whether there is one array for all rows.
    pub(crate) fn is_constant(&self) -> bool {
        self.is_constant
    }

    /// The field of the elements.
    pub(crate) fn field(&self) -> FieldRef {
        match self.lists.data_type() {
            DataType::List(field) => Arc::clone(field),
            _ => unreachable!("a list"),
        }
    }

    /// The elements of all arrays.
    pub(crate) fn elements(&self) -> &ArrayRef {
        self.lists.values()
    }
}

fn orders(left: &Arrays, right: &Arrays, row_count: usize) -> Result<Int8Array> {
    let nulls_last = SortOptions { descending: false, nulls_first: false };
    let elements = make_comparator(&comparable(left.elements()), &comparable(right.elements()), nulls_last)?;
    let order = |(left, right): (Range<usize>, Range<usize>)| match order_of(left, right, &elements) {
        Ordering::Less => -1_i8,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    };
    Ok((0..row_count).map(|row| left.range(row).zip(right.range(row)).map(order)).collect())
}

fn order_of(left: Range<usize>, right: Range<usize>, elements: &DynComparator) -> Ordering {
    let mut orders = left.clone().zip(right.clone()).map(|(left, right)| elements(left, right));
    orders.find(|order| order.is_ne()).unwrap_or_else(|| left.len().cmp(&right.len()))
}

/// The elements with one zero and one NaN.
pub(crate) fn comparable(elements: &ArrayRef) -> ArrayRef {
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
        let list =
            |values| -> ArrayRef { Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>([Some(values)])) };
        let [left, right] = [left, right].map(|values| Arrays::of(&ColumnarValue::Array(list(values))).unwrap());
        orders(&left, &right, 1).unwrap().value(0)
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
