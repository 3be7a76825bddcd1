//! `concat(VARIADIC x)`. The parser does not know the word, so `x` gets parentheses, and the word becomes the name of a
//! function, which [`variadic`](crate::workarounds::syntax::forms::variadic) replaces.
//!
//! No upstream issue known.

use super::words::{TokenReplacement, after, before, is_word, replace};
use datafusion::sql::sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Puts parentheses around the last arguments that are arrays of arguments.
pub(crate) fn open_variadic(tokens: &mut Vec<TokenWithSpan>) {
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut parentheses: Vec<TokenReplacement> = Vec::new();
    for at in 0..tokens.len() {
        match tokens[at].token {
            Token::LParen => open.push(None),
            Token::RParen => {
                if let Some(Some(first)) = open.pop() {
                    let written = |token: Token, at: usize| vec![TokenWithSpan::new(token, tokens[at].span)];
                    parentheses.push((first..first, written(Token::LParen, first)));
                    parentheses.push((at..at, written(Token::RParen, at)));
                }
            }
            _ if is_word(&tokens[at], "VARIADIC") && is_argument(tokens, at) => {
                if let Some(innermost) = open.last_mut() {
                    *innermost = after(tokens, at);
                }
            }
            _ => {}
        }
    }
    parentheses.sort_by_key(|(place, _)| place.start);
    replace(tokens, parentheses);
}

/// Returns whether a word stands where an argument begins, and an argument follows it.
fn is_argument(tokens: &[TokenWithSpan], at: usize) -> bool {
    let begins = before(tokens, at).is_some_and(|token| matches!(tokens[token].token, Token::LParen | Token::Comma));
    let ends = |token: &Token| matches!(token, Token::RParen | Token::Comma | Token::Period);
    begins && after(tokens, at).is_some_and(|token| !ends(&tokens[token].token))
}

/// The array of an argument that was written with `VARIADIC`.
pub(crate) fn array_in(argument: &Expr) -> Option<&Expr> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = argument else { return None };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(array))] if name.to_string().eq_ignore_ascii_case("variadic") => {
            Some(array)
        }
        _ => None,
    }
}
