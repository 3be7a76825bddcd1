//! Operators of network addresses, ranges and full-text search, such as `<<=` and `-|-`: each is one operator, which
//! the tokenizer cuts in pieces.
//!
//! No upstream issue known.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The operators that are joined.
pub(crate) const JOINED: [&str; 6] = ["<<=", ">>=", "<->", "&<", "&>", "-|-"];

/// Joins the pieces of an operator where nothing is between them.
pub(crate) fn join_operators(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(is_of_joined) {
        return;
    }
    let mut joined: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in std::mem::take(tokens) {
        let (operator, pieces_before) = match (joined.as_slice(), &token.token) {
            ([.., last], Token::Eq) if last.token == Token::ShiftLeft => ("<<=", 1),
            ([.., last], Token::Eq) if last.token == Token::ShiftRight => (">>=", 1),
            ([.., last], Token::Arrow) if last.token == Token::Lt => ("<->", 1),
            ([.., last], Token::Lt) if last.token == Token::Ampersand => ("&<", 1),
            ([.., last], Token::Gt) if last.token == Token::Ampersand => ("&>", 1),
            ([.., first, last], Token::Minus) if first.token == Token::Minus && last.token == Token::Pipe => ("-|-", 2),
            _ => {
                joined.push(token);
                continue;
            }
        };
        joined.truncate(joined.len() + 1 - pieces_before);
        if let Some(last) = joined.last_mut() {
            last.token = Token::CustomBinaryOperator(operator.to_owned());
        }
    }
    *tokens = joined;
}

/// Returns whether a token is a piece of such an operator. Each of them has one of these pieces; few statements do.
fn is_of_joined(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::ShiftLeft | Token::ShiftRight | Token::Arrow | Token::Ampersand | Token::Pipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    fn joined(text: &str) -> Vec<String> {
        let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
        join_operators(&mut tokens);
        tokens.iter().map(|token| token.to_string()).filter(|token| token != " ").collect()
    }

    #[test]
    fn operators_are_whole() {
        for operator in JOINED {
            assert_eq!(joined(&format!("a {operator} b")), ["a", operator, "b"]);
            assert_eq!(joined(&format!("a{operator}b")), ["a", operator, "b"]);
        }
        for (text, expected) in [
            ("a << b", vec!["a", "<<", "b"]),
            ("a < -b", vec!["a", "<", "-", "b"]),
            ("a & b - c | -d", vec!["a", "&", "b", "-", "c", "|", "-", "d"]),
        ] {
            assert_eq!(joined(text), expected, "{text}");
        }
    }
}
