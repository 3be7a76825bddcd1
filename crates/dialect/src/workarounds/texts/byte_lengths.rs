//! `length` of bytes counts the bytes, as in PostgreSQL. DataFusion mistakes the bytes for a text, and counts
//! characters.
//!
//! No upstream issue known.

use crate::workarounds::shared::expressions::rewrite_expressions;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::functions::encoding::expr_fn::encode;
use datafusion::functions::string::expr_fn::octet_length;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, lit};
use datafusion::optimizer::AnalyzerRule;

/// Runs before types are made equal, which would make a text of the bytes.
#[derive(Debug)]
pub(crate) struct ByteLengths;

impl AnalyzerRule for ByteLengths {
    fn name(&self) -> &str {
        "byte_lengths"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| Ok(rewrite(expr, schema)))
    }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match &expr {
        Expr::ScalarFunction(call) if call.func.name() == "character_length" => match call.args.as_slice() {
            [bytes] if bytes.get_type(schema).is_ok_and(|of| of.is_binary()) => {
                // A byte has two hexadecimal digits.
                let digits = octet_length(encode(bytes.clone(), lit("hex")));
                Transformed::yes(digits / lit(2_i32))
            }
            _ => Transformed::no(expr),
        },
        _ => Transformed::no(expr),
    }
}
