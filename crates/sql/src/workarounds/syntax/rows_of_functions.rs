//! `SELECT generate_series(1, 3)` makes rows in PostgreSQL, and a list in DataFusion: `unnest` makes rows of the list.
//! Inside of another function, such as `unnest` or `array_length`, it stays a list.
//!
//! Waits for [#13316](https://github.com/apache/datafusion/issues/13316).

use super::expression;
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Select, SelectItem,
};

const MAKES_ROWS: [&str; 1] = ["generate_series"];

/// Makes rows of such functions in a SELECT list.
pub(super) fn unnest_functions(select: &mut Select) -> Result<()> {
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            unnest(expr)?;
        }
    }
    Ok(())
}

fn unnest(expr: &mut Expr) -> Result<()> {
    match expr {
        Expr::Function(call) if makes_rows(call) => {
            let mut rows = expression("unnest(NULL)")?;
            set_first_argument(&mut rows, expr.clone());
            *expr = rows;
            Ok(())
        }
        Expr::BinaryOp { left, right, .. } => {
            unnest(left)?;
            unnest(right)
        }
        Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } | Expr::Cast { expr: inner, .. } => unnest(inner),
        _ => Ok(()),
    }
}

fn makes_rows(call: &Function) -> bool {
    call.over.is_none() && MAKES_ROWS.iter().any(|name| call.name.to_string().eq_ignore_ascii_case(name))
}

/// Replaces the first argument of a call.
pub(super) fn set_first_argument(call: &mut Expr, argument: Expr) {
    if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = call
        && let Some(first) = list.args.first_mut()
    {
        *first = FunctionArg::Unnamed(FunctionArgExpr::Expr(argument));
    }
}

/// Replaces all arguments of a call.
pub(super) fn set_arguments(call: &mut Expr, arguments: Vec<Expr>) {
    if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = call {
        list.args = arguments.into_iter().map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))).collect();
    }
}
