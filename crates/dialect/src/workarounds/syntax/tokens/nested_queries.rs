//! `((SELECT 1) UNION SELECT 2)` as a value. The parser takes what begins with two parentheses for an expression, so
//! the first query becomes a subquery: `(SELECT * FROM (SELECT 1) UNION SELECT 2)`.
//!
//! No upstream issue known.

use super::operand_names::precedes_operand;
use super::words::{TokenReplacement, after, before, begins_query, is_word, replace};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Words between two queries.
const SET_OPERATORS: [&str; 3] = ["UNION", "INTERSECT", "EXCEPT"];

/// Words before such a query that is no value.
const BEFORE_QUERIES: [&str; 3] = ["FROM", "ALL", "DISTINCT"];

/// Writes `SELECT * FROM` before the first query in such parentheses.
pub(crate) fn name_first_queries(tokens: &mut Vec<TokenWithSpan>) {
    let mut written: Vec<TokenReplacement> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for at in 0..tokens.len() {
        match tokens[at].token {
            Token::LParen => open.push(at),
            Token::RParen => {
                if let Some(first) = open.pop()
                    && is_first_query(tokens, first, at)
                {
                    let space = Token::Whitespace(Whitespace::Space);
                    let words = [
                        Token::make_keyword("SELECT"),
                        space.clone(),
                        Token::Mul,
                        space.clone(),
                        Token::make_keyword("FROM"),
                        space,
                    ];
                    let span = tokens[first].span;
                    let words = words.into_iter().map(|token| TokenWithSpan::new(token, span)).collect();
                    written.push((first..first, words));
                }
            }
            _ => {}
        }
    }
    written.sort_by_key(|(place, _)| place.start);
    replace(tokens, written);
}

/// Whether two parentheses are around the first query of a set operation that stands as an operand.
fn is_first_query(tokens: &[TokenWithSpan], open: usize, close: usize) -> bool {
    let is_operator = |at: usize| SET_OPERATORS.iter().any(|word| is_word(&tokens[at], word));
    let Some(outer) = before(tokens, open).filter(|outer| tokens[*outer].token == Token::LParen) else { return false };
    let is_operand = before(tokens, outer).is_some_and(|at| {
        let precedes_query = BEFORE_QUERIES.iter().any(|word| is_word(&tokens[at], word));
        precedes_operand(&tokens[at].token) && tokens[at].token != Token::LParen && !precedes_query && !is_operator(at)
    });
    let mut inner = after(tokens, open);
    while let Some(at) = inner.filter(|at| tokens[*at].token == Token::LParen) {
        inner = after(tokens, at);
    }
    let is_query = inner.is_some_and(|at| begins_query(&tokens[at]));
    is_operand && is_query && after(tokens, close).is_some_and(is_operator)
}
