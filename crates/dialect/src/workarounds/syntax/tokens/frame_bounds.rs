//! `RANGE BETWEEN '1 day'::interval PRECEDING AND CURRENT ROW`. The parser expects `PRECEDING` or `FOLLOWING` right
//! after a text that begins a bound, so a text that is cast gets parentheses.
//!
//! No upstream issue known.

use super::words::{TokenReplacement, after, is_any_word, replace};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Puts parentheses around the texts with casts that are bounds of frames.
pub(crate) fn enclose_casts(tokens: &mut Vec<TokenWithSpan>) {
    let mut parentheses: Vec<TokenReplacement> = Vec::new();
    for at in 0..tokens.len() {
        if let Some(end) = end_of_bound(tokens, at) {
            let written = |token: Token, at: usize| vec![TokenWithSpan::new(token, tokens[at].span)];
            parentheses.push((at..at, written(Token::LParen, at)));
            parentheses.push((end..end, written(Token::RParen, end)));
        }
    }
    replace(tokens, parentheses);
}

/// The word after a text that is cast, if it ends a bound.
fn end_of_bound(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let Token::SingleQuotedString(_) = &tokens[at].token else { return None };
    let cast = after(tokens, at).filter(|next| tokens[*next].token == Token::DoubleColon)?;
    let of_type = after(tokens, cast).filter(|next| matches!(tokens[*next].token, Token::Word(_)))?;
    after(tokens, of_type).filter(|end| is_any_word(&tokens[*end], &["PRECEDING", "FOLLOWING"]))
}
