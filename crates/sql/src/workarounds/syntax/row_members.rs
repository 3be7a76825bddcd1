//! `(a, b) IN (SELECT x, y ...)`. DataFusion compares one column only. So the condition becomes two EXISTS: whether a
//! row is equal, and whether a row may be equal.
//!
//! No upstream issue known.

use super::expression;
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Query, SetExpr, TableFactor, UnaryOperator, Value, VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// Rewrites a condition about rows.
pub(super) fn compare_rows(expr: &mut Expr) -> Result<()> {
    let Expr::InSubquery { expr: row, subquery, negated } = expr else { return Ok(()) };
    let values = match row.as_ref() {
        Expr::Tuple(values) if values.len() > 1 => values.clone(),
        _ => return Ok(()),
    };
    let columns: Vec<String> = (0..values.len()).map(|at| format!("\"\u{1}c{at}\"")).collect();
    let columns = columns.join(", ");
    let rows = format!("SELECT 1 FROM (SELECT 1) AS \"\u{1}row\"({columns}) WHERE");
    let text = format!(
        "(CASE WHEN EXISTS ({rows} TRUE) THEN TRUE WHEN EXISTS ({rows} (TRUE) IS NULL) THEN NULL ELSE FALSE END)"
    );
    let mut found = expression(&text)?;
    let _ = VisitMut::visit(&mut found, &mut TemplateFiller { query: subquery, condition: equal(&values) });
    *expr = match negated {
        true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(found) },
        false => found,
    };
    Ok(())
}

/// Builds `c0 = a AND c1 = b`.
fn equal(values: &[Expr]) -> Expr {
    let binary = |left: Expr, op: BinaryOperator, right: Expr| Expr::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    };
    let pairs = values.iter().enumerate().map(|(at, value)| {
        let column = Expr::Identifier(Ident::with_quote('"', format!("\u{1}c{at}")));
        binary(column, BinaryOperator::Eq, Expr::Nested(Box::new(value.clone())))
    });
    let all = pairs.reduce(|left, right| binary(left, BinaryOperator::And, right));
    Expr::Nested(Box::new(all.unwrap_or_else(|| Expr::value(Value::Boolean(true)))))
}

/// Inserts the subquery and the condition into the template.
struct TemplateFiller<'a> {
    query: &'a Query,
    condition: Expr,
}

impl VisitorMut for TemplateFiller<'_> {
    type Break = ();

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived { subquery, alias: Some(alias), .. } = factor
            && alias.name.value == "\u{1}row"
        {
            **subquery = self.query.clone();
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = query.body.as_mut() {
            match &mut select.selection {
                Some(condition @ Expr::Value(_)) => *condition = self.condition.clone(),
                Some(Expr::IsNull(condition)) => **condition = self.condition.clone(),
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }
}
