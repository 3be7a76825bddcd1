//! `SELECT` with nothing behind it, or only with `WHERE`, is one row without columns. So is one beside `UNION`. The
//! parser reads a `SELECT` without columns only before `FROM`.
//!
//! No upstream issue known.

use super::words::{TokenReplacement, after, before, is_any_word, is_word, replace};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Writes one row behind each `SELECT` that has nothing.
pub(crate) fn complete_empty_selects(tokens: &mut Vec<TokenWithSpan>) {
    let mut written: Vec<TokenReplacement> = Vec::new();
    for at in 0..tokens.len() {
        if is_word(&tokens[at], "SELECT") && is_empty(tokens, at) {
            let span = tokens[at].span;
            let row = one_row().into_iter().map(|token| TokenWithSpan::new(token, span)).collect();
            written.push((at + 1..at + 1, row));
        }
    }
    replace(tokens, written);
}

/// Returns whether a `SELECT` has neither columns nor tables.
fn is_empty(tokens: &[TokenWithSpan], select: usize) -> bool {
    match after(tokens, select) {
        Some(next) if is_any_word(&tokens[next], &["WHERE", "UNION", "INTERSECT", "EXCEPT"]) => true,
        Some(next) if tokens[next].token != Token::RParen => false,
        // `GRANT SELECT` has nothing behind it either.
        _ => before(tokens, select).is_none_or(|at| {
            tokens[at].token == Token::LParen
                || is_any_word(&tokens[at], &["AS", "UNION", "INTERSECT", "EXCEPT", "ALL", "DISTINCT"])
        }),
    }
}

/// ` FROM (SELECT FROM (VALUES (1)) AS one)`, which hides no column of an outer query.
fn one_row() -> [Token; 20] {
    let space = Token::Whitespace(Whitespace::Space);
    [
        space.clone(),
        Token::make_keyword("FROM"),
        space.clone(),
        Token::LParen,
        Token::make_keyword("SELECT"),
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
        Token::RParen,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    #[test]
    fn what_has_nothing_gets_a_row() {
        let row = "FROM (SELECT FROM (VALUES (1)) AS one)";
        for (text, expected) in [
            ("SELECT", format!("SELECT {row}")),
            ("SELECT EXISTS (select ), 1", format!("SELECT EXISTS (select {row} ), 1")),
            (
                "EXISTS (SELECT WHERE a) UNION ALL SELECT",
                format!("EXISTS (SELECT {row} WHERE a) UNION ALL SELECT {row}"),
            ),
            ("SELECT FROM t", "SELECT FROM t".to_owned()),
            ("GRANT SELECT", "GRANT SELECT".to_owned()),
        ] {
            let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
            complete_empty_selects(&mut tokens);
            let written: String = tokens.iter().map(|token| token.to_string()).collect();
            assert_eq!(written, expected);
        }
    }
}
