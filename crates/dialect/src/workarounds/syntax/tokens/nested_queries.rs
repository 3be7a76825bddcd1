//! `((SELECT 1) UNION SELECT 2)` as a value. The parser takes what begins with two parentheses for an expression, so
//! the first query becomes a subquery: `(SELECT * FROM (SELECT 1) UNION SELECT 2)`. After `IN` it takes them for a
//! query, so the first value of `IN ((SELECT 1), 2)` becomes `CASE WHEN TRUE THEN (SELECT 1) END`.
//!
//! No upstream issue known.

use super::operand_names::precedes_operand;
use super::words::{TokenReplacement, after, before, begins_query, is_any_word, is_word, replace};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Words between two queries.
const SET_OPERATORS: [&str; 3] = ["UNION", "INTERSECT", "EXCEPT"];

/// Words before such a query that is no value.
const BEFORE_QUERIES: [&str; 3] = ["FROM", "ALL", "DISTINCT"];

/// Writes `SELECT * FROM` before the first query in such parentheses, and `CASE` around that of a list.
pub(crate) fn name_first_queries(tokens: &mut Vec<TokenWithSpan>) {
    let mut written: Vec<TokenReplacement> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let space = Token::Whitespace(Whitespace::Space);
    for at in 0..tokens.len() {
        match tokens[at].token {
            Token::LParen => open.push(at),
            Token::RParen => {
                let Some(first) = open.pop() else { continue };
                let span = tokens[first].span;
                let mut write = |place: usize, words: &[Token]| {
                    let words = words.iter().map(|token| TokenWithSpan::new(token.clone(), span)).collect();
                    written.push((place..place, words));
                };
                if is_first_query(tokens, first, at) {
                    let [select, from] = ["SELECT", "FROM"].map(Token::make_keyword);
                    write(first, &[select, space.clone(), Token::Mul, space.clone(), from, space.clone()]);
                } else if is_first_of_list(tokens, first, at) {
                    let [case, when, always, then, end] =
                        ["CASE", "WHEN", "TRUE", "THEN", "END"].map(Token::make_keyword);
                    let words = [case, space.clone(), when, space.clone(), always, space.clone(), then, space.clone()];
                    write(first, &words);
                    write(at + 1, &[space.clone(), end]);
                }
            }
            _ => {}
        }
    }
    written.sort_by_key(|(place, _)| place.start);
    replace(tokens, written);
}

/// Returns whether two parentheses are around the first query of a set operation that stands as an operand.
fn is_first_query(tokens: &[TokenWithSpan], open: usize, close: usize) -> bool {
    let is_operator = |at: usize| is_any_word(&tokens[at], &SET_OPERATORS);
    let Some(outer) = before(tokens, open).filter(|outer| tokens[*outer].token == Token::LParen) else { return false };
    let is_operand = before(tokens, outer).is_some_and(|at| {
        let precedes_query = is_any_word(&tokens[at], &BEFORE_QUERIES);
        precedes_operand(&tokens[at].token) && tokens[at].token != Token::LParen && !precedes_query && !is_operator(at)
    });
    let mut inner = after(tokens, open);
    while let Some(at) = inner.filter(|at| tokens[*at].token == Token::LParen) {
        inner = after(tokens, at);
    }
    let is_query = inner.is_some_and(|at| begins_query(&tokens[at]));
    is_operand && is_query && after(tokens, close).is_some_and(is_operator)
}

/// Returns whether two parentheses are around a query that is the first of several values after `IN`.
fn is_first_of_list(tokens: &[TokenWithSpan], open: usize, close: usize) -> bool {
    let outer = before(tokens, open).filter(|outer| tokens[*outer].token == Token::LParen);
    let is_listed = outer.and_then(|outer| before(tokens, outer)).is_some_and(|at| is_word(&tokens[at], "IN"));
    let is_query = after(tokens, open).is_some_and(|at| begins_query(&tokens[at]));
    is_listed && is_query && after(tokens, close).is_some_and(|at| tokens[at].token == Token::Comma)
}
