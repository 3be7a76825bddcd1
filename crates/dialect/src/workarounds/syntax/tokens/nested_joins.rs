//! `a JOIN b JOIN c ON b.x = c.x ON a.x = b.x`: the second condition belongs to the first join, whose right side is the
//! join of `b` and `c`. The parser takes such joins from left to right and stops at the second condition. So the right
//! side is written in parentheses: `a JOIN (b JOIN c ON b.x = c.x) ON a.x = b.x`.
//!
//! No upstream issue known.

use super::words::{TokenReplacement, after, before, is_any_word, is_word, replace};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Words between `JOIN` and `NATURAL`.
const TYPES: [&str; 7] = ["ANTI", "FULL", "INNER", "LEFT", "OUTER", "RIGHT", "SEMI"];

/// A join whose condition has not been read.
struct OpenJoin {
    /// The first token of its right side.
    side: usize,
    /// Whether other joins follow before its condition, and belong to its right side.
    has_joins: bool,
}

/// Writes parentheses around the right sides that are joins.
pub(crate) fn enclose_nested_joins(tokens: &mut Vec<TokenWithSpan>) {
    let mut written: Vec<TokenReplacement> = Vec::new();
    // Those in each pair of parentheses around the token.
    let mut open: Vec<Vec<OpenJoin>> = vec![Vec::new()];
    for at in 0..tokens.len() {
        match tokens[at].token {
            Token::LParen => open.push(Vec::new()),
            Token::RParen => drop(open.pop()),
            Token::SemiColon => open = vec![Vec::new()],
            _ => {}
        }
        let Some(joins) = open.last_mut() else { continue };
        if is_word(&tokens[at], "JOIN") {
            if let Some(outer) = joins.last_mut() {
                outer.has_joins = true;
            }
            if let Some(side) = after(tokens, at).filter(|_| takes_condition(tokens, at)) {
                joins.push(OpenJoin { side, has_joins: false });
            }
        } else if (is_word(&tokens[at], "ON") || is_word(&tokens[at], "USING"))
            && let Some(OpenJoin { side, has_joins: true }) = joins.pop()
        {
            let parenthesis = |token: Token, at: usize| (at..at, vec![TokenWithSpan::new(token, tokens[at].span)]);
            written.extend([parenthesis(Token::LParen, side), parenthesis(Token::RParen, at)]);
        }
    }
    written.sort_by_key(|(place, _)| place.start);
    replace(tokens, written);
}

/// Returns whether a word `JOIN` begins a join with a condition: neither `CROSS` nor `NATURAL` is before it.
fn takes_condition(tokens: &[TokenWithSpan], join: usize) -> bool {
    let mut first = before(tokens, join);
    while let Some(at) = first.filter(|at| is_any_word(&tokens[*at], &TYPES)) {
        first = before(tokens, at);
    }
    !first.is_some_and(|at| is_word(&tokens[at], "CROSS") || is_word(&tokens[at], "NATURAL"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    #[test]
    fn each_condition_belongs_to_the_nearest_join_without_one() {
        for (text, expected) in [
            ("a JOIN b ON x JOIN c ON y", "a JOIN b ON x JOIN c ON y"),
            ("a JOIN b JOIN c ON x ON y", "a JOIN (b JOIN c ON x )ON y"),
            ("a left join b JOIN c JOIN d ON x USING (y) ON z", "a left join (b JOIN (c JOIN d ON x )USING (y) )ON z"),
            ("a JOIN b JOIN c ON x JOIN d ON y ON z", "a JOIN (b JOIN c ON x JOIN d ON y )ON z"),
            ("a JOIN b CROSS JOIN c ON x", "a JOIN (b CROSS JOIN c )ON x"),
            ("a CROSS JOIN b LEFT JOIN c ON x", "a CROSS JOIN b LEFT JOIN c ON x"),
            ("a NATURAL LEFT JOIN b JOIN c ON x", "a NATURAL LEFT JOIN b JOIN c ON x"),
            ("a JOIN (b JOIN c ON x) ON y", "a JOIN (b JOIN c ON x) ON y"),
            (
                "a JOIN (SELECT DISTINCT ON (x) x FROM b JOIN c ON y) d ON z",
                "a JOIN (SELECT DISTINCT ON (x) x FROM b JOIN c ON y) d ON z",
            ),
        ] {
            let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
            enclose_nested_joins(&mut tokens);
            let written: String = tokens.iter().map(|token| token.token.to_string()).collect();
            assert_eq!(written, expected, "{text}");
        }
    }
}
