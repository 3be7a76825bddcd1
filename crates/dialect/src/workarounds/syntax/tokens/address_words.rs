//! Words and operators of network addresses: `inet '10.0.0.1'` is a cast, because the parser knows such literals of its
//! own types alone; `<<=` and `>>=` are one operator each, which the tokenizer cuts in two.
//!
//! No upstream issue known.

use crate::functions::base::text_types::AddressType;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Rewrites both.
pub(crate) fn write_addresses(tokens: &mut Vec<TokenWithSpan>) {
    write_casts(tokens);
    join_operators(tokens);
}

/// Writes `inet 'x'` as `'x'::inet`.
fn write_casts(tokens: &mut Vec<TokenWithSpan>) {
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = std::mem::take(tokens).into_iter();
    while let Some(token) = rest.next() {
        let follows_cast = written.last().is_some_and(|last| last.token == Token::DoubleColon);
        let text = if is_type(&token.token) && !follows_cast { position_of_text(rest.as_slice()) } else { None };
        match text.and_then(|position| rest.nth(position)) {
            Some(literal) => {
                let cast = TokenWithSpan::new(Token::DoubleColon, token.span);
                written.extend([literal, cast, token]);
            }
            None => written.push(token),
        }
    }
    *tokens = written;
}

/// Whether it is the name of a type of addresses.
fn is_type(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_none() && AddressType::of_name(&word.value).is_some(),
        _ => false,
    }
}

/// The position of the text that some tokens begin with, after blanks.
fn position_of_text(tokens: &[TokenWithSpan]) -> Option<usize> {
    let position = tokens.iter().position(|token| !matches!(token.token, Token::Whitespace(_)))?;
    matches!(tokens.get(position)?.token, Token::SingleQuotedString(_)).then_some(position)
}

/// Joins `<<` and `=` where nothing is between them, and `>>` and `=`.
fn join_operators(tokens: &mut Vec<TokenWithSpan>) {
    let mut joined: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in std::mem::take(tokens) {
        match joined.last_mut() {
            Some(last) if last.token == Token::ShiftLeft && token.token == Token::Eq => {
                last.token = Token::CustomBinaryOperator("<<=".to_owned());
            }
            Some(last) if last.token == Token::ShiftRight && token.token == Token::Eq => {
                last.token = Token::CustomBinaryOperator(">>=".to_owned());
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
    fn literals_are_casts_and_operators_are_whole() {
        for (text, expected) in [
            ("inet '10/8' <<= x", "'10/8'::inet <<= x"),
            ("a::inet >>= CIDR'::1'", "a::inet >>= '::1'::CIDR"),
            ("inet, \"inet\" 'x', a << b", "inet, \"inet\" 'x', a << b"),
        ] {
            let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
            write_addresses(&mut tokens);
            let written: String = tokens.iter().map(|token| token.to_string()).collect();
            assert_eq!(written, expected, "{text}");
        }
    }
}
