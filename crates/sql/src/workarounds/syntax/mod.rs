//! Rewrites the tokens and the syntax tree of a statement, before DataFusion plans it.

mod alias_columns;
mod array_queries;
pub(super) mod between;
pub(super) mod binding;
pub(super) mod clauses;
pub(super) mod column_names;
mod composed_functions;
pub(super) mod constant_in;
pub(crate) mod dialect;
pub(super) mod distinct_from;
mod distinct_name;
mod exclusions;
mod frames;
mod group_casts;
mod group_keys;
mod groups;
mod instants;
mod integer_literals;
mod interval_literals;
mod json_aggregates;
mod json_rows;
mod like_escape;
mod limits;
mod line_ends;
mod named_tables;
mod natural;
mod order_names;
mod other_forms;
mod other_functions;
mod outer_names;
pub(crate) mod output_names;
mod percentile_lists;
mod quantifiers;
pub(super) mod repetition;
mod result_names;
mod row_members;
mod rows_of_functions;
mod session_words;
mod set_all;
mod shown_columns;
pub(crate) mod stars;
pub(super) mod statement_words;
pub(super) mod texts;
mod times;
mod types_of_text;
mod using;
mod values_of_subqueries;
mod whole_rows;
mod windows;
pub(super) mod words;

use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, SetExpr,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

/// Parses an expression from a text of this crate.
pub(super) fn expression(text: &str) -> Result<Expr> {
    Parser::new(&GenericDialect)
        .try_with_sql(text)
        .and_then(|mut parser| parser.parse_expr())
        .map_err(|error| Error::internal(format!("{text}: {error}")))
}

/// Parses a query, and returns its body.
fn query_body(text: &str) -> Result<SetExpr> {
    Parser::new(&GenericDialect)
        .try_with_sql(text)
        .and_then(|mut parser| parser.parse_query())
        .map(|query| *query.body)
        .map_err(|error| Error::internal(format!("{text}: {error}")))
}

/// Combines conditions by `OR` or `AND` into a tree that is not deep; `None` without conditions.
fn any_of(mut conditions: Vec<Expr>, op: &BinaryOperator) -> Option<Expr> {
    if conditions.len() < 2 {
        return conditions.pop();
    }
    let rest = conditions.split_off(conditions.len() / 2);
    let (left, right) = (any_of(conditions, op)?, any_of(rest, op)?);
    let both = Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) };
    Some(Expr::Nested(Box::new(both)))
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
pub(super) fn set_arguments(call: &mut Expr, arguments: Vec<Expr>) {
    if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = call {
        list.args = arguments.into_iter().map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))).collect();
    }
}
