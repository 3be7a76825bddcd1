//! Parameters: `$name` and `$1` in a statement stand for values. Values that are given as text are inserted as tokens,
//! so that they can only be literals. A text that looks like a number becomes a marked number, whose type depends on
//! its context ([`parameter_types`](crate::parse::parameter_types)). Values that have a type stay placeholders until
//! the statement is planned.

use super::errors::{sql_error, syntax_error};
use super::question_marks::join_operators;
use super::source_position::SourcePosition;
use arrow::datatypes::DataType;
use atsdb_core::Result;
use atsdb_core::name::{nearest_name, same_name};
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use std::sync::Arc;

/// The maximum number of parameters of a statement, as in PostgreSQL's protocol.
const COUNT_MAX: usize = 65_535;

/// The parameters of a statement.
#[derive(Debug, Clone)]
pub enum Parameters {
    /// Texts by name.
    Texts(Arc<[(String, String)]>),
    /// Values by number, from `$1` on.
    Values(Arc<[ScalarValue]>),
    /// Types by number, as far as they are known: for a statement that is only described.
    Types(Arc<[Option<DataType>]>),
}

impl Parameters {
    /// No parameters.
    pub fn none() -> Self {
        Self::Texts(Arc::default())
    }

    /// The type of a parameter, if it has one before the statement is planned.
    pub fn types(&self) -> Vec<Option<DataType>> {
        match self {
            Self::Texts(_) => Vec::new(),
            Self::Values(values) => values.iter().map(|value| Some(value.data_type())).collect(),
            Self::Types(types) => types.to_vec(),
        }
    }

    /// The value of a numbered parameter, if it is known. It is NULL if the statement is only described.
    pub fn value(&self, id: &str) -> Option<ScalarValue> {
        let at = number(id)? - 1;
        match self {
            Self::Texts(_) => None,
            Self::Values(values) => values.get(at).cloned(),
            Self::Types(types) => ScalarValue::try_from(types.get(at)?.as_ref().unwrap_or(&DataType::Null)).ok(),
        }
    }
}

/// The number of `$7`.
pub fn number(id: &str) -> Option<usize> {
    id.strip_prefix('$')?.parse().ok().filter(|number| (1..=COUNT_MAX).contains(number))
}

/// The number of parameters of a statement, which is the highest number in it.
pub fn parameter_count(text: &str, position: SourcePosition) -> Result<usize> {
    // Every parameter begins with one of these.
    if !text.contains(['$', '?']) {
        return Ok(0);
    }
    // An unreadable text is reported when the statement is parsed.
    let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap_or_default();
    join_operators(&mut tokens);
    let mut count = 0;
    for token in tokens {
        if let Token::Placeholder(id) = &token.token {
            count = count.max(number(id).ok_or_else(|| not_numbered(id, &token, position))?);
        }
    }
    Ok(count)
}

fn not_numbered(id: &str, token: &TokenWithSpan, position: SourcePosition) -> atsdb_core::Error {
    syntax_error(format_args!("the parameter {id}"), position_of(token, position))
        .with_hint("the parameters of a prepared statement are numbered: $1, $2")
}

fn position_of(token: &TokenWithSpan, position: SourcePosition) -> SourcePosition {
    position.of_inner(SourcePosition { line: token.span.start.line as usize, column: token.span.start.column as usize })
}

/// The text that is bound to `$name`.
pub fn bound<'a>(name: &str, params: &'a [(String, String)]) -> Result<&'a str> {
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

/// Returns whether a text is a number as a program would format it; `007` and `1 ` are text.
pub fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical =
        digits == "0" || digits.starts_with(|first: char| ('1'..='9').contains(&first)) || digits.starts_with("0.");
    canonical
        && digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'))
        && digits.ends_with(|last: char| last.is_ascii_digit())
        && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Inserts the values that are given as text into a statement's tokens, and checks that other parameters have a number.
pub fn bind(tokens: &mut Vec<TokenWithSpan>, parameters: &Parameters, position: SourcePosition) -> Result<()> {
    if !tokens.iter().any(|token| matches!(token.token, Token::Placeholder(_))) {
        return Ok(());
    }
    let texts = match parameters {
        Parameters::Texts(texts) => texts,
        Parameters::Values(_) | Parameters::Types(_) => return check(tokens, parameters, position),
    };
    let mut bound_tokens = Vec::with_capacity(tokens.len());
    for token in tokens.drain(..) {
        let Token::Placeholder(placeholder) = &token.token else {
            bound_tokens.push(token);
            continue;
        };
        let Some(name) = placeholder.strip_prefix('$').filter(|name| !name.is_empty()) else {
            return Err(syntax_error(format_args!("the parameter {placeholder}"), position_of(&token, position))
                .with_hint("write $name"));
        };
        let text = bound(name, texts)?;
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

fn check(tokens: &[TokenWithSpan], parameters: &Parameters, position: SourcePosition) -> Result<()> {
    for token in tokens {
        let Token::Placeholder(id) = &token.token else { continue };
        let number = number(id).ok_or_else(|| not_numbered(id, token, position))?;
        let count = match parameters {
            Parameters::Values(values) => values.len(),
            Parameters::Types(types) => types.len(),
            Parameters::Texts(texts) => texts.len(),
        };
        if number > count {
            return Err(sql_error(format!("no value is given for the parameter ${number}")));
        }
    }
    Ok(())
}

/// Removes the marks, for statements in which the context does not decide the type.
pub fn unmark(tokens: &mut [TokenWithSpan]) {
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
