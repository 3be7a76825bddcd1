//! What is rewritten in a statement's tokens and in its syntax tree, before DataFusion plans it.

pub(super) mod binding;
pub(super) mod clauses;
pub(super) mod column_names;
pub(super) mod constant_in;
pub(super) mod distinct_from;
mod frames;
mod integer_literals;
mod interval_literals;
mod like_escape;
mod limits;

mod natural;
mod other_functions;
pub(crate) mod output_names;
mod row_members;
mod rows_of_functions;
mod set_all;
mod using;
mod windows;
pub(super) mod words;

use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

/// The expression that a text of ours says.
fn expression(text: &str) -> Result<Expr> {
    Parser::new(&GenericDialect)
        .try_with_sql(text)
        .and_then(|mut parser| parser.parse_expr())
        .map_err(|error| Error::internal(format!("{text}: {error}")))
}

/// Replaces the first argument of a call.
fn set_first_argument(call: &mut Expr, argument: Expr) {
    if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = call
        && let Some(first) = list.args.first_mut()
    {
        *first = FunctionArg::Unnamed(FunctionArgExpr::Expr(argument));
    }
}

/// Replaces all arguments of a call.
fn set_arguments(call: &mut Expr, arguments: Vec<Expr>) {
    if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = call {
        list.args = arguments.into_iter().map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))).collect();
    }
}
