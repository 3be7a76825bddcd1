//! The words of `COPY`'s options: a list in parentheses, or the older form without them.

use super::options::{CopyColumns, CopyFormat, CopyHeader, FILE_FORMATS, ParsedOptions};
use atsdb_dialect::text::statement_error::StatementError;
use atsdb_dialect::text::words::{Word, Words};

/// The value of an option in a list.
enum OptionValue {
    None,
    Text(String),
    Number(String),
    All,
    List(Vec<String>),
}

/// Reads the options up to the end, or to a WHERE.
pub(super) fn read(words: &mut Words<'_>, parsed: &mut ParsedOptions, is_in: bool) -> Result<(), StatementError> {
    words.accept("with");
    if words.accept_symbol('(') { in_parentheses(words, parsed, is_in) } else { older_form(words, parsed) }
}

fn in_parentheses(words: &mut Words<'_>, parsed: &mut ParsedOptions, is_in: bool) -> Result<(), StatementError> {
    loop {
        let name = words.name()?;
        let value = value(words)?;
        take(parsed, &name, value, is_in)?;
        match words.next() {
            Some(Word::Symbol(',')) => {}
            Some(Word::Symbol(')')) => return Ok(()),
            other => return Err(words.unexpected(other)),
        }
    }
}

fn value(words: &mut Words<'_>) -> Result<OptionValue, StatementError> {
    if matches!(words.peek(), Some(Word::Symbol(',' | ')'))) {
        return Ok(OptionValue::None);
    }
    match words.next() {
        Some(Word::Text(text) | Word::Name(text) | Word::Quoted(text)) => Ok(OptionValue::Text(text)),
        Some(Word::Number(number)) if !number.starts_with('$') => Ok(OptionValue::Number(number)),
        Some(Word::Symbol('*')) => Ok(OptionValue::All),
        Some(Word::Symbol('(')) => names_up_to_parenthesis(words).map(OptionValue::List),
        other => Err(words.unexpected(other)),
    }
}

/// Names between commas, and the parenthesis after them.
pub(super) fn names_up_to_parenthesis(words: &mut Words<'_>) -> Result<Vec<String>, StatementError> {
    let mut names = Vec::new();
    loop {
        match words.next() {
            Some(Word::Name(name) | Word::Quoted(name) | Word::Text(name)) => names.push(name),
            other => return Err(words.unexpected(other)),
        }
        match words.next() {
            Some(Word::Symbol(',')) => {}
            Some(Word::Symbol(')')) => return Ok(names),
            other => return Err(words.unexpected(other)),
        }
    }
}

fn take(parsed: &mut ParsedOptions, name: &str, value: OptionValue, is_in: bool) -> Result<(), StatementError> {
    match name {
        "format" => {
            let found = text(name, value)?;
            let format = match found.as_str() {
                "text" => CopyFormat::Text,
                "csv" => CopyFormat::Csv,
                "binary" => CopyFormat::Binary,
                _ => match FILE_FORMATS.iter().find(|known| **known == found) {
                    Some(known) => return set(&mut parsed.file_format, *known),
                    None => return Err(unknown_format(&found)),
                },
            };
            set(&mut parsed.format, format)
        }
        "delimiter" => set(&mut parsed.delimiter, text(name, value)?),
        "null" => set(&mut parsed.null, text(name, value)?),
        "quote" => set(&mut parsed.quote, text(name, value)?),
        "escape" => set(&mut parsed.escape, text(name, value)?),
        "header" => set(&mut parsed.header, header(value, is_in)?),
        "freeze" => set(&mut parsed.freeze, boolean(name, value)?),
        "overwrite" => set(&mut parsed.overwrite, boolean(name, value)?),
        "encoding" => {
            let encoding = text(name, value)?;
            check_encoding(&encoding)?;
            set(&mut parsed.encoding, encoding)
        }
        "force_quote" => match value {
            OptionValue::All => set(&mut parsed.force_quote, CopyColumns::All),
            value => set(&mut parsed.force_quote, CopyColumns::Named(list(name, value)?)),
        },
        "force_not_null" => set(&mut parsed.force_not_null, list(name, value)?),
        "force_null" => set(&mut parsed.force_null, list(name, value)?),
        other => Err(StatementError::syntax(format!("option \"{other}\" not recognized"))),
    }
}

/// The error about a format that is not known, or not for this statement.
pub(super) fn unknown_format(name: &str) -> StatementError {
    StatementError::invalid_option(format!("COPY format \"{name}\" not recognized"))
        .with_hint("a file has text, csv, binary, parquet, arrow, json or jsonl")
}

fn set<T>(place: &mut Option<T>, value: T) -> Result<(), StatementError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(StatementError::syntax("conflicting or redundant options")),
    }
}

fn text(name: &str, value: OptionValue) -> Result<String, StatementError> {
    match value {
        OptionValue::Text(text) | OptionValue::Number(text) => Ok(text),
        OptionValue::All => Ok("*".to_owned()),
        OptionValue::List(names) => Ok(names.join(", ")),
        OptionValue::None => Err(StatementError::syntax(format!("{name} requires a parameter"))),
    }
}

fn list(name: &str, value: OptionValue) -> Result<Vec<String>, StatementError> {
    match value {
        OptionValue::List(names) => Ok(names),
        _ => {
            let message = format!("argument to option \"{name}\" must be a list of column names");
            Err(StatementError::invalid_option(message))
        }
    }
}

/// A Boolean value, if it is one; no value is true.
fn as_boolean(value: &OptionValue) -> Option<bool> {
    match value {
        OptionValue::None => Some(true),
        OptionValue::Number(number) => ["0", "1"].iter().position(|digit| digit == number).map(|digit| digit == 1),
        OptionValue::Text(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "on" => Some(true),
            "false" | "off" => Some(false),
            _ => None,
        },
        OptionValue::All | OptionValue::List(_) => None,
    }
}

fn boolean(name: &str, value: OptionValue) -> Result<bool, StatementError> {
    as_boolean(&value).ok_or_else(|| StatementError::syntax(format!("{name} requires a Boolean value")))
}

fn header(value: OptionValue, is_in: bool) -> Result<CopyHeader, StatementError> {
    match as_boolean(&value) {
        Some(true) => return Ok(CopyHeader::Names),
        Some(false) => return Ok(CopyHeader::None),
        None => {}
    }
    match value {
        OptionValue::Text(text) if text.eq_ignore_ascii_case("match") => match is_in {
            true => Ok(CopyHeader::Match),
            false => Err(StatementError::not_supported(format!("cannot use \"{text}\" with HEADER in COPY TO"))),
        },
        _ => Err(StatementError::syntax("header requires a Boolean value or \"match\"")),
    }
}

fn check_encoding(encoding: &str) -> Result<(), StatementError> {
    let name: String = encoding.chars().filter(char::is_ascii_alphanumeric).collect();
    match name.to_ascii_lowercase().as_str() {
        "utf8" | "unicode" => Ok(()),
        _ => Err(StatementError::not_supported(format!("COPY in the encoding \"{encoding}\" is not supported"))),
    }
}

/// The older form, without parentheses and commas.
fn older_form(words: &mut Words<'_>, parsed: &mut ParsedOptions) -> Result<(), StatementError> {
    while let Some(Word::Name(name)) = words.peek() {
        if name == "where" {
            break;
        }
        words.next();
        match name.as_str() {
            "binary" => set(&mut parsed.format, CopyFormat::Binary)?,
            "csv" => set(&mut parsed.format, CopyFormat::Csv)?,
            "header" => set(&mut parsed.header, CopyHeader::Names)?,
            "freeze" => set(&mut parsed.freeze, true)?,
            "delimiter" => set(&mut parsed.delimiter, quoted_text(words, true)?)?,
            "null" => set(&mut parsed.null, quoted_text(words, true)?)?,
            "quote" => set(&mut parsed.quote, quoted_text(words, true)?)?,
            "escape" => set(&mut parsed.escape, quoted_text(words, true)?)?,
            "encoding" => {
                let encoding = quoted_text(words, false)?;
                check_encoding(&encoding)?;
                set(&mut parsed.encoding, encoding)?;
            }
            "force" => forced(words, parsed)?,
            _ => return Err(words.unexpected(Some(Word::Name(name)))),
        }
    }
    Ok(())
}

/// The text after an option, perhaps with an `AS` before it.
pub(super) fn quoted_text(words: &mut Words<'_>, may_have_as: bool) -> Result<String, StatementError> {
    if may_have_as {
        words.accept("as");
    }
    match words.next() {
        Some(Word::Text(text)) => Ok(text),
        other => Err(words.unexpected(other)),
    }
}

/// `FORCE QUOTE`, `FORCE NOT NULL` and `FORCE NULL`, whose columns are not in parentheses.
fn forced(words: &mut Words<'_>, parsed: &mut ParsedOptions) -> Result<(), StatementError> {
    if words.accept("quote") {
        let columns = if words.accept_symbol('*') { CopyColumns::All } else { CopyColumns::Named(names(words)?) };
        return set(&mut parsed.force_quote, columns);
    }
    let is_not_null = words.accept("not");
    if !words.accept("null") {
        let next = words.next();
        return Err(words.unexpected(next));
    }
    let names = names(words)?;
    set(if is_not_null { &mut parsed.force_not_null } else { &mut parsed.force_null }, names)
}

fn names(words: &mut Words<'_>) -> Result<Vec<String>, StatementError> {
    let mut names = vec![words.name()?];
    while words.accept_symbol(',') {
        names.push(words.name()?);
    }
    Ok(names)
}
