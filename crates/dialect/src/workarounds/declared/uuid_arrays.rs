//! Arrays of UUIDs, which are arrays of texts for DataFusion. A text beside one is read as such an array, or as a UUID
//! where an element is meant, and gets the form in which columns have UUIDs.
//!
//! DataFusion 55.2 has no type for UUIDs. Waits for [#4827](https://github.com/apache/datafusion/issues/4827).

use super::texts::{as_uuids, compares, type_of};
use crate::functions::types::uuids::uuids_of;
use crate::workarounds::shared::expressions::rewrite_expressions;
use atsdb_core::{ColumnType, ElementType};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{Between, BinaryExpr, Case, InList};
use datafusion::logical_expr::{Cast, Expr, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

/// Functions whose arguments are arrays alone, or may be.
const OF_ARRAYS: [&str; 5] = ["array_concat", "array_has_all", "array_has_any", "coalesce", "nullif"];

/// Functions of an array and of elements.
const OF_ELEMENTS: [&str; 9] = [
    "array_append",
    "array_has",
    "array_position",
    "array_positions",
    "array_prepend",
    "array_remove",
    "array_remove_all",
    "array_replace",
    "array_replace_all",
];

/// Runs before arrays are compared.
#[derive(Debug)]
pub(crate) struct UuidArrays;

impl AnalyzerRule for UuidArrays {
    fn name(&self) -> &str {
        "uuid_arrays"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, rewrite)
    }
}

fn rewrite(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let changed = match &mut expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(*op) || *op == Operator::StringConcat => {
            settle(vec![left, right], schema, as_arrays)?
        }
        Expr::Between(Between { expr, low, high, .. }) => settle(vec![expr, low, high], schema, as_arrays)?,
        Expr::InList(InList { expr, list, .. }) => {
            settle(std::iter::once(&mut **expr).chain(list).collect(), schema, as_arrays)?
        }
        Expr::Case(Case { expr, when_then_expr, else_expr }) => {
            let (whens, mut results): (Vec<_>, Vec<_>) =
                when_then_expr.iter_mut().map(|(when, then)| (&mut **when, &mut **then)).unzip();
            results.extend(else_expr.as_deref_mut());
            let compared = expr.as_deref_mut().into_iter().chain(whens).collect();
            settle(compared, schema, as_arrays)? | settle(results, schema, as_arrays)?
        }
        // `uuid = ANY (array)`
        Expr::ScalarFunction(call) if call.func.name() == "array_has" && is_uuid(call.args.get(1), schema) => {
            as_arrays(call.args.iter_mut().take(1).collect())?
        }
        Expr::ScalarFunction(call) if OF_ARRAYS.contains(&call.func.name()) => {
            settle(call.args.iter_mut().collect(), schema, as_arrays)?
        }
        Expr::ScalarFunction(call) if OF_ELEMENTS.contains(&call.func.name()) => {
            settle(call.args.iter_mut().collect(), schema, as_uuids)?
        }
        _ => false,
    };
    Ok(if changed { Transformed::yes(expr) } else { Transformed::no(expr) })
}

/// Returns whether an expression is a column of UUIDs.
fn is_uuid(expr: Option<&Expr>, schema: &DFSchema) -> bool {
    expr.is_some_and(|expr| type_of(expr, schema) == Some(ColumnType::Uuid))
}

/// Reads expressions as UUIDs or arrays of them if one of them is a column of such arrays.
fn settle(exprs: Vec<&mut Expr>, schema: &DFSchema, read: fn(Vec<&mut Expr>) -> Result<bool>) -> Result<bool> {
    match exprs.iter().any(|expr| is_of_uuids(expr, schema)) {
        true => read(exprs),
        false => Ok(false),
    }
}

/// Returns whether an expression is a column of arrays of UUIDs, or a function of one that returns such an array.
fn is_of_uuids(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::ScalarFunction(call) if matches!(call.name(), "array_concat" | "coalesce" | "nullif") => {
            call.args.iter().any(|argument| is_of_uuids(argument, schema))
        }
        expr => type_of(expr, schema) == Some(ColumnType::Array(ElementType::Uuid)),
    }
}

/// Reads the texts among expressions, those in `ARRAY[...]`, and parameters that are arrays of them, as arrays of
/// UUIDs. Returns whether there were any.
fn as_arrays(exprs: Vec<&mut Expr>) -> Result<bool> {
    let mut changed = false;
    for expr in exprs {
        if let Expr::ScalarFunction(call) = &mut *expr {
            if call.func.name() == "make_array" {
                changed |= as_uuids(call.args.iter_mut().collect())?;
            }
            continue;
        }
        // A text may already have the type of the column.
        let text = match &*expr {
            Expr::Cast(Cast { expr, .. }) => expr,
            expr => expr,
        };
        let is_text = match text {
            Expr::Literal(value, _) => match value.data_type() {
                DataType::List(element) => element.data_type().is_string(),
                other => other.is_string(),
            },
            Expr::Placeholder(_) => true,
            _ => false,
        };
        if is_text {
            *expr = uuids_of().call(vec![text.clone()]);
            changed = true;
        }
    }
    Ok(changed)
}
