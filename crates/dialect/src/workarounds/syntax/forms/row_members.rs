//! `(a, b) IN (SELECT x, y ...)`. DataFusion compares one column only. So the condition becomes two EXISTS: whether a
//! row is equal, and whether a row may be equal. Other comparisons with `ANY` are the same with another operator, and
//! those with `ALL` ask for rows that do not compare. A comparison with a subquery of one row,
//! `(a, b) = (SELECT x, y ...)`, becomes a subquery that selects the comparison. `(a, b) IN ((1, 2), (3, 4))`,
//! `(a, b) < (1, 2)` and `(a, b) IS NULL` become conditions on the values: for DataFusion a row with a NULL is another
//! row, not perhaps the same one, and never NULL. `ROW(a) IN (SELECT x ...)` compares the value.
//!
//! Waits for [#4656](https://github.com/apache/datafusion/issues/4656) and
//! [#19857](https://github.com/apache/datafusion/pull/19857) (`IN` over a subquery); for the others no upstream issue
//! is known.

use crate::text::errors::sql_error;
use crate::text::tree_walk::visit_mut;
use crate::workarounds::syntax::{any_of, binary, expression};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, SelectItem, SetExpr,
    TableFactor, UnaryOperator, Value, VisitorMut,
};
use std::ops::ControlFlow;

/// Rewrites a condition about rows.
pub(crate) fn compare_rows(expr: &mut Expr) -> Result<()> {
    open_single_row(expr);
    if let Some(found) = listed(expr)? {
        *expr = found;
        return Ok(());
    }
    // Whether a row is like that in the subquery, and whether the condition is the opposite.
    let (row, operator, subquery, is_negated) = match &*expr {
        Expr::InSubquery { expr: row, subquery, negated } => (row, BinaryOperator::Eq, subquery.as_ref(), *negated),
        Expr::AnyOp { left, compare_op, right, .. } => match right.as_ref() {
            Expr::Subquery(subquery) => (left, compare_op.clone(), subquery.as_ref(), false),
            _ => return Ok(()),
        },
        Expr::AllOp { left, compare_op, right } => match (right.as_ref(), opposite(compare_op)) {
            (Expr::Subquery(subquery), Some(opposite)) => (left, opposite, subquery.as_ref(), true),
            _ => return Ok(()),
        },
        Expr::BinaryOp { left, op, right } => {
            let Some(values) = values_of(left) else { return Ok(()) };
            let found = match (right.as_ref(), values_of(right)) {
                (Expr::Subquery(subquery), _) => {
                    let count = values.len();
                    let condition = comparison(op, &beside_columns(values));
                    condition.map(|condition| selected(condition, subquery, count)).transpose()?
                }
                (_, Some(others)) => comparison(op, &beside_values(values, others)?),
                _ => None,
            };
            if let Some(found) = found {
                *expr = found;
            }
            return Ok(());
        }
        Expr::IsNull(row) => {
            if let Some(found) = each_value(row, Expr::IsNull) {
                *expr = found;
            }
            return Ok(());
        }
        Expr::IsNotNull(row) => {
            if let Some(found) = each_value(row, Expr::IsNotNull) {
                *expr = found;
            }
            return Ok(());
        }
        _ => return Ok(()),
    };
    let Some(values) = values_of(row) else { return Ok(()) };
    let columns = names(values.len());
    let Some(condition) = comparison(&operator, &beside_columns(values)) else { return Ok(()) };
    let rows = format!("SELECT 1 FROM (SELECT 1) AS \"\u{1}row\"({columns}) WHERE");
    let text = format!(
        "(CASE WHEN EXISTS ({rows} TRUE) THEN TRUE WHEN EXISTS ({rows} (TRUE) IS NULL) THEN NULL ELSE FALSE END)"
    );
    let mut found = expression(&text)?;
    let _ = visit_mut(&mut found, &mut TemplateFiller { query: subquery, condition });
    *expr = match is_negated {
        true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(found) },
        false => found,
    };
    Ok(())
}

/// `(a, b) IN ((1, 2), (3, 4))` as comparisons; `None` for another expression.
fn listed(expr: &Expr) -> Result<Option<Expr>> {
    let Expr::InList { expr: row, list, negated } = expr else { return Ok(None) };
    let Some(values) = values_of(row) else { return Ok(None) };
    let mut rows = Vec::with_capacity(list.len());
    for item in list {
        let Some(items) = values_of(item) else { return Ok(None) };
        if items.len() != values.len() {
            return Err(sql_error(format!("a row of {} values in a list for {} values", items.len(), values.len())));
        }
        rows.push(equal(&beside_values(values.clone(), items)?));
    }
    let found = any_of(rows, &BinaryOperator::Or).map(|found| match negated {
        true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(found) },
        false => found,
    });
    Ok(found)
}

/// The row of one column that is compared with a subquery is its value: `ROW(a) IN (SELECT x ...)`.
fn open_single_row(expr: &mut Expr) {
    let row = match expr {
        Expr::InSubquery { expr: row, .. } => row,
        Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } if matches!(**right, Expr::Subquery(_)) => {
            left
        }
        _ => return,
    };
    if let Some([value]) = columns_of(row).as_deref() {
        **row = nested(value.clone());
    }
}

/// The values of a row of several columns.
fn values_of(row: &Expr) -> Option<Vec<Expr>> {
    columns_of(row).filter(|values| values.len() > 1)
}

/// The values of a row: `(a, b)` or `ROW(a, b)`.
fn columns_of(row: &Expr) -> Option<Vec<Expr>> {
    match row {
        Expr::Tuple(values) => Some(values.clone()),
        Expr::Function(Function { name, args: FunctionArguments::List(list), over: None, .. })
            if name.to_string().eq_ignore_ascii_case("row") =>
        {
            let value = |arg: &FunctionArg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
                _ => None,
            };
            list.args.iter().map(value).collect()
        }
        _ => None,
    }
}

/// The names of the subquery's columns, as a list.
fn names(count: usize) -> String {
    let names: Vec<String> = (0..count).map(|at| format!("\"\u{1}c{at}\"")).collect();
    names.join(", ")
}

/// `(SELECT condition FROM (subquery))`: NULL without a row, and an error with several. A row has `count` columns.
fn selected(condition: Expr, subquery: &Query, count: usize) -> Result<Expr> {
    let mut found = expression(&format!("(SELECT TRUE FROM (SELECT 1) AS \"\u{1}row\"({}))", names(count)))?;
    let _ = visit_mut(&mut found, &mut TemplateFiller { query: subquery, condition: condition.clone() });
    if let Expr::Subquery(query) = &mut found
        && let SetExpr::Select(select) = query.body.as_mut()
    {
        select.projection = vec![SelectItem::UnnamedExpr(condition)];
    }
    Ok(found)
}

/// The operator that holds where the given one does not; `None` for an operator that does not compare.
pub(crate) fn opposite(op: &BinaryOperator) -> Option<BinaryOperator> {
    use BinaryOperator as B;
    Some(match op {
        B::Eq => B::NotEq,
        B::NotEq => B::Eq,
        B::Lt => B::GtEq,
        B::LtEq => B::Gt,
        B::Gt => B::LtEq,
        B::GtEq => B::Lt,
        _ => return None,
    })
}

/// A value of a row, and what it is compared with.
struct Pair {
    value: Expr,
    other: Expr,
}

impl Pair {
    fn compared(&self, op: BinaryOperator) -> Expr {
        binary(self.value.clone(), op, self.other.clone())
    }
}

/// Pairs a row's values with the subquery's columns.
fn beside_columns(values: Vec<Expr>) -> Vec<Pair> {
    let column = |at| Expr::Identifier(Ident::with_quote('"', format!("\u{1}c{at}")));
    values.into_iter().enumerate().map(|(at, value)| Pair { value: nested(value), other: column(at) }).collect()
}

/// Pairs the values of two rows.
fn beside_values(values: Vec<Expr>, others: Vec<Expr>) -> Result<Vec<Pair>> {
    if values.len() != others.len() {
        return Err(sql_error(format!("a row of {} values beside one of {}", values.len(), others.len())));
    }
    let pairs = values.into_iter().zip(others);
    Ok(pairs.map(|(value, other)| Pair { value: nested(value), other: nested(other) }).collect())
}

/// Compares the pairs of two rows; `None` for an operator that does not compare.
fn comparison(op: &BinaryOperator, pairs: &[Pair]) -> Option<Expr> {
    use BinaryOperator as B;
    let strict = match op {
        B::Eq => return Some(equal(pairs)),
        B::NotEq => {
            return Some(Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(equal(pairs)) });
        }
        B::Lt | B::LtEq => B::Lt,
        B::Gt | B::GtEq => B::Gt,
        _ => return None,
    };
    // The first values that differ decide: a < c0 OR (a = c0 AND (b < c1 OR ...)).
    let mut rest: Option<Expr> = None;
    for pair in pairs.iter().rev() {
        rest = Some(nested(match rest {
            None => pair.compared(op.clone()),
            Some(rest) => {
                let tie = binary(pair.compared(B::Eq), B::And, rest);
                binary(pair.compared(strict.clone()), B::Or, nested(tie))
            }
        }));
    }
    rest
}

/// Builds `a = c0 AND b = c1`.
fn equal(pairs: &[Pair]) -> Expr {
    let equal = pairs.iter().map(|pair| pair.compared(BinaryOperator::Eq));
    let all = equal.reduce(|left, right| binary(left, BinaryOperator::And, right));
    nested(all.unwrap_or_else(|| Expr::value(Value::Boolean(true))))
}

/// Applies a test to each value of a row; `None` for another expression.
fn each_value(row: &Expr, test: fn(Box<Expr>) -> Expr) -> Option<Expr> {
    let tests = values_of(row)?.into_iter().map(|value| test(Box::new(nested(value))));
    tests.reduce(|left, right| binary(left, BinaryOperator::And, right)).map(nested)
}

fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
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
