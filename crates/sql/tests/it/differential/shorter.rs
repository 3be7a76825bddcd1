//! Shorter forms of a query: in each, one part is left out, or replaces the expression that contains it.

use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Query, Select, SetExpr, TableFactor, Value, Visit, VisitMut, Visitor, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// Returns the `at`-th shorter form, or `None` if there are no more.
pub(crate) fn shorter(sql: &str, at: usize) -> Option<String> {
    let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, sql).ok()?;
    let mut edit = Edit { left: at };
    match VisitMut::visit(&mut statements[0], &mut edit) {
        ControlFlow::Break(()) => Some(statements[0].to_string()),
        ControlFlow::Continue(()) => None,
    }
}

struct Edit {
    /// The number of edits to skip.
    left: usize,
}

impl Edit {
    /// Counts the next edit. Returns whether it is the one to make.
    fn is_it(&mut self) -> bool {
        let is_it = self.left == 0;
        self.left = self.left.wrapping_sub(1);
        is_it
    }
}

const DONE: ControlFlow<()> = ControlFlow::Break(());

impl VisitorMut for Edit {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if query.order_by.is_some() && self.is_it() {
            query.order_by = None;
            return DONE;
        }
        if query.limit_clause.is_some() && self.is_it() {
            query.limit_clause = None;
            return DONE;
        }
        if let SetExpr::SetOperation { left, right, .. } = query.body.as_ref() {
            let (left, right) = (left.clone(), right.clone());
            for side in [left, right] {
                if self.is_it() {
                    query.body = side;
                    return DONE;
                }
            }
        }
        if let SetExpr::Select(select) = query.body.as_ref()
            && let [from] = select.from.as_slice()
            && from.joins.is_empty()
            && let TableFactor::Derived { subquery, .. } = &from.relation
        {
            let subquery = subquery.as_ref().clone();
            if self.is_it() {
                *query = subquery;
                return DONE;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if matches!(select.distinct, Some(Distinct::Distinct)) && self.is_it() {
            select.distinct = None;
            return DONE;
        }
        if select.selection.is_some() && self.is_it() {
            select.selection = None;
            return DONE;
        }
        if select.having.is_some() && self.is_it() {
            select.having = None;
            return DONE;
        }
        for at in 0..select.projection.len() {
            if select.projection.len() > 1 && self.is_it() {
                select.projection.remove(at);
                return DONE;
            }
        }
        if let GroupByExpr::Expressions(groups, _) = &mut select.group_by {
            for at in 0..groups.len() {
                if self.is_it() {
                    groups.remove(at);
                    return DONE;
                }
            }
        }
        for from in &mut select.from {
            if !from.joins.is_empty() && self.is_it() {
                from.joins.pop();
                return DONE;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        for part in parts(expr) {
            if self.is_it() {
                *expr = part;
                return DONE;
            }
        }
        if !matches!(expr, Expr::Value(_) | Expr::Identifier(_)) {
            for value in [Value::Boolean(true), Value::Number("1".into(), false), Value::Null] {
                if self.is_it() {
                    *expr = Expr::Value(value.into());
                    return DONE;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the expressions directly below one.
fn parts(expr: &Expr) -> Vec<Expr> {
    let mut parts = Parts { depth: 0, found: Vec::new() };
    let _ = expr.visit(&mut parts);
    parts.found
}

struct Parts {
    depth: usize,
    found: Vec<Expr>,
}

impl Visitor for Parts {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if self.depth == 1 {
            self.found.push(expr.clone());
        }
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

#[test]
fn a_query_has_shorter_forms() {
    let sql = "SELECT a + 1 AS c0, b AS c1 FROM t WHERE a > 2 OR b = 3";
    let forms: Vec<String> = (0..).map_while(|at| shorter(sql, at)).collect();
    for wanted in ["SELECT a + 1 AS c0, b AS c1 FROM t", "SELECT a + 1 AS c0, b AS c1 FROM t WHERE b = 3"] {
        assert!(forms.iter().any(|form| form == wanted), "{forms:?}");
    }
}
