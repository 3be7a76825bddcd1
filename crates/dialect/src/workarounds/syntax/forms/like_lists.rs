//! `LIKE ANY` and `LIKE ALL`, also as `~~ ANY`. Of patterns that are written out, the comparisons are joined by `OR` or
//! `AND`. Those of a subquery or of another array become rows, which an aggregate compares: a pattern that is NULL
//! makes the answer NULL, unless another pattern decides it.
//!
//! No upstream issue known.

use super::composed_functions::filled;
use super::item_comparisons::items_of_text;
use crate::workarounds::syntax::{any_of, expression};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    Array, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, SetExpr,
    TableFactor, Value,
};

/// The rows of patterns, and their column.
const ROWS: &str = "like_patterns";
const ROW: &str = "like_pattern";

/// The source of the patterns.
enum Patterns {
    List(Vec<Expr>),
    Query(Box<Query>),
    Array(Box<Expr>),
}

/// Replaces `x LIKE ANY (...)` and `x LIKE ALL (...)`. The parts are rewritten afterwards.
pub(crate) fn match_each(expr: &mut Expr) -> Result<()> {
    let Some((is_any, patterns)) = patterns_of(expr) else { return Ok(()) };
    let replaced = match patterns {
        Patterns::List(patterns) => {
            let op = if is_any { BinaryOperator::Or } else { BinaryOperator::And };
            let all = patterns.into_iter().map(|pattern| with_pattern(expr, pattern)).collect();
            let joined = any_of(all, &op);
            Expr::Nested(Box::new(joined.unwrap_or_else(|| Expr::value(Value::Boolean(!is_any)))))
        }
        Patterns::Query(query) => over_rows(expr, is_any, |rows| {
            if let TableFactor::Derived { subquery, .. } = rows {
                *subquery = query;
            }
        })?,
        Patterns::Array(array) => {
            let compared = over_rows(expr, is_any, |rows| {
                if let TableFactor::Derived { alias, .. } = rows {
                    let alias = alias.take();
                    *rows = TableFactor::UNNEST {
                        alias,
                        array_exprs: vec![array.as_ref().clone()],
                        with_offset: false,
                        with_offset_alias: None,
                        with_ordinality: false,
                    };
                }
            })?;
            filled("CASE WHEN a IS NOT NULL THEN b END", &[array.as_ref(), &compared])?
        }
    };
    *expr = replaced;
    Ok(())
}

/// The patterns of such an expression, and whether one is enough.
fn patterns_of(expr: &Expr) -> Option<(bool, Patterns)> {
    match expr {
        Expr::Like { any: false, pattern, .. } | Expr::ILike { any: false, pattern, .. } => {
            let Expr::Function(Function { name, args, over: None, .. }) = pattern.as_ref() else { return None };
            let is_any = match name.to_string().to_ascii_lowercase().as_str() {
                "all" => false,
                "some" => true,
                _ => return None,
            };
            match args {
                FunctionArguments::List(list) => {
                    let value = |arg: &FunctionArg| match arg {
                        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
                        _ => None,
                    };
                    let values = list.args.iter().map(value).collect::<Option<Vec<_>>>()?;
                    Some((is_any, patterns_in(values)?))
                }
                FunctionArguments::Subquery(query) => Some((is_any, Patterns::Query(query.clone()))),
                FunctionArguments::None => None,
            }
        }
        Expr::Like { pattern, .. } | Expr::ILike { pattern, .. } => {
            Some((true, patterns_in(vec![pattern.as_ref().clone()])?))
        }
        Expr::AnyOp { compare_op, right, .. } if like_of(compare_op).is_some() => {
            Some((true, patterns_in(vec![right.as_ref().clone()])?))
        }
        Expr::AllOp { compare_op, right, .. } if like_of(compare_op).is_some() => {
            Some((false, patterns_in(vec![right.as_ref().clone()])?))
        }
        _ => None,
    }
}

fn patterns_in(mut values: Vec<Expr>) -> Option<Patterns> {
    if values.len() > 1 {
        return Some(Patterns::List(values));
    }
    Some(match values.pop()? {
        Expr::Nested(inner) => patterns_in(vec![*inner])?,
        Expr::Tuple(values) => patterns_in(values)?,
        Expr::Array(Array { elem, .. }) if !elem.is_empty() => Patterns::List(elem),
        Expr::Subquery(query) => Patterns::Query(query),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) if let Some(items) = items_of_text(text) => Patterns::List(items),
            _ => Patterns::List(vec![Expr::Value(value)]),
        },
        array => Patterns::Array(Box::new(array)),
    })
}

/// Returns whether an operator stands for `NOT LIKE` or `NOT ILIKE`, and whether for `ILIKE`; `None` for others.
fn like_of(operator: &BinaryOperator) -> Option<(bool, bool)> {
    match operator {
        BinaryOperator::PGLikeMatch => Some((false, false)),
        BinaryOperator::PGNotLikeMatch => Some((true, false)),
        BinaryOperator::PGILikeMatch => Some((false, true)),
        BinaryOperator::PGNotILikeMatch => Some((true, true)),
        _ => None,
    }
}

/// The comparison with a single pattern.
fn with_pattern(expr: &Expr, pattern: Expr) -> Expr {
    let pattern = Box::new(pattern);
    match expr {
        Expr::Like { negated, expr, escape_char, .. } => {
            Expr::Like { negated: *negated, any: false, expr: expr.clone(), pattern, escape_char: escape_char.clone() }
        }
        Expr::ILike { negated, expr, escape_char, .. } => {
            Expr::ILike { negated: *negated, any: false, expr: expr.clone(), pattern, escape_char: escape_char.clone() }
        }
        Expr::AnyOp { left, compare_op, .. } | Expr::AllOp { left, compare_op, .. } => match like_of(compare_op) {
            Some((negated, true)) => {
                Expr::ILike { negated, any: false, expr: left.clone(), pattern, escape_char: None }
            }
            Some((negated, false)) => {
                Expr::Like { negated, any: false, expr: left.clone(), pattern, escape_char: None }
            }
            None => expr.clone(),
        },
        other => other.clone(),
    }
}

/// A subquery that compares each of the rows that `set_rows` writes into its FROM.
fn over_rows(expr: &Expr, is_any: bool, set_rows: impl FnOnce(&mut TableFactor)) -> Result<Expr> {
    let (decides, decided, otherwise) = if is_any { ("", "true", "false") } else { ("NOT ", "false", "true") };
    let template = format!(
        "(SELECT CASE WHEN bool_or({decides}a) THEN {decided} WHEN bool_or(a IS NULL) THEN NULL ELSE {otherwise} END \
         FROM (SELECT NULL) AS {ROWS}({ROW}))"
    );
    let mut compared = filled(&template, &[&with_pattern(expr, expression(&format!("{ROWS}.{ROW}"))?)])?;
    if let Expr::Subquery(query) = &mut compared
        && let SetExpr::Select(select) = query.body.as_mut()
        && let Some(from) = select.from.first_mut()
    {
        set_rows(&mut from.relation);
    }
    Ok(compared)
}
