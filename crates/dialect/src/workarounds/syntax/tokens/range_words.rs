//! Operators of ranges: `&<`, `&>` and `-|-` are one operator each, which the tokenizer cuts into its characters.
//!
//! No upstream issue known.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Joins the characters of an operator where nothing is between them.
pub(crate) fn join_operators(tokens: &mut Vec<TokenWithSpan>) {
    let mut joined: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in std::mem::take(tokens) {
        joined.push(token);
        let (operator, length) = match joined.as_slice() {
            [.., first, second] if first.token == Token::Ampersand && second.token == Token::Lt => ("&<", 2),
            [.., first, second] if first.token == Token::Ampersand && second.token == Token::Gt => ("&>", 2),
            [.., first, second, third]
                if first.token == Token::Minus && second.token == Token::Pipe && third.token == Token::Minus =>
            {
                ("-|-", 3)
            }
            _ => continue,
        };
        joined.truncate(joined.len() - (length - 1));
        if let Some(last) = joined.last_mut() {
            last.token = Token::CustomBinaryOperator(operator.to_owned());
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
            ("a &< b", vec!["a", "&<", "b"]),
            ("a&>b", vec!["a", "&>", "b"]),
            ("a -|- b", vec!["a", "-|-", "b"]),
            ("a-|-b", vec!["a", "-|-", "b"]),
            ("a & b - c | -d", vec!["a", "&", "b", "-", "c", "|", "-", "d"]),
        ] {
            let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
            join_operators(&mut tokens);
            let written: Vec<String> = tokens.iter().map(|token| token.to_string()).collect();
            assert_eq!(written.iter().filter(|token| *token != " ").collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
