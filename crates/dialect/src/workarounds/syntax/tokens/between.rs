//! `x BETWEEN SYMMETRIC a AND b`, which the parser does not know. Before parsing, a call marks the lower bound; after
//! parsing, the marked condition becomes two, one for each order of the bounds.
//!
//! Waits for [#2522](https://github.com/apache/datafusion-sqlparser-rs/pull/2522) of the parser.

use super::words::{TokenReplacement, after, blank, is_word, replace};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use std::fmt::{Display, Formatter};

/// The name of the call. No statement can write it.
pub(crate) const MARK: &str = "\u{1}symmetric";

/// Marks the lower bounds of `BETWEEN SYMMETRIC`, and removes `ASYMMETRIC`. A bound ends with the next `AND` that is as
/// deep as it, in parentheses, brackets and `CASE`s; the innermost bound comes first.
pub(crate) fn mark_symmetric(tokens: &mut Vec<TokenWithSpan>) {
    let mut depth = 0_usize;
    // The bounds without an end, each with its depth and the position of its `SYMMETRIC`.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut marks: Vec<TokenReplacement> = Vec::new();
    for at in 0..tokens.len() {
        match (&tokens[at].token, keyword(&tokens[at])) {
            (Token::LParen | Token::LBracket, _) | (_, Some(Keyword::CASE)) => depth += 1,
            (Token::RParen | Token::RBracket, _) | (_, Some(Keyword::END)) => {
                while open.pop_if(|(of_bound, _)| *of_bound == depth).is_some() {}
                depth = depth.saturating_sub(1);
            }
            (_, Some(Keyword::AND)) => {
                if let Some((_, word)) = open.pop_if(|(of_bound, _)| *of_bound == depth) {
                    let span = tokens[word].span;
                    let token = |token| TokenWithSpan::new(token, span);
                    let opening = vec![token(Token::make_word(MARK, Some('"'))), token(Token::LParen)];
                    marks.extend([(word..word + 1, opening), (at..at, vec![token(Token::RParen)])]);
                }
            }
            (_, Some(Keyword::BETWEEN)) => {
                let Some(word) = after(tokens, at) else { continue };
                if is_word(&tokens[word], "ASYMMETRIC") {
                    blank(&mut tokens[word]);
                } else if is_word(&tokens[word], "SYMMETRIC") {
                    open.push((depth, word));
                }
            }
            _ => {}
        }
    }
    marks.sort_by_key(|(place, _)| place.start);
    replace(tokens, marks);
}

fn keyword(token: &TokenWithSpan) -> Option<Keyword> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

/// The parts of `value [NOT] BETWEEN SYMMETRIC low AND high`.
pub(crate) struct SymmetricBetween<'a> {
    value: &'a Expr,
    negated: bool,
    low: &'a Expr,
    high: &'a Expr,
}

impl<'a> SymmetricBetween<'a> {
    /// The parts of a marked condition.
    pub(crate) fn of(expr: &'a Expr) -> Option<Self> {
        let Expr::Between { expr: value, negated, low, high } = expr else { return None };
        let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = low.as_ref() else {
            return None;
        };
        let is_marked = name.0.last().and_then(|part| part.as_ident()).is_some_and(|name| name.value == MARK);
        match list.args.as_slice() {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(low))] if is_marked => {
                Some(Self { value: value.as_ref(), negated: *negated, low, high: high.as_ref() })
            }
            _ => None,
        }
    }
}

impl Display for SymmetricBetween<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let not = if self.negated { "NOT " } else { "" };
        write!(formatter, "{} {not}BETWEEN SYMMETRIC {} AND {}", self.value, self.low, self.high)
    }
}

/// Turns a marked condition into one for either order of its bounds.
pub(crate) fn either_order(expr: &mut Expr) {
    let Some(SymmetricBetween { value, negated, low, high }) = SymmetricBetween::of(expr) else { return };
    let between = |low: &Expr, high: &Expr| {
        Box::new(Expr::Between {
            expr: Box::new(value.clone()),
            negated: false,
            low: Box::new(Expr::Nested(Box::new(low.clone()))),
            high: Box::new(Expr::Nested(Box::new(high.clone()))),
        })
    };
    let either = Expr::BinaryOp { left: between(low, high), op: BinaryOperator::Or, right: between(high, low) };
    let either = Expr::Nested(Box::new(either));
    *expr = match negated {
        true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(either) },
        false => either,
    };
}

#[cfg(test)]
mod tests {
    use super::{MARK, mark_symmetric};
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    fn marked(text: &str) -> String {
        let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
        mark_symmetric(&mut tokens);
        tokens.iter().map(|token| token.token.to_string()).collect()
    }

    #[test]
    fn a_bound_ends_with_the_and_as_deep_as_it() {
        for (text, expected) in [
            ("x BETWEEN SYMMETRIC a AND b AND c", "x BETWEEN M( a )AND b AND c"),
            (
                "x BETWEEN SYMMETRIC (y BETWEEN SYMMETRIC 1 AND 2) AND CASE WHEN a AND b THEN 1 END",
                "x BETWEEN M( (y BETWEEN M( 1 )AND 2) )AND CASE WHEN a AND b THEN 1 END",
            ),
            (
                "x BETWEEN SYMMETRIC CASE WHEN a AND b THEN 1 END AND 2",
                "x BETWEEN M( CASE WHEN a AND b THEN 1 END )AND 2",
            ),
            ("x BETWEEN SYMMETRIC y BETWEEN SYMMETRIC 1 AND 2 AND 3", "x BETWEEN M( y BETWEEN M( 1 )AND 2 )AND 3"),
            ("(x BETWEEN SYMMETRIC a) AND b", "(x BETWEEN SYMMETRIC a) AND b"),
            ("x BETWEEN SYMMETRIC a", "x BETWEEN SYMMETRIC a"),
        ] {
            assert_eq!(marked(text), expected.replace("M(", &format!("\"{MARK}\"(")), "{text}");
        }
        assert_eq!(marked("x BETWEEN ASYMMETRIC a AND b"), "x BETWEEN   a AND b");
    }
}
