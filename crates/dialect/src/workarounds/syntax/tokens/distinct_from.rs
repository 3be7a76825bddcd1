//! `a IS DISTINCT FROM b AND c`: the parser mistakes all of `b AND c` for the right side. So before parsing the words
//! become one operator, which binds like a comparison. After parsing the operator becomes the expression that the words
//! mean.
//!
//! Fixed upstream by the parser's pull request
//! [#2436](https://github.com/apache/datafusion-sqlparser-rs/pull/2436), which is not in DataFusion 55.2's sqlparser
//! 0.62.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

const DISTINCT: &str = "IS DISTINCT FROM";
const NOT_DISTINCT: &str = "IS NOT DISTINCT FROM";

/// Turns the words into operators.
pub(crate) fn words_to_operators(tokens: &mut [TokenWithSpan]) {
    for at in 0..tokens.len() {
        if let Some((operator, last)) = operator_at(tokens, at) {
            tokens[at].token = Token::CustomBinaryOperator(operator.to_owned());
            tokens[at + 1..=last].iter_mut().for_each(|token| token.token = Token::Whitespace(Whitespace::Space));
        }
    }
}

/// Turns an operator into the expression that the words mean.
pub(crate) fn operator_to_expression(expr: &mut Expr) {
    let operator = match expr {
        Expr::BinaryOp { op: BinaryOperator::Custom(name), .. } if name == DISTINCT => Expr::IsDistinctFrom,
        Expr::BinaryOp { op: BinaryOperator::Custom(name), .. } if name == NOT_DISTINCT => Expr::IsNotDistinctFrom,
        _ => return,
    };
    if let Expr::BinaryOp { left, right, .. } = std::mem::replace(expr, Expr::value(Value::Null)) {
        *expr = operator(left, right);
    }
}

/// The operator whose words begin at a position, and the position of its last word.
fn operator_at(tokens: &[TokenWithSpan], at: usize) -> Option<(&'static str, usize)> {
    let keyword = |token: &Token| match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    };
    if keyword(&tokens[at].token) != Some(Keyword::IS) {
        return None;
    }
    let words = tokens[at..].iter().enumerate().filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    let words: Vec<(usize, Option<Keyword>)> =
        words.map(|(offset, token)| (at + offset, keyword(&token.token))).take(4).collect();
    let (operator, rest) = match words.get(1)?.1 {
        Some(Keyword::NOT) => (NOT_DISTINCT, words.get(2..4)?),
        _ => (DISTINCT, words.get(1..3)?),
    };
    (rest[0].1 == Some(Keyword::DISTINCT) && rest[1].1 == Some(Keyword::FROM)).then_some((operator, rest[1].0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::statement::parse_declaring;
    use crate::text::source_position::SourcePosition;
    use datafusion::sql::sqlparser::ast::{SetExpr, Statement};

    #[test]
    fn what_follows_and_and_or_is_not_part_of_the_right_side() {
        let outer = |condition: &str| {
            let text = format!("SELECT 1 WHERE {condition}");
            let parsed =
                parse_declaring(&text, SourcePosition::START, &crate::text::params::Parameters::none()).unwrap();
            let Statement::Query(query) = parsed else { panic!("{text}") };
            let SetExpr::Select(select) = *query.body else { panic!("{text}") };
            select.selection.unwrap()
        };
        for text in ["a IS DISTINCT FROM b OR c", "a AND NOT b + 1 is not distinct from c OR d"] {
            assert!(matches!(outer(text), Expr::BinaryOp { op: BinaryOperator::Or, .. }), "{text}");
        }
        let Expr::IsDistinctFrom(left, right) = outer("a + x IS DISTINCT FROM b + y") else { panic!() };
        assert_eq!((left.to_string().as_str(), right.to_string().as_str()), ("a + x", "b + y"));
    }
}
