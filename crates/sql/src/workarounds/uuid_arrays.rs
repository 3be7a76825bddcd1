//! Arrays of UUIDs, which are arrays of texts for DataFusion. A text beside one is read as such an array, or as a UUID
//! where an element is meant, and gets the form in which columns have UUIDs.
//!
//! DataFusion 55.2 has no type for UUIDs. No upstream issue known.

use super::declared_texts::{as_uuids, compares, type_of};
use super::expressions::rewrite_expressions;
use crate::functions::uuids::uuids_of;
use atsdb_core::{ColumnType, ElementType};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{Between, BinaryExpr, InList};
use datafusion::logical_expr::{Cast, Expr, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

/// Functions whose arguments are arrays alone.
const OF_ARRAYS: [&str; 3] = ["array_concat", "array_has_all", "array_has_any"];

/// Functions of an array and of elements.
const OF_ELEMENTS: [&str; 8] = [
    "array_append",
    "array_has",
    "array_position",
    "array_positions",
    "array_prepend",
    "array_remove",
    "array_remove_all",
    "array_replace",
];

/// Runs before arrays are compared.
#[derive(Debug)]
pub(crate) struct UuidArrays;

impl AnalyzerRule for UuidArrays {
    fn name(&self) -> &str {
        "uuid_arrays"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |_| false, rewrite)
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

/// Reads expressions as UUIDs or arrays of them if one of them is a column of such arrays.
fn settle(exprs: Vec<&mut Expr>, schema: &DFSchema, read: fn(Vec<&mut Expr>) -> Result<bool>) -> Result<bool> {
    let is_of_uuids = |expr: &Expr| type_of(expr, schema) == Some(ColumnType::Array(ElementType::Uuid));
    match exprs.iter().any(|expr| is_of_uuids(expr)) {
        true => read(exprs),
        false => Ok(false),
    }
}

/// Reads the texts among expressions, and those in `ARRAY[...]`, as arrays of UUIDs. Returns whether there were any.
fn as_arrays(exprs: Vec<&mut Expr>) -> Result<bool> {
    let mut changed = false;
    for expr in exprs {
        if let Expr::ScalarFunction(call) = &mut *expr {
            if call.func.name() == "make_array" {
                changed |= as_uuids(call.args.iter_mut().collect())?;
            }
            continue;
        }
        // A text may have got the type of the column already.
        let text = match &*expr {
            Expr::Cast(Cast { expr, .. }) => expr,
            expr => expr,
        };
        let is_text = match text {
            Expr::Literal(value, _) => value.data_type().is_string(),
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
