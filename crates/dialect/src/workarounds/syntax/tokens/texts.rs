//! Tokens that the parser reads differently from PostgreSQL: `x ISNULL` and `x NOTNULL` are tests, which the parser
//! takes for aliases; two texts with a newline between them are one, and an error on one line, where the parser takes
//! the second for an alias; letters directly after a number are an error, where the parser mistakes them for an alias;
//! `U&'\00e9'` is a text, which DataFusion does not plan; and so is `$$it's$$`, which the parser reads as an expression
//! only.
//!
//! [#1927](https://github.com/apache/datafusion-sqlparser-rs/pull/1927) (`NOTNULL`) and
//! [#2167](https://github.com/apache/datafusion-sqlparser-rs/pull/2167) (two texts) of the parser are for other
//! dialects; for the others no upstream issue is known.

use super::words::{TokenReplacement, before, is_word, replace};
use crate::text::errors::sql_error;
use atsdb_core::Result;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Keywords that an operand may follow. A word after one of them begins an operand.
const BEFORE_OPERANDS: [Keyword; 40] = [
    Keyword::ADD,
    Keyword::ALL,
    Keyword::AND,
    Keyword::ANY,
    Keyword::AS,
    Keyword::BETWEEN,
    Keyword::BY,
    Keyword::CASE,
    Keyword::COLUMN,
    Keyword::DISTINCT,
    Keyword::DROP,
    Keyword::ELSE,
    Keyword::EXISTS,
    Keyword::FILTER,
    Keyword::FROM,
    Keyword::HAVING,
    Keyword::ILIKE,
    Keyword::IN,
    Keyword::INTO,
    Keyword::IS,
    Keyword::JOIN,
    Keyword::LIKE,
    Keyword::LIMIT,
    Keyword::NOT,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::OR,
    Keyword::RENAME,
    Keyword::RETURNING,
    Keyword::SELECT,
    Keyword::SET,
    Keyword::SOME,
    Keyword::TABLE,
    Keyword::THEN,
    Keyword::TO,
    Keyword::UPDATE,
    Keyword::USING,
    Keyword::VIEW,
    Keyword::WHEN,
    Keyword::WHERE,
];

/// Writes `ISNULL` and `NOTNULL` after an operand as `IS NULL` and `IS NOT NULL`.
pub(crate) fn write_null_tests(tokens: &mut Vec<TokenWithSpan>) {
    let mut written: Vec<TokenReplacement> = Vec::new();
    for at in 0..tokens.len() {
        let test: &[&str] = if is_word(&tokens[at], "ISNULL") {
            &["IS", "NULL"]
        } else if is_word(&tokens[at], "NOTNULL") {
            &["IS", "NOT", "NULL"]
        } else {
            continue;
        };
        // A test is an operand itself.
        if before(tokens, at).is_some_and(|operand| ends_operand(&tokens[operand].token)) {
            let span = tokens[at].span;
            let words = test.iter().flat_map(|word| [Token::make_keyword(word), Token::Whitespace(Whitespace::Space)]);
            written.push((at..at + 1, words.map(|token| TokenWithSpan::new(token, span)).collect()));
        }
    }
    replace(tokens, written);
}

fn ends_operand(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_some() || !BEFORE_OPERANDS.contains(&word.keyword),
        Token::Number(..) | Token::Placeholder(_) | Token::RParen | Token::RBracket => true,
        Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) | Token::HexStringLiteral(_) => true,
        _ => false,
    }
}

/// Makes plain texts of those with escaped characters, `U&'\00e9'`, which the tokenizer has replaced already, and of
/// those between dollars.
pub(crate) fn write_plain_texts(tokens: &mut [TokenWithSpan]) {
    for TokenWithSpan { token, .. } in tokens {
        let text = match token {
            Token::UnicodeStringLiteral(text) => std::mem::take(text),
            Token::DollarQuotedString(quoted) => std::mem::take(&mut quoted.value),
            _ => continue,
        };
        *token = Token::SingleQuotedString(text);
    }
}

/// Joins texts that only a newline separates.
pub(crate) fn join_texts(tokens: &mut [TokenWithSpan]) -> Result<()> {
    let mut first: Option<usize> = None;
    let mut has_newline = false;
    for at in 0..tokens.len() {
        match &tokens[at].token {
            Token::Whitespace(Whitespace::Newline | Whitespace::SingleLineComment { .. }) => has_newline = true,
            Token::Whitespace(_) => {}
            Token::SingleQuotedString(text) => {
                match first {
                    Some(first) if has_newline => {
                        let text = text.clone();
                        if let Token::SingleQuotedString(joined) = &mut tokens[first].token {
                            joined.push_str(&text);
                        }
                        tokens[at].token = Token::Whitespace(Whitespace::Space);
                    }
                    Some(_) => {
                        return Err(sql_error(format!("the text '{text:.40}' follows another text"))
                            .with_hint("write || between them"));
                    }
                    None => first = Some(at),
                }
                has_newline = false;
            }
            _ => (first, has_newline) = (None, false),
        }
    }
    Ok(())
}

/// Refuses numbers such as `1_000` and `12abc`, because only their first digits would count.
pub(crate) fn refuse_letters_after_numbers(tokens: &[TokenWithSpan]) -> Result<()> {
    for pair in tokens.windows(2) {
        if let [TokenWithSpan { token: Token::Number(digits, _), .. }, TokenWithSpan { token: Token::Word(word), .. }] =
            pair
            && word.quote_style.is_none()
            // The operator of integers, which the tokenizer takes for a letter.
            && !word.value.starts_with('#')
        {
            return Err(sql_error(format!("letters or _ directly after a number: {digits}{word}"))
                .with_hint("write a space between them, or the digits alone"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workarounds::syntax::tokens::dialect::StatementDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    fn with_null_tests(text: &str) -> String {
        let mut tokens = Tokenizer::new(&StatementDialect::new(0), text).tokenize_with_location().unwrap();
        write_null_tests(&mut tokens);
        tokens.iter().map(|token| token.to_string()).collect()
    }

    #[test]
    fn tests_follow_operands() {
        for (text, expected) in [
            ("a ISNULL", "a IS NULL "),
            ("a ISNULL NotNull AND 1 isnull", "a IS NULL  IS NOT NULL  AND 1 IS NULL "),
            ("SELECT isnull FROM t", "SELECT isnull FROM t"),
            ("a \"isnull\"", "a \"isnull\""),
        ] {
            assert_eq!(with_null_tests(text), expected, "{text}");
        }
    }

    /// A time for each pair of tests would be many minutes.
    #[test]
    fn a_statement_may_have_many_tests() {
        const COUNT: usize = 200_000;
        assert_eq!(with_null_tests(&"a ISNULL ".repeat(COUNT)), "a IS NULL  ".repeat(COUNT));
    }
}
