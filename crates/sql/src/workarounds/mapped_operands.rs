//! `mapped || 5`: DataFusion joins a text with a value of another type, but not a string of a dictionary, as mapped
//! columns have it. The string becomes a text.
//!
//! No upstream issue known.

use super::expressions::{names_its_columns, rewrite_expressions};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, cast};
use datafusion::optimizer::AnalyzerRule;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct MappedOperands;

impl AnalyzerRule for MappedOperands {
    fn name(&self) -> &str {
        "mapped_operands"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, names_its_columns, |expr, schema| Ok(rewrite(expr, schema)))
    }
}

fn rewrite(mut expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::BinaryExpr(binary) = &mut expr else { return Transformed::no(expr) };
    if binary.op != Operator::StringConcat {
        return Transformed::no(expr);
    }
    let types = (binary.left.get_type(schema), binary.right.get_type(schema));
    let mapped = match types {
        (Ok(DataType::Dictionary(..)), Ok(other)) if is_other(&other) => &mut binary.left,
        (Ok(other), Ok(DataType::Dictionary(..))) if is_other(&other) => &mut binary.right,
        _ => return Transformed::no(expr),
    };
    **mapped = cast(std::mem::take(mapped.as_mut()), DataType::Utf8);
    Transformed::yes(expr)
}

/// Whether it is neither a text nor an array.
fn is_other(data_type: &DataType) -> bool {
    !(data_type.is_string() || data_type.is_nested() || data_type.is_null())
        && !matches!(data_type, DataType::Dictionary(..))
}
