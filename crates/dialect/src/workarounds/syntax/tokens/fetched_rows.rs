//! `FETCH FIRST (n + 1) ROWS ONLY` is `LIMIT (n + 1)`, and `FETCH FIRST (n + 1) ROWS WITH TIES` is a `LIMIT` with a
//! call that marks it. The parser knows only numbers after `FIRST`.
//!
//! Part of [`statement_words`](super::statement_words).

use super::words::{TokenReplacement, after, before, is_word, replace};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};
use std::ops::Range;

/// The function around the number of rows in a `LIMIT` that also returns rows equal to the last one.
pub(crate) const WITH_TIES: &str = "\u{1}with ties";

/// Rewrites each `FETCH` with a number of rows in parentheses.
pub(super) fn limit_fetched_rows(tokens: &mut Vec<TokenWithSpan>) {
    // For each open parenthesis, the `FETCH` and the `FIRST` before it.
    let mut open: Vec<Option<[usize; 2]>> = Vec::new();
    let mut written: Vec<TokenReplacement> = Vec::new();
    for at in 0..tokens.len() {
        if tokens[at].token == Token::LParen {
            let first = before(tokens, at).filter(|first| is_any_word(&tokens[*first], &["FIRST", "NEXT"]));
            let fetch = first.and_then(|first| Some([before(tokens, first)?, first]));
            open.push(fetch.filter(|[fetch, _]| is_word(&tokens[*fetch], "FETCH")));
        } else if tokens[at].token == Token::RParen
            && let Some([fetch, first]) = open.pop().flatten()
            && let Some(rows) = after(tokens, at).filter(|next| is_any_word(&tokens[*next], &["ROW", "ROWS"]))
            && let Some(last) = after(tokens, rows)
        {
            let ties =
                after(tokens, last).filter(|ties| is_word(&tokens[last], "WITH") && is_word(&tokens[*ties], "TIES"));
            let mut write = |place: Range<usize>, others: &[Token]| {
                let span = tokens[place.start].span;
                let of = |token: &Token| TokenWithSpan::new(token.clone(), span);
                written.push((place, others.iter().map(of).collect()));
            };
            let (limit, space) = (Token::make_keyword("LIMIT"), Token::Whitespace(Whitespace::Space));
            if let Some(ties) = ties {
                write(fetch..first + 1, &[limit, space.clone(), Token::make_word(WITH_TIES, Some('"')), Token::LParen]);
                write(rows..ties + 1, &[Token::RParen, space]);
            } else if is_word(&tokens[last], "ONLY") {
                write(fetch..first + 1, &[limit, space]);
                write(rows..last + 1, &[]);
            }
        }
    }
    written.sort_by_key(|(place, _)| place.start);
    replace(tokens, written);
}

fn is_any_word(token: &TokenWithSpan, wanted: &[&str]) -> bool {
    wanted.iter().any(|word| is_word(token, word))
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
            ("SELECT fetch, first (a) rows", "SELECT fetch, first (a) rows"),
        ] {
            let mut tokens = Tokenizer::new(&StatementDialect::new(0), text).tokenize_with_location().unwrap();
            limit_fetched_rows(&mut tokens);
            let written: String = tokens.iter().map(|token| token.to_string()).collect();
            assert_eq!(written, expected, "{text}");
        }
    }
}
