//! Numbers in a statement that DataFusion would not read as decimals of their digits. It keeps the exponent of `1e3` as
//! a negative number of digits after the point, which most of its functions do not know, and refuses long numbers.
//! Whole numbers beyond `BIGINT` are decimals, where it has unsigned integers. Numbers with more digits than a decimal
//! has are `DOUBLE`s. The least `BIGINT` is one number with its sign, although its digits alone are beyond `BIGINT`.

use crate::text::decimals;
use crate::text::tree_walk::{visit_expressions_mut, visit_mut, visit_relations};
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use atsdb_core::decimal;
use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, ExactNumberInfo, Expr, ObjectName, Query, SetExpr, Statement, UnaryOperator, Value,
    ValueWithSpan, Visit, VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// Rewrites the numbers of a statement. Called when the headings of its columns have been read from it.
pub fn write_numbers(statement: &mut Statement) {
    let _ = visit_mut(statement, &mut Numbers);
}

struct Numbers;

impl VisitorMut for Numbers {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let Some(with) = query.with.as_mut().filter(|with| with.recursive) else { return ControlFlow::Continue(()) };
        for table in &mut with.cte_tables {
            if let SetExpr::SetOperation { left, right, .. } = table.query.body.as_mut()
                && reads(right, &table.alias.name.value)
            {
                begin_with_doubles(left);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(least) = least_bigint(expr) {
            *expr = Expr::Nested(Box::new(Expr::value(Value::Number(least, false))));
        } else if let Some(text) = number(expr)
            && (has_exponent(text) || is_beyond_bigint(text) || text.len() > usize::from(DECIMAL_DIGITS_MAX))
        {
            match decimals::read(text) {
                Some((value, scale)) => {
                    let digits = decimal::format(value, scale.unsigned_abs());
                    // A point at the end makes an integer a decimal.
                    *text = if scale == 0 { format!("{digits}.") } else { digits };
                }
                None => *expr = double(text),
            }
        }
        ControlFlow::Continue(())
    }
}

/// The text of a number.
fn number(expr: &mut Expr) -> Option<&mut String> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::Number(text, _), .. }) => Some(text),
        _ => None,
    }
}

fn has_exponent(text: &str) -> bool {
    text.contains(['e', 'E']) && !text.contains(['x', 'X'])
}

/// The text of the least `BIGINT`, if an expression is the minus before its digits.
fn least_bigint(expr: &Expr) -> Option<String> {
    let Expr::UnaryOp { op: UnaryOperator::Minus, expr: operand } = expr else { return None };
    let digits = digits_in_parentheses(operand).filter(|digits| is_beyond_bigint(digits))?;
    Some(format!("-{digits}")).filter(|text| text.parse::<i64>().is_ok())
}

fn digits_in_parentheses(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Nested(inner) => digits_in_parentheses(inner),
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => Some(digits),
        _ => None,
    }
}

/// Returns whether it is a whole number, without a sign, that no `BIGINT` holds.
fn is_beyond_bigint(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<i64>().is_err()
}

fn double(text: &str) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::value(Value::SingleQuotedString(text.to_owned()))),
        data_type: DataType::Double(ExactNumberInfo::None),
        array: false,
        format: None,
    }
}

fn reads(query: &impl Visit, name: &str) -> bool {
    let is_it = |other: &ObjectName| other.0.last().and_then(|part| part.as_ident()).is_some_and(|of| of.value == name);
    visit_relations(query, |other| if is_it(other) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        .is_break()
}

/// Makes `DOUBLE`s of the numbers with a point in the first rows of a recursive query. Its rows have one type, and no
/// decimal has room for the digits that each further round may add.
fn begin_with_doubles(rows: &mut SetExpr) {
    match rows {
        SetExpr::Select(select) => select.projection.iter_mut().for_each(make_doubles),
        SetExpr::Values(values) => values.rows.iter_mut().flat_map(|row| row.iter_mut()).for_each(make_doubles),
        SetExpr::Query(query) => begin_with_doubles(&mut query.body),
        SetExpr::SetOperation { left, right, .. } => {
            begin_with_doubles(left);
            begin_with_doubles(right);
        }
        _ => {}
    }
}

fn make_doubles(column: &mut impl VisitMut) {
    let _ = visit_expressions_mut(column, |expr| {
        if let Some(text) = number(expr)
            && (text.contains('.') || has_exponent(text))
        {
            *expr = double(text);
        }
        ControlFlow::<()>::Continue(())
    });
}
