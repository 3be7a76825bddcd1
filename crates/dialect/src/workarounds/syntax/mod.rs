//! Rewrites the tokens and the syntax tree of a statement, before DataFusion plans it.
//!
//! Rooms, from the top; each imports only rooms below it:
//!
//! | room | what it rewrites |
//! |---|---|
//! | `clauses` | all clauses and expressions of a statement, by the rooms below |
//! | `repetition` | nothing: it refuses statements that would become too large |
//! | `queries` | joins with merged columns, groups, orders, limits and set operations |
//! | `rows` | functions that return rows, whole rows in functions and as texts, and rows that a query collects |
//! | `literals` | literals, words that stand for values, and the types of both |
//! | `forms` | expressions and calls that DataFusion lacks or understands in another way |
//! | `names` | names of tables and columns, in a statement and in its answer |
//! | `tokens` | tokens that the parser does not read as PostgreSQL does |
//! | `windows` | windows of window functions, and their frames |
//!
//! The functions here build parts of a syntax tree, for all of them.

pub(super) mod clauses;
pub(super) mod forms;
mod literals;
pub(super) mod names;
mod queries;
pub(super) mod repetition;
pub(super) mod rows;
pub(super) mod tokens;
mod windows;

use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CopySource, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, SelectItem,
    SetExpr, Statement, Value, ValueWithSpan,
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

/// Parses a query from a text of this crate, or of a view.
fn parsed_query(text: &str) -> Result<Box<Query>> {
    Parser::new(&GenericDialect)
        .try_with_sql(text)
        .and_then(|mut parser| parser.parse_query())
        .map_err(|error| Error::internal(format!("{text}: {error}")))
}

/// Parses a query, and returns its body.
fn query_body(text: &str) -> Result<SetExpr> {
    parsed_query(text).map(|query| *query.body)
}

/// Returns whether the columns of a statement's outermost query are those of an answer, which are shown without marks.
fn has_answer(statement: &Statement) -> bool {
    matches!(statement, Statement::Query(_) | Statement::Copy { source: CopySource::Query(_), .. })
}

/// Returns whether nothing refers to the names of a statement's outermost query: they are those of an answer, or its
/// plan is shown.
fn has_free_names(statement: &Statement) -> bool {
    has_answer(statement) || matches!(statement, Statement::Explain { .. })
}

/// The expression of an item of a SELECT list; `None` if the item is a `*`.
fn expression_of(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// Returns whether an expression is NULL itself.
pub(super) fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(ValueWithSpan { value: Value::Null, .. }))
}

/// Two operands and the operator between them.
fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

/// Combines conditions by `OR` or `AND` into a tree that is not deep; `None` without conditions.
fn any_of(mut conditions: Vec<Expr>, op: &BinaryOperator) -> Option<Expr> {
    if conditions.len() < 2 {
        return conditions.pop();
    }
    let rest = conditions.split_off(conditions.len() / 2);
    let (left, right) = (any_of(conditions, op)?, any_of(rest, op)?);
    Some(Expr::Nested(Box::new(binary(left, op.clone(), right))))
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
