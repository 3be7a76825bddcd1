//! Decimals among the elements of an array of other numbers, and other numbers among decimals: `ARRAY[1.5] || 2`,
//! `array_position(prices, 2)`. Array and element get the type that PostgreSQL gives them.
//!
//! DataFusion 55.2 has no common type for a decimal beside a float or beside a decimal with other digits, and refuses
//! such calls. Waits for [#14272](https://github.com/apache/datafusion/issues/14272).

use super::elements::concatenated;
use crate::functions::base::of_inner::of_inner;
use crate::workarounds::numbers::decimals::floats::types_of_items;
use crate::workarounds::numbers::decimals::rule::items_of;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::utils::list_ndims;
use datafusion::common::{DFSchema, Result};
use datafusion::execution::context::SessionContext;
use datafusion::functions_nested::concat::{array_append_udf, array_prepend_udf};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use std::cmp::Ordering;
use std::sync::Arc;

/// Functions of arrays and elements that are given arguments of the types that PostgreSQL gives them.
const OF_ITEMS: [&str; 6] =
    ["array_append", "array_prepend", "array_position", "array_positions", "array_remove_all", "array_replace_all"];

/// Replaces DataFusion's functions.
pub(crate) fn register(context: &SessionContext) {
    for name in OF_ITEMS {
        if let (Some(inner), Some(item_count)) = (context.state().scalar_functions().get(name), items_of(name)) {
            context.register_udf(of_items(inner, item_count));
        }
    }
}

/// `array || element`.
pub(crate) fn appended(array: Expr, element: Expr) -> Expr {
    of_items(&array_append_udf(), 2).call(vec![array, element])
}

/// `element || array`.
pub(crate) fn prepended(element: Expr, array: Expr) -> Expr {
    of_items(&array_prepend_udf(), 2).call(vec![element, array])
}

fn of_items(inner: &Arc<ScalarUDF>, item_count: usize) -> ScalarUDF {
    let signature = Signature::user_defined(Volatility::Immutable);
    ScalarUDF::new_from_impl(OfItems { inner: Arc::clone(inner), item_count, signature })
}

/// Plans `||` of an array and an element, and of arrays with several dimensions.
#[derive(Debug)]
pub(crate) struct AddedItems;

impl ExprPlanner for AddedItems {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        if expr.op != BinaryOperator::StringConcat {
            return Ok(PlannerResult::Original(expr));
        }
        let (left, right) = (expr.left.get_type(schema)?, expr.right.get_type(schema)?);
        let (left, right) = (list_ndims(&left), list_ndims(&right));
        if left.min(right) > 0 && left.max(right) > 1 && left.abs_diff(right) < 2 {
            return Ok(PlannerResult::Planned(concatenated(expr.left, expr.right)));
        }
        Ok(match left.cmp(&right) {
            Ordering::Equal => PlannerResult::Original(expr),
            Ordering::Greater => PlannerResult::Planned(appended(expr.left, expr.right)),
            Ordering::Less => PlannerResult::Planned(prepended(expr.left, expr.right)),
        })
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfItems {
    inner: Arc<ScalarUDF>,
    /// The number of arguments, from the first on, that are arrays or elements.
    item_count: usize,
    signature: Signature,
}

impl ScalarUDFImpl for OfItems {
    of_inner!(name, aliases, return_type, return_field_from_args, documentation);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let (items, others) = types.split_at(self.item_count.min(types.len()));
        let items = types_of_items(items).unwrap_or_else(|| items.to_vec());
        let field = |data_type: DataType| -> FieldRef { Arc::new(Field::new("argument", data_type, true)) };
        let fields: Vec<FieldRef> = items.into_iter().chain(others.iter().cloned()).map(field).collect();
        let fields = fields_with_udf(&fields, self.inner.as_ref())?;
        Ok(fields.iter().map(|field| field.data_type().clone()).collect())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.inner.invoke_with_args(args)
    }
}
