//! `INT ARRAY` and `VARCHAR(20) ARRAY[4]`, the standard's names of array types, as `INT []` and `VARCHAR(20) []`. The
//! parser knows the word in `CAST(x AS INT ARRAY)` alone, and takes the one in `x::INT ARRAY` for an alias. The length
//! means nothing, as in PostgreSQL.
//!
//! No upstream issue known.

use super::words::{TokenReplacement, after, before, is_word, replace};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The last words of types of elements.
const TYPES: [&str; 31] = [
    "BIGINT",
    "BOOL",
    "BOOLEAN",
    "BYTEA",
    "CHAR",
    "CHARACTER",
    "DATE",
    "DEC",
    "DECIMAL",
    "FLOAT",
    "FLOAT4",
    "FLOAT8",
    "INT",
    "INT2",
    "INT4",
    "INT8",
    "INTEGER",
    "INTERVAL",
    "JSON",
    "JSONB",
    "NUMERIC",
    "PRECISION",
    "REAL",
    "SMALLINT",
    "TEXT",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "UUID",
    "VARCHAR",
    "VARYING",
];

/// Writes brackets in the place of the word.
pub(crate) fn write_brackets(tokens: &mut Vec<TokenWithSpan>) {
    let mut written: Vec<TokenReplacement> = Vec::new();
    for at in 0..tokens.len() {
        if is_word(&tokens[at], "ARRAY")
            && follows_type(tokens, at)
            && let Some(end) = end_of_type(tokens, at)
        {
            let brackets = [Token::LBracket, Token::RBracket];
            let span = tokens[at].span;
            written.push((at..end, brackets.into_iter().map(|token| TokenWithSpan::new(token, span)).collect()));
        }
    }
    replace(tokens, written);
}

/// Returns whether a type is before a word: its last word, its numbers in parentheses, or `WITH TIME ZONE`.
fn follows_type(tokens: &[TokenWithSpan], at: usize) -> bool {
    let Some(mut last) = before(tokens, at) else { return false };
    if tokens[last].token == Token::RParen {
        let is_length =
            |token: &Token| matches!(token, Token::Number(..) | Token::Comma | Token::Minus | Token::Whitespace(_));
        let open = tokens[..last].iter().rposition(|token| !is_length(&token.token));
        let open = open.filter(|open| tokens[*open].token == Token::LParen);
        let Some(name) = open.and_then(|open| before(tokens, open)) else { return false };
        last = name;
    }
    let is_zone = is_word(&tokens[last], "ZONE") && before(tokens, last).is_some_and(|at| is_word(&tokens[at], "TIME"));
    is_zone || TYPES.iter().any(|name| is_word(&tokens[last], name))
}

/// The end of the word and of the length behind it; `None` of an array with elements, as in `ARRAY[1, 2]`.
fn end_of_type(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let Some(open) = after(tokens, at) else { return Some(at + 1) };
    match tokens[open].token {
        Token::LParen => None,
        Token::LBracket => {
            let length = after(tokens, open).filter(|length| matches!(tokens[*length].token, Token::Number(..)))?;
            let close = after(tokens, length).filter(|close| tokens[*close].token == Token::RBracket)?;
            Some(close + 1)
        }
        _ => Some(at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    #[test]
    fn the_word_behind_a_type_is_one_of_the_type() {
        for (text, expected) in [
            ("x::int array, y", "x::int [], y"),
            ("(a NUMERIC(3, -2) ARRAY)", "(a NUMERIC(3, -2) [])"),
            ("CAST(x AS varchar(20) ARRAY[4])", "CAST(x AS varchar(20) [])"),
            ("(a NUMERIC(10, 2) ARRAY, b TEXT)", "(a NUMERIC(10, 2) [], b TEXT)"),
            ("a timestamp(3) with time zone array NOT NULL", "a timestamp(3) with time zone [] NOT NULL"),
            ("a double precision ARRAY", "a double precision []"),
            ("SELECT ARRAY[1], array(SELECT 1), max(x) array", "SELECT ARRAY[1], array(SELECT 1), max(x) array"),
            ("date(x) array, text(1, x) array", "date(x) array, text(1, x) array"),
            ("text = ARRAY[1] OR text ARRAY['a']", "text = ARRAY[1] OR text ARRAY['a']"),
        ] {
            let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
            write_brackets(&mut tokens);
            let written: String = tokens.iter().map(|token| token.token.to_string()).collect();
            assert_eq!(written, expected, "{text}");
        }
    }
}
