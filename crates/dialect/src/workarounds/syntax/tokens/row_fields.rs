//! Columns of whole rows: `(t).x` and `(t).*` are `t.x` and `t.*`. The parser mistakes `(t)` for a value, and
//! DataFusion knows no columns of that.
//!
//! No upstream issue known.

use super::operand_names::precedes_operand;
use super::words::{after, before};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Removes the parentheses around such rows.
pub(crate) fn open_rows(tokens: &mut [TokenWithSpan]) {
    for open in 0..tokens.len() {
        if let Some(close) = end_of_row(tokens, open) {
            tokens[open].token = Token::Whitespace(Whitespace::Space);
            tokens[close].token = Token::Whitespace(Whitespace::Space);
        }
    }
}

/// The closing parenthesis of a name in parentheses that stands as an operand, and that a period follows.
fn end_of_row(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    if tokens[open].token != Token::LParen || !precedes_operand(&tokens[before(tokens, open)?].token) {
        return None;
    }
    let name = after(tokens, open)?;
    let close = after(tokens, name)?;
    let period = after(tokens, close)?;
    let is_row = matches!(tokens[name].token, Token::Word(_))
        && tokens[close].token == Token::RParen
        && tokens[period].token == Token::Period;
    is_row.then_some(close)
}
