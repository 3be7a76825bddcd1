//! Parameters: `$name` in a statement stands for a literal. They are put in as tokens, so that no value can be
//! anything but a literal. What looks like a number becomes a marked one, whose type its place decides
//! ([`parameter_types`](crate::parse::parameter_types)).

use super::errors::{sql_error, syntax_error};
use super::place::Place;
use atsdb_core::Result;
use atsdb_core::name::{nearest_name, same_name};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The text that is bound to `$name`.
pub(crate) fn bound<'a>(name: &str, params: &'a [(String, String)]) -> Result<&'a str> {
    match params.iter().find(|(bound, _)| same_name(bound, name)) {
        Some((_, text)) => Ok(text),
        None => {
            let error = sql_error(format!("no value is given for the parameter ${name}"));
            Err(match nearest_name(name, params.iter().map(|(name, _)| name.as_str())) {
                Some(near) => error.with_hint(format!("did you mean ${near}?")),
                None => error,
            })
        }
    }
}

/// Whether a text is a number as a program would write it; `007` and `1 ` are text.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical =
        digits == "0" || digits.starts_with(|first: char| ('1'..='9').contains(&first)) || digits.starts_with("0.");
    canonical
        && digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'))
        && digits.ends_with(|last: char| last.is_ascii_digit())
        && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Puts the bound values into a statement's tokens.
pub(crate) fn bind(tokens: &mut Vec<TokenWithSpan>, params: &[(String, String)], place: Place) -> Result<()> {
    if !tokens.iter().any(|token| matches!(token.token, Token::Placeholder(_))) {
        return Ok(());
    }
    let mut bound_tokens = Vec::with_capacity(tokens.len());
    for token in tokens.drain(..) {
        let Token::Placeholder(placeholder) = &token.token else {
            bound_tokens.push(token);
            continue;
        };
        let Some(name) = placeholder.strip_prefix('$').filter(|name| !name.is_empty()) else {
            let inner = Place { line: token.span.start.line as usize, column: token.span.start.column as usize };
            return Err(syntax_error(format_args!("the parameter {placeholder}"), place.of_inner(inner))
                .with_hint("write $name"));
        };
        let text = bound(name, params)?;
        let mut push = |value: Token| bound_tokens.push(TokenWithSpan { token: value, span: token.span });
        match text.strip_prefix('-') {
            Some(digits) if is_number(text) => {
                push(Token::LParen);
                push(Token::Minus);
                push(Token::Number(digits.to_owned(), true));
                push(Token::RParen);
            }
            _ if is_number(text) => push(Token::Number(text.to_owned(), true)),
            _ => push(Token::SingleQuotedString(text.to_owned())),
        }
    }
    *tokens = bound_tokens;
    Ok(())
}

/// Takes the marks off: for statements in which no place decides.
pub(crate) fn unmark(tokens: &mut [TokenWithSpan]) {
    for token in tokens {
        if let Token::Number(_, mark) = &mut token.token {
            *mark = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_bound_as_a_number_and_an_identifier_as_text() {
        for number in ["0", "-1", "12.5", "1e9", "0.5"] {
            assert!(is_number(number), "{number}");
        }
        for text in ["", "-", "007", "1 ", "nan", "inf", "1e999", "0x10", "1.", "--1", "1-1", "1; DROP TABLE t"] {
            assert!(!is_number(text), "{text}");
        }
    }
}
