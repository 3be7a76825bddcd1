//! `FETCH FIRST (n + 1) ROWS ONLY` is `LIMIT (n + 1)`, and `FETCH FIRST (n + 1) ROWS WITH TIES` is a `LIMIT` with a
//! call that marks it. The parser knows only numbers after `FIRST`, and no `OFFSET` behind a `FETCH`.
//!
//! Part of [`statement_words`](super::statement_words).

use super::words::{TokenReplacement, after, end_of_parentheses, is_any_word, is_word, replace};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};
use std::ops::Range;

/// The function around the number of rows in a `LIMIT` that also returns rows equal to the last one.
pub(crate) const WITH_TIES: &str = "\u{1}with ties";

/// Rewrites each `FETCH` with a number of rows in parentheses, or before an `OFFSET`.
pub(super) fn limit_fetched_rows(tokens: &mut Vec<TokenWithSpan>) {
    let mut written: Vec<TokenReplacement> = Vec::new();
    for at in 0..tokens.len() {
        if is_word(&tokens[at], "FETCH") {
            written.extend(limit_of(tokens, at).into_iter().flatten());
        }
    }
    written.sort_by_key(|(place, _)| place.start);
    replace(tokens, written);
}

/// Returns the replacements of the words before and after the number of rows of a `FETCH`; `None` if this is no such
/// clause, or one that the parser knows.
fn limit_of(tokens: &[TokenWithSpan], fetch: usize) -> Option<[TokenReplacement; 2]> {
    let first = after(tokens, fetch).filter(|first| is_any_word(&tokens[*first], &["FIRST", "NEXT"]))?;
    let count = after(tokens, first)?;
    // Without a number, one row is fetched.
    let has_count = !is_any_word(&tokens[count], &["ROW", "ROWS"]);
    let is_computed = tokens[count].token == Token::LParen;
    let end_of_count = if is_computed { end_of_parentheses(tokens, count)? } else { count };
    let rows = if has_count { after(tokens, end_of_count)? } else { count };
    let last = after(tokens, rows).filter(|_| is_any_word(&tokens[rows], &["ROW", "ROWS"]))?;
    let has_ties = is_word(&tokens[last], "WITH");
    let end = if has_ties { after(tokens, last)? } else { last };
    let is_offset = after(tokens, end).is_some_and(|next| is_word(&tokens[next], "OFFSET"));
    if !is_word(&tokens[end], if has_ties { "TIES" } else { "ONLY" }) || !(is_computed || is_offset) {
        return None;
    }
    let replaced = |place: Range<usize>, others: Vec<Token>| -> TokenReplacement {
        let span = tokens[place.start].span;
        (place, others.into_iter().map(|token| TokenWithSpan::new(token, span)).collect())
    };
    let space = Token::Whitespace(Whitespace::Space);
    let mut before_count = vec![Token::make_keyword("LIMIT"), space.clone()];
    let mut after_count = Vec::new();
    if has_ties {
        before_count.extend([Token::make_word(WITH_TIES, Some('"')), Token::LParen]);
        after_count.extend([Token::RParen, space.clone()]);
    }
    if !has_count {
        before_count.extend([Token::Number("1".to_owned(), false), space]);
    }
    Some([replaced(fetch..first + 1, before_count), replaced(rows..end + 1, after_count)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workarounds::syntax::tokens::dialect::StatementDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    #[test]
    fn a_computed_number_of_fetched_rows_is_a_limit() {
        for (text, expected) in [
            ("TABLE t FETCH FIRST (f(1) + 1) ROWS ONLY", "TABLE t LIMIT  (f(1) + 1) "),
            ("TABLE t FETCH NEXT (1) ROW WITH TIES", "TABLE t LIMIT \"\u{1}with ties\"( (1) ) "),
            ("SELECT 1 FETCH NEXT 2 ROWS ONLY", "SELECT 1 FETCH NEXT 2 ROWS ONLY"),
            ("SELECT 1 FETCH NEXT 2 ROWS ONLY OFFSET 1", "SELECT 1 LIMIT  2  OFFSET 1"),
            ("SELECT 1 FETCH FIRST $1 ROW ONLY OFFSET $2", "SELECT 1 LIMIT  $1  OFFSET $2"),
            ("TABLE t FETCH FIRST ROW WITH TIES OFFSET 1", "TABLE t LIMIT \"\u{1}with ties\"(1  )  OFFSET 1"),
            ("TABLE t FETCH FIRST ROW WITH TIES", "TABLE t FETCH FIRST ROW WITH TIES"),
            (
                "TABLE t FETCH FIRST (SELECT 2 FETCH NEXT ROW ONLY OFFSET 0) ROWS ONLY",
                "TABLE t LIMIT  (SELECT 2 LIMIT 1   OFFSET 0) ",
            ),
            ("SELECT fetch, first (a) rows", "SELECT fetch, first (a) rows"),
        ] {
            let mut tokens = Tokenizer::new(&StatementDialect::new(0), text).tokenize_with_location().unwrap();
            limit_fetched_rows(&mut tokens);
            let written: String = tokens.iter().map(|token| token.to_string()).collect();
            assert_eq!(written, expected, "{text}");
        }
    }
}
