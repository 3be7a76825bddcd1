//! A text constant beside booleans in `BETWEEN` and `IN` is a boolean, as in PostgreSQL: `flag IN ('t', 'no')`,
//! `flag = ANY ('{t}')`. Beside an operator, [`texts`](super::texts) converts it. DataFusion has no common type for a
//! boolean and a text.
//!
//! Waits for [#23041](https://github.com/apache/datafusion/issues/23041).

use crate::workarounds::shared::expressions::rewrite_expressions;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, InList};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, cast};
use datafusion::optimizer::AnalyzerRule;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct BooleanTexts;

impl AnalyzerRule for BooleanTexts {
    fn name(&self) -> &str {
        "boolean_texts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| Ok(rewrite(expr, schema)))
    }
}

fn rewrite(mut expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let changed = match &mut expr {
        Expr::Between(Between { expr, low, high, .. }) => convert(vec![expr, low, high], schema),
        Expr::InList(InList { expr, list, .. }) => convert(std::iter::once(&mut **expr).chain(list).collect(), schema),
        _ => false,
    };
    if changed { Transformed::yes(expr) } else { Transformed::no(expr) }
}

/// Makes booleans of the text constants among expressions if one of the others is a boolean. Returns whether something
/// changed.
fn convert(exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    let is_boolean = |expr: &Expr| matches!(expr.get_type(schema), Ok(DataType::Boolean));
    if !exprs.iter().any(|expr| is_text(expr)) || !exprs.iter().any(|expr| is_boolean(expr)) {
        return false;
    }
    for expr in exprs.into_iter().filter(|expr| is_text(expr)) {
        let text = std::mem::take(expr);
        *expr = cast(text, DataType::Boolean);
    }
    true
}

/// Returns whether it is a text constant without a cast.
fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Utf8(Some(_)) | ScalarValue::Utf8View(Some(_)), _))
}
