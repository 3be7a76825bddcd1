//! `GROUPING SETS` inside of `GROUPING SETS`, which the parser does not know: `GROUPING SETS (GROUPING SETS (a, b), c)`
//! has the sets `a`, `b` and `c`.
//!
//! No upstream issue known.

use super::words::{before, blank, is_word};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The contents of an open parenthesis.
#[derive(Clone, Copy, PartialEq)]
enum Parenthesis {
    Sets,
    /// Sets that have become sets of the list around them.
    InnerSets,
    Others,
}

/// Makes the sets of an inner list sets of the list around it.
pub(crate) fn flatten_sets(tokens: &mut [TokenWithSpan]) {
    let mut open: Vec<Parenthesis> = Vec::new();
    for at in 0..tokens.len() {
        match tokens[at].token {
            Token::LParen => {
                let words = words_of_sets(tokens, at);
                let is_inside = !matches!(open.last(), None | Some(Parenthesis::Others));
                open.push(match words {
                    Some(words) if is_inside => {
                        words.into_iter().chain([at]).for_each(|at| blank(&mut tokens[at]));
                        Parenthesis::InnerSets
                    }
                    Some(_) => Parenthesis::Sets,
                    None => Parenthesis::Others,
                });
            }
            Token::RParen => {
                let closed = open.pop();
                if closed == Some(Parenthesis::InnerSets) {
                    blank(&mut tokens[at]);
                }
            }
            _ => {}
        }
    }
}

/// The words `GROUPING SETS` before a parenthesis.
fn words_of_sets(tokens: &[TokenWithSpan], open: usize) -> Option<[usize; 2]> {
    let sets = before(tokens, open).filter(|at| is_word(&tokens[*at], "SETS"))?;
    let grouping = before(tokens, sets).filter(|at| is_word(&tokens[*at], "GROUPING"))?;
    Some([grouping, sets])
}
