//! `CREATE TABLE t (a, b) AS query`, whose columns the parser takes for declarations without types: it becomes
//! `CREATE TABLE t AS SELECT * FROM (query) AS t (a, b)`. `WITH [NO] DATA` after the query is left out: whether the
//! table gets the rows is read from the text.
//!
//! No upstream issue known.

use super::words::{after, before, blank, is_any_word, is_significant, is_word};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use std::ops::{Range, RangeInclusive};

/// The name of the query, which no statement can use.
pub const CREATED_QUERY: &str = "\u{1}created";

/// Rewrites `CREATE TABLE ... AS`.
pub(super) fn write_created_table(tokens: &mut Vec<TokenWithSpan>) {
    let Some(table) = created_table(tokens) else { return };
    drop_data_clause(&mut tokens[table..]);
    name_columns(tokens, table);
}

/// The word `TABLE` of a `CREATE TABLE`.
fn created_table(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut at = tokens.iter().position(is_significant).filter(|first| is_word(&tokens[*first], "CREATE"))?;
    at = after(tokens, at)?;
    while is_any_word(&tokens[at], &["TEMPORARY", "TEMP", "LOCAL", "GLOBAL"]) {
        at = after(tokens, at)?;
    }
    Some(at).filter(|table| is_word(&tokens[*table], "TABLE"))
}

/// Removes `WITH DATA` or `WITH NO DATA` at the end.
fn drop_data_clause(tokens: &mut [TokenWithSpan]) {
    let Some(data) = last(tokens).filter(|last| is_word(&tokens[*last], "DATA")) else { return };
    let Some(mut with) = before(tokens, data) else { return };
    if is_word(&tokens[with], "NO")
        && let Some(word) = before(tokens, with)
    {
        with = word;
    }
    if is_word(&tokens[with], "WITH") && tokens[..with].iter().any(|token| is_word(token, "AS")) {
        tokens[with..=data].iter_mut().for_each(blank);
    }
}

/// The last token of the statement.
fn last(tokens: &[TokenWithSpan]) -> Option<usize> {
    let is_last =
        |token: &TokenWithSpan| is_significant(token) && !matches!(token.token, Token::SemiColon | Token::EOF);
    tokens.iter().rposition(is_last)
}

/// Moves the names of the columns after the query. Clauses between both stay before the query.
fn name_columns(tokens: &mut Vec<TokenWithSpan>, table: usize) {
    let Some((columns, clauses, query)) = columns_and_query(tokens, table) else { return };
    let span = tokens[*columns.start()].span;
    let with_span = |token: Token| TokenWithSpan::new(token, span);
    let names = tokens[columns.clone()].to_vec();
    let [named, select, from] = ["AS", "SELECT", "FROM"].map(Token::make_keyword);
    let before = [named.clone(), select, Token::Mul, from, Token::LParen];
    let behind = [Token::RParen, named, Token::make_word(CREATED_QUERY, Some('"'))];
    let mut written = tokens[clauses].to_vec();
    written.extend(before.map(with_span));
    written.extend_from_slice(&tokens[query.clone()]);
    written.extend(behind.map(with_span));
    written.extend(names);
    tokens.splice(*columns.start()..=*query.end(), written);
}

/// The places of the names with their parentheses, of the clauses after them, and of the query, after the word `TABLE`.
fn columns_and_query(
    tokens: &[TokenWithSpan],
    table: usize,
) -> Option<(RangeInclusive<usize>, Range<usize>, RangeInclusive<usize>)> {
    let mut at = table;
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
    let as_word = (close..tokens.len()).find(|at| is_word(&tokens[*at], "AS"))?;
    let query = after(tokens, as_word)?;
    let end = last(tokens).filter(|end| *end >= query)?;
    Some((open..=close, close + 1..as_word, query..=end))
}
