//! Functions of numbers whose results have another type in PostgreSQL. `ceil`, `floor`, `round` and `trunc` of a `REAL`
//! return a `DOUBLE`: beside a BIGINT, a `REAL` would lose its last digits. `nullif` compares integers with each other
//! and a `REAL` with anything as they are, and returns the first one so. It compares an integer with a `REAL` as
//! `DOUBLE`s. DataFusion's returns the type that both have in common, which for a BIGINT and a `REAL` is `REAL`.
//!
//! No upstream issue known.

use crate::workarounds::shared::expressions::rewrite_expressions;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, cast, lit, when};
use datafusion::optimizer::AnalyzerRule;

/// Functions of one number that have the type of their argument in DataFusion.
const ROUNDING: [&str; 4] = ["ceil", "floor", "round", "trunc"];

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct NumberResults;

impl AnalyzerRule for NumberResults {
    fn name(&self) -> &str {
        "number_results"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, rewrite)
    }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::ScalarFunction(ScalarFunction { func, args }) = &expr else { return Ok(Transformed::no(expr)) };
    match args.as_slice() {
        [number]
            if ROUNDING.contains(&func.name()) && number.get_type(schema).is_ok_and(|ty| ty == DataType::Float32) =>
        {
            Ok(Transformed::yes(func.call(vec![cast(number.clone(), DataType::Float64)])))
        }
        [first, other] if func.name() == "nullif" => match (first.get_type(schema), other.get_type(schema)) {
            (Ok(own), Ok(DataType::Float32)) if own.is_signed_integer() => {
                let compared = [first, other].map(|number| cast(number.clone(), DataType::Float64));
                Ok(Transformed::yes(func.call(Vec::from(compared))))
            }
            (Ok(own), Ok(of)) if is_kept(&own, &of) && !first.is_volatile() && expr.get_type(schema)? != own => {
                let null = lit(ScalarValue::try_from(&own)?);
                let unequal = when(first.clone().eq(other.clone()), null).otherwise(first.clone())?;
                Ok(Transformed::yes(unequal))
            }
            _ => Ok(Transformed::no(expr)),
        },
        _ => Ok(Transformed::no(expr)),
    }
}

/// Returns whether a number stays as it is where it is compared with a number of the other type.
fn is_kept(own: &DataType, other: &DataType) -> bool {
    (own.is_signed_integer() && other.is_signed_integer()) || (*own == DataType::Float32 && other.is_numeric())
}
