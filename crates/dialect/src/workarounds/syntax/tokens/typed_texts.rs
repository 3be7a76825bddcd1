//! `inet '10.0.0.1'`, `int4range '[1,5)'` and `name 'a'` are casts, because the parser knows such literals of its own
//! types alone.
//!
//! No upstream issue known.

use super::words::{TokenReplacement, before, replace};
use crate::functions::base::text_types::{AddressType, RangeType, SearchType};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Types whose literals the parser does not know, other than those of network addresses, ranges and full-text search.
const OTHER_TYPES: [&str; 3] = ["bpchar", "name", "oid"];

/// Writes `inet 'x'` as `'x'::inet`.
pub(crate) fn write_casts(tokens: &mut Vec<TokenWithSpan>) {
    let mut written: Vec<TokenReplacement> = Vec::new();
    for at in 0..tokens.len() {
        if matches!(tokens[at].token, Token::SingleQuotedString(_))
            && let Some(name) = before(tokens, at).filter(|name| is_type(&tokens[*name].token))
            && !is_part(tokens, name)
        {
            let cast = TokenWithSpan::new(Token::DoubleColon, tokens[name].span);
            written.push((name..at + 1, vec![tokens[at].clone(), cast, tokens[name].clone()]));
        }
    }
    replace(tokens, written);
}

/// Returns whether a word is part of a cast or of a longer name.
fn is_part(tokens: &[TokenWithSpan], word: usize) -> bool {
    word.checked_sub(1).is_some_and(|last| matches!(tokens[last].token, Token::DoubleColon | Token::Period))
}

/// Returns whether a token is the name of a type whose literals become casts.
fn is_type(token: &Token) -> bool {
    match token {
        Token::Word(word) if word.quote_style.is_none() => {
            AddressType::of_name(&word.value).is_some()
                || RangeType::of_name(&word.value).is_some()
                || SearchType::of_name(&word.value).is_some()
                || OTHER_TYPES.iter().any(|name| name.eq_ignore_ascii_case(&word.value))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    #[test]
    fn literals_are_casts() {
        for (text, expected) in [
            ("inet '10/8' << x", "'10/8'::inet << x"),
            ("a::inet = CIDR'::1'", "a::inet = '::1'::CIDR"),
            ("int4range '[1,5)' @> 3", "'[1,5)'::int4range @> 3"),
            ("tsvector 'a' @@ TSQuery 'a'", "'a'::tsvector @@ 'a'::TSQuery"),
            ("name 'a' = Oid '1'", "'a'::name = '1'::Oid"),
            ("inet, \"inet\" 'x', a::name 'b', t.name 'c'", "inet, \"inet\" 'x', a::name 'b', t.name 'c'"),
        ] {
            let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
            write_casts(&mut tokens);
            let written: String = tokens.iter().map(|token| token.to_string()).collect();
            assert_eq!(written, expected, "{text}");
        }
    }
}
