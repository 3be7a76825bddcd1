//! `LIKE pattern ESCAPE 'c'`. DataFusion only supports the backslash, so the pattern is rewritten to use that. If the
//! escape character is NULL, so is the pattern. At the end of a pattern an escape character has nothing to escape: a
//! text that goes on there is an error in PostgreSQL, where DataFusion mistakes the backslash for a plain character.
//!
//! Waits for [#13291](https://github.com/apache/datafusion/issues/13291); of the end of a pattern no upstream issue is
//! known.

use crate::functions::texts::like_escape::escaped_pattern;
use crate::workarounds::syntax::{expression, set_first_argument};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{Expr, UnaryOperator, Value, ValueWithSpan};

/// Rewrites the pattern of a `LIKE` or `ILIKE`.
pub(crate) fn write_backslashes(expr: &mut Expr) -> Result<()> {
    let (Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. }) = expr else {
        return Ok(());
    };
    if let Some(Value::Null) = escape_char.as_ref().map(|escape| &escape.value) {
        **pattern = Expr::value(Value::Null);
        *escape_char = None;
    } else if let Some(Value::SingleQuotedString(escape)) = escape_char.as_ref().map(|escape| &escape.value) {
        if let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) = pattern.as_mut() {
            *text = escaped_pattern(text, escape)?;
        } else {
            let quoted = escape.replace('\'', "''");
            let mut call = expression(&format!("like_escape(NULL, '{quoted}')"))?;
            set_first_argument(&mut call, pattern.as_ref().clone());
            **pattern = call;
        }
        *escape_char = None;
    }
    check_end(expr)
}

/// Replaces a pattern that ends with an escape character. `x LIKE 'a\'` becomes `like_open_end(x LIKE 'a_%')`, which
/// fails for a text that has more characters than the pattern describes. No other text matches.
fn check_end(expr: &mut Expr) -> Result<()> {
    let (Expr::Like { negated, pattern, escape_char: None, .. }
    | Expr::ILike { negated, pattern, escape_char: None, .. }) = expr
    else {
        return Ok(());
    };
    let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) = pattern.as_mut() else {
        return Ok(());
    };
    if !ends_open(text) {
        return Ok(());
    }
    text.pop();
    text.push_str("_%");
    let is_negated = std::mem::take(negated);
    let mut call = expression("like_open_end(NULL)")?;
    set_first_argument(&mut call, expr.clone());
    if is_negated {
        call = Expr::Nested(Box::new(Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(call) }));
    }
    *expr = call;
    Ok(())
}

/// Returns whether a pattern ends with a backslash that escapes nothing.
fn ends_open(pattern: &str) -> bool {
    pattern.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::ends_open;

    #[test]
    fn an_escaped_backslash_is_no_open_end() {
        for (pattern, expected) in [("a\\", true), ("a\\\\", false), ("\\\\\\", true), ("\\a", false), ("", false)] {
            assert_eq!(ends_open(pattern), expected, "{pattern}");
        }
    }
}
