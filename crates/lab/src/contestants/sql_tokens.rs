//! The tokens of SQL, for contestants that understand a part of it without an SQL engine.

use crate::failure::Failure;

/// A token of a statement.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Word(String),
    Number(String),
    Text(String),
    Sign(char),
}

/// The tokens of a statement.
///
/// # Errors
///
/// A quote is not closed.
pub(super) fn tokens(sql: &str) -> Result<Vec<Token>, Failure> {
    let mut tokens = Vec::new();
    let mut rest = sql.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = |is_part: fn(char) -> bool| rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let (token, taken) = match first {
            'a'..='z' | 'A'..='Z' | '_' => {
                let end = length(|letter| letter.is_alphanumeric() || letter == '_');
                (Token::Word(rest[..end].to_owned()), end)
            }
            '0'..='9' => {
                let end = length(|letter| letter.is_ascii_digit() || letter == '.');
                (Token::Number(rest[..end].to_owned()), end)
            }
            '\'' => {
                let (text, end) = quoted(rest, '\'')?;
                (Token::Text(text), end)
            }
            '"' => {
                let (name, end) = quoted(rest, '"')?;
                (Token::Word(name), end)
            }
            sign => (Token::Sign(sign), sign.len_utf8()),
        };
        tokens.push(token);
        rest = rest[taken..].trim_start();
    }
    Ok(tokens)
}

/// Returns the text between quotes, in which a quote is doubled, and its length including the quotes.
fn quoted(rest: &str, quote: char) -> Result<(String, usize), Failure> {
    let mut from = 1;
    loop {
        let Some(end) = rest[from..].find(quote).map(|end| from + end) else {
            return Err(Failure::cannot("a text has no closing quote"));
        };
        if !rest[end + 1..].starts_with(quote) {
            let doubled = format!("{quote}{quote}");
            return Ok((rest[1..end].replace(&doubled, &quote.to_string()), end + 1));
        }
        from = end + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_may_have_quotes() {
        let expected = [
            Token::Word("select".to_owned()),
            Token::Word("a \" b".to_owned()),
            Token::Sign(','),
            Token::Text("it's".to_owned()),
            Token::Sign('>'),
            Token::Sign('='),
            Token::Number("1.5".to_owned()),
        ];
        assert_eq!(tokens(r#"select "a "" b", 'it''s' >= 1.5"#).expect("tokens"), expected);
        assert!(tokens("'a").is_err() && tokens("\"a").is_err());
    }
}
