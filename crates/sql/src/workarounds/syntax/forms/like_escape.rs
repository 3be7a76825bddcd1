//! `LIKE pattern ESCAPE 'c'`. DataFusion only supports the backslash, so the pattern is rewritten to use that.
//!
//! Waits for [#13291](https://github.com/apache/datafusion/issues/13291).

use crate::functions::texts::like_escape::escaped_pattern;
use crate::workarounds::syntax::{expression, set_first_argument};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{Expr, Value, ValueWithSpan};

/// Rewrites the pattern of a `LIKE` or `ILIKE`.
pub(crate) fn write_backslashes(expr: &mut Expr) -> Result<()> {
    let (Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. }) = expr else {
        return Ok(());
    };
    let Some(Value::SingleQuotedString(escape)) = escape_char.as_ref().map(|escape| &escape.value) else {
        return Ok(());
    };
    if let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) = pattern.as_mut() {
        *text = escaped_pattern(text, escape)?;
    } else {
        let quoted = escape.replace('\'', "''");
        let mut call = expression(&format!("like_escape(NULL, '{quoted}')"))?;
        set_first_argument(&mut call, pattern.as_ref().clone());
        **pattern = call;
    }
    *escape_char = None;
    Ok(())
}
