//! `round(d, 1)` of a decimal. DataFusion 55 takes the scale of its type from the places if they are a literal. They
//! are an INTEGER, but written as a BIGINT, and the type changes in the course of planning: as long as they are a cast
//! of a literal, the scale is that of `d`. A comparison is then planned with one type and executed with another, which
//! is an error. So the literal gets the type that the function takes.
//!
//! No upstream issue known: DataFusion takes the scale from the literal since
//! [#19926](https://github.com/apache/datafusion/pull/19926).

use crate::workarounds::shared::expressions::rewrite_expressions;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

/// Runs before the types of decimals are determined.
#[derive(Debug)]
pub(crate) struct LiteralPlaces;

impl AnalyzerRule for LiteralPlaces {
    fn name(&self) -> &str {
        "literal_places"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, _| Ok(rewrite(expr)))
    }
}

fn rewrite(mut expr: Expr) -> Transformed<Expr> {
    let places = match &mut expr {
        Expr::ScalarFunction(call) if call.name() == "round" => call.args.get_mut(1),
        _ => None,
    };
    match places.and_then(|places| Some((literal_of(places)?, places))) {
        Some((literal, places)) => {
            *places = Expr::Literal(ScalarValue::Int32(Some(literal)), None);
            Transformed::yes(expr)
        }
        None => Transformed::no(expr),
    }
}

fn literal_of(places: &Expr) -> Option<i32> {
    match places {
        Expr::Literal(ScalarValue::Int64(Some(places)), _) => i32::try_from(*places).ok(),
        Expr::Negative(places) => literal_of(places)?.checked_neg(),
        _ => None,
    }
}
