//! `percentile_cont(ARRAY[0.25, 0.75])` and `percentile_disc` of an array, whose result is an array: a call for each
//! element. Without rows it is NULL. DataFusion takes one number.
//!
//! No upstream issue known.

use super::{expression, set_arguments};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{Array, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments};

/// Rewrites such a call. Other expressions stay.
pub(super) fn each_percentile(expr: &mut Expr) -> Result<()> {
    let Expr::Function(Function { args: FunctionArguments::List(list), within_group, .. }) = &*expr else {
        return Ok(());
    };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(fractions))] = list.args.as_slice() else { return Ok(()) };
    let Some(fractions) = elements(fractions).filter(|elements| !elements.is_empty() && !within_group.is_empty())
    else {
        return Ok(());
    };
    let call = |fraction: Expr| {
        let mut call = expr.clone();
        set_arguments(&mut call, vec![fraction]);
        call
    };
    let percentiles: Vec<Expr> = fractions.iter().cloned().map(call).collect();
    let least = call(expression("0")?);
    let mut list = expression("CASE WHEN NULL IS NULL THEN NULL ELSE ARRAY[NULL] END")?;
    if let Expr::Case { conditions, else_result: Some(result), .. } = &mut list
        && let Some(first) = conditions.first_mut()
        && let Expr::Array(Array { elem, .. }) = result.as_mut()
    {
        first.condition = Expr::IsNull(Box::new(least));
        *elem = percentiles;
    }
    *expr = Expr::Nested(Box::new(list));
    Ok(())
}

fn elements(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Array(Array { elem, .. }) => Some(elem),
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => elements(inner),
        _ => None,
    }
}
