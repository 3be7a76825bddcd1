//! `x BETWEEN SYMMETRIC a AND b`, which the parser does not know. Before parsing, a call marks the lower bound; after
//! parsing, the marked condition becomes two, one for each order of the bounds.
//!
//! Waits for [#2522](https://github.com/apache/datafusion-sqlparser-rs/pull/2522) of the parser.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// The name of the call. No statement can write it.
pub(crate) const MARK: &str = "\u{1}symmetric";

/// Marks the lower bounds of `BETWEEN SYMMETRIC`, and removes `ASYMMETRIC`.
pub(crate) fn mark_symmetric(tokens: &mut Vec<TokenWithSpan>) {
    for between in (0..tokens.len()).rev() {
        if keyword(&tokens[between]) != Some(Keyword::BETWEEN) {
            continue;
        }
        let next = tokens[between + 1..].iter().position(|token| !matches!(token.token, Token::Whitespace(_)));
        let Some(word) = next.map(|skipped| between + 1 + skipped) else { continue };
        let is = |wanted: &str| match &tokens[word].token {
            Token::Word(word) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted),
            _ => false,
        };
        if is("ASYMMETRIC") {
            tokens[word].token = Token::Whitespace(Whitespace::Space);
        } else if is("SYMMETRIC")
            && let Some(end) = end_of_bound(tokens, word + 1)
        {
            let span = tokens[word].span;
            tokens[word].token = Token::make_word(MARK, Some('"'));
            tokens.insert(end, TokenWithSpan::new(Token::RParen, span));
            tokens.insert(word + 1, TokenWithSpan::new(Token::LParen, span));
        }
    }
}

fn keyword(token: &TokenWithSpan) -> Option<Keyword> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

/// The position of the AND after a lower bound.
fn end_of_bound(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match (&token.token, keyword(token)) {
            (Token::LParen | Token::LBracket, _) | (_, Some(Keyword::CASE)) => depth += 1,
            (Token::RParen | Token::RBracket, _) | (_, Some(Keyword::END)) => depth = depth.checked_sub(1)?,
            (_, Some(Keyword::AND)) if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// Turns a marked condition into one for either order of its bounds.
pub(crate) fn either_order(expr: &mut Expr) {
    let Expr::Between { expr: value, negated, low, high } = &*expr else { return };
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = low.as_ref() else { return };
    let is_marked = name.0.last().and_then(|part| part.as_ident()).is_some_and(|name| name.value == MARK);
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(low))] = list.args.as_slice() else { return };
    if !is_marked {
        return;
    }
    let between = |low: &Expr, high: &Expr| {
        Box::new(Expr::Between {
            expr: value.clone(),
            negated: false,
            low: Box::new(Expr::Nested(Box::new(low.clone()))),
            high: Box::new(Expr::Nested(Box::new(high.clone()))),
        })
    };
    let either = Expr::BinaryOp {
        left: between(low, high.as_ref()),
        op: BinaryOperator::Or,
        right: between(high.as_ref(), low),
    };
    let either = Expr::Nested(Box::new(either));
    *expr = match *negated {
        true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(either) },
        false => either,
    };
}
