//! `5 NOT IN (SELECT k ...)`: with a constant before it, DataFusion's join for NOT IN does not heed that k may be NULL
//! (then the answer is NULL, not true). So such a condition counts instead.

use datafusion::sql::sqlparser::ast::{Expr, Statement, visit_expressions, visit_expressions_mut};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use std::ops::ControlFlow;

/// Writes every `constant [NOT] IN (SELECT ...)` as a count of the rows that are equal, and of those that may be.
pub(crate) fn count_instead(statement: &mut Statement) -> Result<(), ParserError> {
    let outcome = visit_expressions_mut(statement, |expr| {
        let Expr::InSubquery { expr: value, subquery, negated } = expr else { return ControlFlow::Continue(()) };
        if !is_constant(value) {
            return ControlFlow::Continue(());
        }
        let (found, missing) = if *negated { ("false", "true") } else { ("true", "false") };
        let text = format!(
            "(SELECT CASE WHEN count(*) FILTER (WHERE in_rows.in_value = {value}) > 0 THEN {found} \
             WHEN count(*) FILTER (WHERE (in_rows.in_value = {value}) IS NULL) > 0 THEN NULL ELSE {missing} END \
             FROM ({subquery}) AS in_rows(in_value))"
        );
        match Parser::new(&GenericDialect).try_with_sql(&text).and_then(|mut parser| parser.parse_expr()) {
            Ok(counted) => *expr = counted,
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    });
    match outcome {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Whether no column and no subquery is in it.
fn is_constant(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |inner| match inner {
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::CompoundFieldAccess { .. }
        | Expr::Subquery(_)
        | Expr::Exists { .. }
        | Expr::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_continue()
}
