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
    for at in (0..tokens.len()).rev() {
        let Token::Word(word) = &tokens[at].token else { continue };
        if word.quote_style.is_some() || AddressType::of_name(&word.value).is_none() || follows_cast(tokens, at) {
            continue;
        }
        let is_space = |token: &&TokenWithSpan| matches!(token.token, Token::Whitespace(_));
        let text = at + 1 + tokens[at + 1..].iter().take_while(is_space).count();
        if matches!(tokens.get(text), Some(TokenWithSpan { token: Token::SingleQuotedString(_), .. })) {
            let (word, span) = (tokens[at].clone(), tokens[at].span);
            let literal = tokens[text].clone();
            tokens.splice(at..=text, [literal, TokenWithSpan::new(Token::DoubleColon, span), word]);
        }
    }
}

/// Whether the token before this one is `::`.
fn follows_cast(tokens: &[TokenWithSpan], at: usize) -> bool {
    at > 0 && tokens[at - 1].token == Token::DoubleColon
}

/// Joins `<<` and `=` where nothing is between them, and `>>` and `=`.
fn join_operators(tokens: &mut Vec<TokenWithSpan>) {
    for at in (1..tokens.len()).rev() {
        let operator = match (&tokens[at - 1].token, &tokens[at].token) {
            (Token::ShiftLeft, Token::Eq) => "<<=",
            (Token::ShiftRight, Token::Eq) => ">>=",
            _ => continue,
        };
        tokens[at - 1].token = Token::CustomBinaryOperator(operator.to_owned());
        tokens.remove(at);
    }
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
