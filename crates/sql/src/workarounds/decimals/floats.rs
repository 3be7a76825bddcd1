//! Turns a decimal into a float where it is combined with a float. A number in the text of the statement becomes a
//! decimal instead.

use super::literals::decimal_literal;
use crate::workarounds::expressions::rewrite_expressions;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, DecimalType};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, BinaryExpr, Case, InList};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, cast, lit};
use datafusion::optimizer::AnalyzerRule;

/// Functions that convert their arguments to one type.
const UNITING: [&str; 4] = ["coalesce", "nullif", "greatest", "least"];

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct FloatsBesideDecimals;

impl AnalyzerRule for FloatsBesideDecimals {
    fn name(&self) -> &str {
        "floats_beside_decimals"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |_| false, rewrite)
    }
}

fn rewrite(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let changed = match &mut expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if unites(*op) => unite(vec![left, right], schema),
        Expr::Between(Between { expr, low, high, .. }) => unite(vec![expr, low, high], schema),
        Expr::InList(InList { expr, list, .. }) => unite(std::iter::once(&mut **expr).chain(list).collect(), schema),
        Expr::Case(Case { expr, when_then_expr, else_expr }) => {
            let (whens, mut results): (Vec<_>, Vec<_>) =
                when_then_expr.iter_mut().map(|(when, then)| (&mut **when, &mut **then)).unzip();
            results.extend(else_expr.as_deref_mut());
            let compared =
                expr.as_deref_mut().is_some_and(|expr| unite(std::iter::once(expr).chain(whens).collect(), schema));
            unite(results, schema) || compared
        }
        Expr::ScalarFunction(call) if UNITING.contains(&call.func.name()) => {
            unite(call.args.iter_mut().collect(), schema)
        }
        _ => false,
    };
    Ok(if changed { Transformed::yes(expr) } else { Transformed::no(expr) })
}

/// Converts expressions to one type if there are decimals and floats among them. If all floats are numbers in the text
/// of the statement, they become decimals, as in PostgreSQL: values are compared exactly, and chunks are pruned.
/// Otherwise the decimals become floats. Returns whether something changed.
fn unite(mut exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    let types: Vec<DataType> = exprs.iter().map(|expr| expr.get_type(schema).unwrap_or(DataType::Null)).collect();
    let is_decimal = |of: &DataType| matches!(of, DataType::Decimal128(..) | DataType::Decimal256(..));
    if !types.iter().any(DataType::is_floating) || !types.iter().any(is_decimal) {
        return false;
    }
    let floats = exprs.iter().zip(&types).filter(|(_, data_type)| data_type.is_floating());
    if let Some(decimals) = floats.map(|(expr, _)| decimal_literal(expr)).collect::<Option<Vec<_>>>() {
        let floats = exprs.iter_mut().zip(&types).filter(|(_, data_type)| data_type.is_floating());
        floats.zip(decimals).for_each(|((expr, _), decimal)| **expr = decimal);
        return true;
    }
    for (expr, _) in exprs.iter_mut().zip(&types).filter(|(_, data_type)| is_decimal(data_type)) {
        let decimal = std::mem::take(&mut **expr);
        **expr = float_of(decimal);
    }
    true
}

/// Whether an operator converts its operands to one type.
fn unites(operator: Operator) -> bool {
    use Operator as O;
    operator.is_numerical_operators()
        || matches!(operator, O::Eq | O::NotEq | O::Lt | O::LtEq | O::Gt | O::GtEq)
        || matches!(operator, O::IsDistinctFrom | O::IsNotDistinctFrom)
}

/// The decimal as a `DOUBLE`; for a literal the nearest one.
fn float_of(decimal: Expr) -> Expr {
    let read = match &decimal {
        Expr::Literal(ScalarValue::Decimal128(Some(value), precision, scale), _) => {
            Decimal128Type::format_decimal(*value, *precision, *scale).parse().ok()
        }
        // A number with many digits in the text of the statement.
        Expr::Cast(cast) => match cast.expr.as_ref() {
            Expr::Literal(ScalarValue::Utf8(Some(text)), _) => text.parse().ok(),
            _ => None,
        },
        _ => None,
    };
    match read {
        Some::<f64>(value) => lit(value),
        None => cast(decimal, DataType::Float64),
    }
}
