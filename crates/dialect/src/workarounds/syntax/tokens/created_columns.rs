//! `CREATE TABLE t (a, b) AS query`, whose columns the parser takes for declarations without types: it becomes
//! `CREATE TABLE t AS SELECT * FROM (query) AS t (a, b)`.
//!
//! No upstream issue known.

use super::words::{after, before, is_significant, is_word};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use std::ops::RangeInclusive;

/// The name of the query, which no statement can use.
pub const CREATED_QUERY: &str = "\u{1}created";

/// Moves the names of the columns behind the query.
pub(super) fn name_created_columns(tokens: &mut Vec<TokenWithSpan>) {
    let Some((columns, query)) = columns_and_query(tokens) else { return };
    let span = tokens[*columns.start()].span;
    let with_span = |token: Token| TokenWithSpan::new(token, span);
    let names = tokens[columns.clone()].to_vec();
    let [named, select, from] = ["AS", "SELECT", "FROM"].map(Token::make_keyword);
    let before = [named.clone(), select, Token::Mul, from, Token::LParen];
    let behind = [Token::RParen, named, Token::make_word(CREATED_QUERY, Some('"'))];
    let mut written: Vec<TokenWithSpan> = before.map(with_span).to_vec();
    written.extend_from_slice(&tokens[query.clone()]);
    written.extend(behind.map(with_span));
    written.extend(names);
    tokens.splice(*columns.start()..=*query.end(), written);
}

/// The places of the names with their parentheses, and of the query.
fn columns_and_query(tokens: &[TokenWithSpan]) -> Option<(RangeInclusive<usize>, RangeInclusive<usize>)> {
    let mut at = tokens.iter().position(is_significant).filter(|first| is_word(&tokens[*first], "CREATE"))?;
    at = after(tokens, at)?;
    while ["TEMPORARY", "TEMP", "LOCAL", "GLOBAL"].iter().any(|word| is_word(&tokens[at], word)) {
        at = after(tokens, at)?;
    }
    if !is_word(&tokens[at], "TABLE") {
        return None;
    }
    // `IF NOT EXISTS`, and the name.
    let open = loop {
        at = after(tokens, at)?;
        match &tokens[at].token {
            Token::LParen => break at,
            Token::Word(_) if !is_word(&tokens[at], "AS") => {}
            Token::Period => {}
            _ => return None,
        }
    };
    let close = loop {
        let name = after(tokens, at)?;
        at = after(tokens, name)?;
        match (&tokens[name].token, &tokens[at].token) {
            (Token::Word(_), Token::RParen) => break at,
            (Token::Word(_), Token::Comma) => {}
            _ => return None,
        }
    };
    let query = after(tokens, close).filter(|next| is_word(&tokens[*next], "AS")).and_then(|at| after(tokens, at))?;
    let is_last =
        |token: &TokenWithSpan| is_significant(token) && !matches!(token.token, Token::SemiColon | Token::EOF);
    let end = tokens.iter().rposition(is_last).filter(|end| *end >= query && !says_data(tokens, *end))?;
    Some((open..=close, query..=end))
}

/// Whether `WITH DATA` or `WITH NO DATA` ends at a token, which belongs to the declaration.
fn says_data(tokens: &[TokenWithSpan], end: usize) -> bool {
    let word = before(tokens, end).filter(|_| is_word(&tokens[end], "DATA"));
    let with = word.and_then(|word| if is_word(&tokens[word], "NO") { before(tokens, word) } else { Some(word) });
    with.is_some_and(|with| is_word(&tokens[with], "WITH"))
}
