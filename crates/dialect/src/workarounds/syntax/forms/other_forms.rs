//! Expressions that the parser knows and DataFusion refuses or answers differently, written in another form: the
//! operators `^@`, `&&`, `~`, `|/`, `||/` and `@`; `substring(text FROM pattern)`, also with `FOR escape`; other escape
//! characters of `SIMILAR TO`; texts in quotes in the place of booleans; `IS NORMALIZED`; `COLLATE` of the order that
//! texts have anyway. Casts and comparisons with `ANY` and `ALL` have rooms of their own
//! ([`other_casts`](super::other_casts), [`item_comparisons`](super::item_comparisons)).
//!
//! No upstream issue is known.

use super::composed_functions::filled;
use super::item_comparisons::comparison_with_items;
use super::line_ends::match_line_ends;
use super::literal_numerics::keep_digits;
use super::other_casts::{other_cast, write_float};
use crate::text::errors::{not_supported, sql_error};
use crate::text::similar_pattern::regular_expression;
use crate::workarounds::syntax::{binary, expression, set_arguments, set_first_argument};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, ObjectName, Subscript, UnaryOperator, Value, ValueWithSpan,
};

/// Collations that compare texts by their code points, as everything here does.
const PLAIN_COLLATIONS: [&str; 6] = ["c", "posix", "default", "c.utf8", "c.utf-8", "ucs_basic"];

/// Rewrites an expression whose parts have been rewritten already.
pub(crate) fn other_forms(expr: &mut Expr) -> Result<()> {
    match expr {
        Expr::Cast { .. } => other_cast(expr),
        Expr::TypedString(literal) => {
            write_float(&mut literal.data_type)?;
            keep_digits(expr)
        }
        Expr::BinaryOp { op: BinaryOperator::PGStartsWith, .. } => as_call(expr, "starts_with(NULL, NULL)"),
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
            as_boolean(left)?;
            as_boolean(right)
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr: operand }
        | Expr::IsTrue(operand)
        | Expr::IsNotTrue(operand)
        | Expr::IsFalse(operand)
        | Expr::IsNotFalse(operand)
        | Expr::IsUnknown(operand)
        | Expr::IsNotUnknown(operand) => as_boolean(operand),
        Expr::CompoundFieldAccess { access_chain, .. } => access_chain.iter_mut().try_for_each(complete_slice),
        _ => {
            if let Some(other) = other_form(expr)? {
                *expr = other;
            }
            Ok(())
        }
    }
}

/// The expression in whose place another one stands; `None` if it stays.
fn other_form(expr: &Expr) -> Result<Option<Expr>> {
    Ok(Some(match expr {
        Expr::AnyOp { .. } | Expr::AllOp { .. } => return Ok(comparison_with_items(expr)),
        Expr::UnaryOp { op: UnaryOperator::PGSquareRoot, expr: operand } => of_float("sqrt(NULL)", operand)?,
        Expr::UnaryOp { op: UnaryOperator::PGCubeRoot, expr: operand } => of_float("cbrt(NULL)", operand)?,
        Expr::UnaryOp { op: UnaryOperator::PGAbs, expr: operand } => {
            let mut call = expression("abs(NULL)")?;
            set_first_argument(&mut call, operand.as_ref().clone());
            call
        }
        Expr::UnaryOp { op: UnaryOperator::BitwiseNot, expr: operand } => inverse_bits(operand)?,
        Expr::Substring {
            expr: text, substring_from: Some(pattern), substring_for: None, shorthand: false, ..
        } if is_text(pattern) => matched_part(text, pattern)?,
        Expr::Substring {
            expr: text,
            substring_from: Some(pattern),
            substring_for: Some(escape),
            shorthand: false,
            ..
        } if let (Some(pattern), Some(escape)) = (text_in(pattern), text_in(escape)) => {
            similar_part(text, &pattern, &escape)?
        }
        // Without an escape character, or with one of several bytes, which the planner refuses.
        Expr::SimilarTo { negated, expr: text, pattern, escape_char: Some(escape) }
            if let Some(pattern) = text_in(pattern)
                && let Value::SingleQuotedString(escape) = &escape.value
                && escape.len() != 1 =>
        {
            let regular = regular_expression(&pattern, escape_in(escape)?)?;
            let op = if *negated { BinaryOperator::PGRegexNotMatch } else { BinaryOperator::PGRegexMatch };
            let found = binary((**text).clone(), op, Expr::value(Value::SingleQuotedString(regular)));
            Expr::Nested(Box::new(found))
        }
        Expr::IsNormalized { expr: text, form, negated } => {
            let form = form.as_ref().map_or_else(|| "NFC".to_owned(), ToString::to_string);
            let op = if *negated { "<>" } else { "=" };
            filled(&format!("(normalize(a, '{form}') {op} a)"), &[text.as_ref()])?
        }
        Expr::Collate { expr: text, collation } => {
            check_collation(collation)?;
            text.as_ref().clone()
        }
        _ => return Ok(None),
    }))
}

/// `~ x` as `x # -1`. Of a network address, too, for which the planner of its operators knows this form.
fn inverse_bits(operand: &Expr) -> Result<Expr> {
    let mut inverse = expression("(NULL + CAST(-1 AS INT))")?;
    if let Expr::Nested(inner) = &mut inverse
        && let Expr::BinaryOp { left, op, .. } = inner.as_mut()
    {
        *op = BinaryOperator::PGBitwiseXor;
        **left = Expr::Nested(Box::new(operand.clone()));
    }
    Ok(inverse)
}

/// `substring(text FROM pattern)`: the first group of the first match, or the match.
fn matched_part(text: &Expr, pattern: &Expr) -> Result<Expr> {
    let mut found = expression("(regexp_match(NULL, NULL))[1]")?;
    if let Expr::CompoundFieldAccess { root, .. } = &mut found
        && let Expr::Nested(call) = root.as_mut()
    {
        set_arguments(call, vec![text.clone(), pattern.clone()]);
        match_line_ends(call)?;
    }
    Ok(found)
}

/// The escape character of a pattern of `SIMILAR TO`; `None` of an empty text.
fn escape_in(escape: &str) -> Result<Option<char>> {
    let mut letters = escape.chars();
    match (letters.next(), letters.next()) {
        (escape, None) => Ok(escape),
        _ => Err(sql_error("invalid escape string").with_hint("the escape string must be empty or one character")),
    }
}

/// A text in quotes where a boolean stands is one.
fn as_boolean(operand: &mut Expr) -> Result<()> {
    if is_text(operand) {
        *operand = filled("CAST(a AS BOOLEAN)", &[&*operand])?;
    }
    Ok(())
}

/// `substring(text FROM pattern FOR escape)`, whose pattern is one of `SIMILAR TO`.
fn similar_part(text: &Expr, pattern: &str, escape: &str) -> Result<Expr> {
    let regular = Expr::value(Value::SingleQuotedString(regular_expression(pattern, escape_in(escape)?)?));
    let mut found = expression("(regexp_match(NULL, NULL))[1]")?;
    if let Expr::CompoundFieldAccess { root, .. } = &mut found
        && let Expr::Nested(call) = root.as_mut()
    {
        set_arguments(call, vec![text.clone(), regular]);
    }
    Ok(found)
}

/// The text of a literal, also in parentheses.
fn text_in(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Nested(inner) => text_in(inner),
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => Some(text.clone()),
        _ => None,
    }
}

/// `x[:2]` begins with the first element, and `x[2:]` ends with the last one.
fn complete_slice(access: &mut AccessExpr) -> Result<()> {
    if let AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) = access {
        for (bound, end) in [(lower_bound, "1"), (upper_bound, "2147483647")] {
            if bound.is_none() {
                *bound = Some(expression(end)?);
            }
        }
    }
    Ok(())
}

/// Refuses a collation that orders texts in another way.
fn check_collation(collation: &ObjectName) -> Result<()> {
    let name = collation.0.last().and_then(|part| part.as_ident()).map(|name| name.value.to_ascii_lowercase());
    match name.is_some_and(|name| PLAIN_COLLATIONS.contains(&name.as_str())) {
        true => Ok(()),
        false => Err(not_supported(format_args!("COLLATE {collation}"))
            .with_hint("texts are ordered by their code points: leave it out, or write COLLATE \"C\"")),
    }
}

fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(_), .. }))
}

/// A call with an operand as a `DOUBLE`.
fn of_float(template: &str, operand: &Expr) -> Result<Expr> {
    let mut float = expression("CAST(NULL AS DOUBLE)")?;
    if let Expr::Cast { expr, .. } = &mut float {
        **expr = operand.clone();
    }
    let mut call = expression(template)?;
    set_first_argument(&mut call, float);
    Ok(call)
}

/// Turns the operands of an operator into the arguments of a call.
fn as_call(expr: &mut Expr, template: &str) -> Result<()> {
    let Expr::BinaryOp { left, right, .. } = &*expr else { return Ok(()) };
    let mut call = expression(template)?;
    set_arguments(&mut call, vec![left.as_ref().clone(), right.as_ref().clone()]);
    *expr = call;
    Ok(())
}
