//! `SELECT` with nothing behind it, alone or in parentheses, is one row without columns: `SELECT FROM (VALUES (1))`.
//! The parser reads a `SELECT` without columns only before `FROM`.
//!
//! No upstream issue known.

use super::words::{TokenReplacement, after, before, is_word, replace};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Writes one row behind each `SELECT` that has nothing.
pub(crate) fn complete_empty_selects(tokens: &mut Vec<TokenWithSpan>) {
    let mut written: Vec<TokenReplacement> = Vec::new();
    for at in 0..tokens.len() {
        if is_word(&tokens[at], "SELECT")
            && before(tokens, at).is_none_or(|at| tokens[at].token == Token::LParen)
            && after(tokens, at).is_none_or(|at| tokens[at].token == Token::RParen)
        {
            let span = tokens[at].span;
            let row = one_row().into_iter().map(|token| TokenWithSpan::new(token, span)).collect();
            written.push((at + 1..at + 1, row));
        }
    }
    replace(tokens, written);
}

/// ` FROM (VALUES (1)) AS one`.
fn one_row() -> [Token; 14] {
    let space = Token::Whitespace(Whitespace::Space);
    [
        space.clone(),
        Token::make_keyword("FROM"),
        space.clone(),
        Token::LParen,
        Token::make_keyword("VALUES"),
        space.clone(),
        Token::LParen,
        Token::Number("1".to_owned(), false),
        Token::RParen,
        Token::RParen,
        space.clone(),
        Token::make_keyword("AS"),
        space,
        Token::make_word("one", None),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    #[test]
    fn what_has_nothing_gets_a_row() {
        for (text, expected) in [
            ("SELECT", "SELECT FROM (VALUES (1)) AS one"),
            ("SELECT EXISTS (select ), 1", "SELECT EXISTS (select FROM (VALUES (1)) AS one ), 1"),
            ("SELECT FROM t", "SELECT FROM t"),
            ("GRANT SELECT", "GRANT SELECT"),
        ] {
            let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
            complete_empty_selects(&mut tokens);
            let written: String = tokens.iter().map(|token| token.to_string()).collect();
            assert_eq!(written, expected);
        }
    }
}
