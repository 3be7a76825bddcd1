//! `SIMILAR TO`. Its pattern becomes a regular expression that must match the whole text. DataFusion uses the pattern
//! itself as a regular expression.
//!
//! [#22263](https://github.com/apache/datafusion/issues/22263) is fixed upstream by
//! [#23188](https://github.com/apache/datafusion/pull/23188), which is not in 55.2.

use crate::functions::base::arguments::{is_text, text_of};
use crate::functions::texts::similar_to::similar_to_escape;
use crate::functions::types::type_names::name_of;
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use crate::text::similar_pattern::regular_expression;
use crate::workarounds::shared::expressions::rewrite_expressions;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::Like;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, binary_expr, lit};
use datafusion::optimizer::AnalyzerRule;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct SimilarTo;

impl AnalyzerRule for SimilarTo {
    fn name(&self) -> &str {
        "similar_to"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, rewrite)
    }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::SimilarTo(Like { negated, expr, pattern, escape_char, .. }) = expr else {
        return Ok(Transformed::no(expr));
    };
    let escape = escape_char.unwrap_or('\\');
    let pattern = match *pattern {
        Expr::Literal(value, _) if value.is_null() => Expr::Literal(ScalarValue::Utf8(None), None),
        Expr::Literal(value, _) if text_of(&value).is_some() => {
            let pattern = text_of(&value).unwrap_or_default();
            lit(regular_expression(pattern, Some(escape)).map_err(external)?)
        }
        other => match other.get_type(schema) {
            Ok(of) if !is_text(&of) && !of.is_null() => {
                let error = sql_error(format!("SIMILAR TO takes a pattern of the type text, not {}", name_of(&of)));
                return Err(external(error.with_hint("cast it: CAST(x AS TEXT)")));
            }
            _ => similar_to_escape().call(vec![other, lit(escape.to_string())]),
        },
    };
    let operator = if negated { Operator::RegexNotMatch } else { Operator::RegexMatch };
    Ok(Transformed::yes(binary_expr(*expr, operator, pattern)))
}
