//! `current_schema` and `current_role`, which are called without parentheses, as `current_user` is. The parser takes
//! them for columns. They are reserved words: a column with such a name has quotes.
//!
//! No upstream issue known.

use crate::workarounds::syntax::expression;
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{Expr, FunctionArguments, Ident, ObjectName};

/// The parser knows some of them, and not the others.
const WORDS: [&str; 5] = ["current_catalog", "current_role", "current_schema", "current_user", "session_user"];

/// Writes such a word as a call.
pub(crate) fn call_session_word(expr: &mut Expr) -> Result<()> {
    let Expr::Identifier(name) = &*expr else { return Ok(()) };
    let is_word = |word: &&&str| name.quote_style.is_none() && name.value.eq_ignore_ascii_case(word);
    let Some(word) = WORDS.iter().find(is_word) else { return Ok(()) };
    let mut call = expression("version()")?;
    if let Expr::Function(function) = &mut call {
        function.name = ObjectName::from(vec![Ident::new(*word)]);
        function.args = FunctionArguments::None;
    }
    *expr = call;
    Ok(())
}
