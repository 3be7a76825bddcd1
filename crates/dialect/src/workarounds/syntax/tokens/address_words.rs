//! Operators of network addresses and of full-text search: `<<=`, `>>=` and `<->` are one operator each, which the
//! tokenizer cuts in two.
//!
//! No upstream issue known.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Joins `<<` and `=` where nothing is between them, `>>` and `=`, and `<` and `->`.
pub(crate) fn join_operators(tokens: &mut Vec<TokenWithSpan>) {
    let mut joined: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in std::mem::take(tokens) {
        match joined.last_mut() {
            Some(last) if last.token == Token::ShiftLeft && token.token == Token::Eq => {
                last.token = Token::CustomBinaryOperator("<<=".to_owned());
            }
            Some(last) if last.token == Token::ShiftRight && token.token == Token::Eq => {
                last.token = Token::CustomBinaryOperator(">>=".to_owned());
            }
            Some(last) if last.token == Token::Lt && token.token == Token::Arrow => {
                last.token = Token::CustomBinaryOperator("<->".to_owned());
            }
            _ => joined.push(token),
        }
    }
    *tokens = joined;
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    #[test]
    fn operators_are_whole() {
        for (text, expected) in [
            ("a <<= x", vec!["a", "<<=", "x"]),
            ("a << b", vec!["a", "<<", "b"]),
            ("a <-> b", vec!["a", "<->", "b"]),
            ("a < -b", vec!["a", "<", "-", "b"]),
        ] {
            let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
            join_operators(&mut tokens);
            let written: Vec<String> = tokens.iter().map(|token| token.to_string()).collect();
            assert_eq!(written.iter().filter(|token| *token != " ").collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
