//! `PREPARE` and `EXECUTE`, read as far as their parts.

use super::kind::{StatementKind, no_two_phases, of_rows};
use crate::pg::error::PgError;
use atsdb::sql::{Word, Words};

/// Parses `PREPARE name (types) AS statement`.
pub(super) fn prepare(mut words: Words<'_>) -> Result<StatementKind, PgError> {
    let mut ahead = words.clone();
    if ahead.accept("transaction") && matches!(ahead.next(), Some(Word::Text(_))) {
        return Err(no_two_phases("PREPARE TRANSACTION"));
    }
    let name = words.name()?;
    let types = if words.accept_symbol('(') { parenthesised(&mut words)? } else { String::new() };
    if !words.accept("as") {
        let next = words.next();
        return Err(words.unexpected(next).into());
    }
    let text = words.rest().to_owned();
    let first = words.next();
    let can_be_prepared = match &first {
        Some(Word::Name(first)) => of_rows(first).is_some(),
        other => *other == Some(Word::Symbol('(')),
    };
    if can_be_prepared { Ok(StatementKind::Prepare { name, types, text }) } else { Err(words.unexpected(first).into()) }
}

/// Parses `EXECUTE name (values)`.
pub(super) fn execute(mut words: Words<'_>) -> Result<StatementKind, PgError> {
    let name = words.name()?;
    let values = if words.accept_symbol('(') { parenthesised(&mut words)? } else { String::new() };
    words.end()?;
    Ok(StatementKind::Execute { name, values })
}

/// What is written up to the closing parenthesis, which is skipped. It must not be empty.
fn parenthesised(words: &mut Words<'_>) -> Result<String, PgError> {
    let inner = words.rest();
    let (mut depth, mut is_empty) = (0_usize, true);
    loop {
        let rest = words.rest();
        match words.next() {
            Some(Word::Symbol(')')) if depth == 0 && !is_empty => {
                return Ok(inner[..inner.len() - rest.len()].trim_end().to_owned());
            }
            Some(Word::Symbol(')')) if depth > 0 => depth -= 1,
            Some(Word::Symbol('(')) => depth += 1,
            Some(Word::Symbol(')')) => return Err(words.unexpected(Some(Word::Symbol(')'))).into()),
            None => return Err(words.unexpected(None).into()),
            Some(_) => {}
        }
        is_empty = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prepared_statements_are_read_with_types_and_values() {
        let prepare = |name: &str, types: &str, text: &str| StatementKind::Prepare {
            name: name.to_owned(),
            types: types.to_owned(),
            text: text.to_owned(),
        };
        let execute =
            |name: &str, values: &str| StatementKind::Execute { name: name.to_owned(), values: values.to_owned() };
        for (text, kind) in [
            ("PREPARE p AS SELECT 1", prepare("p", "", "SELECT 1")),
            (
                "prepare \"P q\" (int, numeric(10, 2) ) AS INSERT INTO t VALUES ($1, $2)",
                prepare("P q", "int, numeric(10, 2)", "INSERT INTO t VALUES ($1, $2)"),
            ),
            ("PREPARE transaction AS SELECT 1", prepare("transaction", "", "SELECT 1")),
            ("EXECUTE p;", execute("p", "")),
            ("EXECUTE \"P\" (1, ')', abs(-2) /* ( */);", execute("P", "1, ')', abs(-2)")),
        ] {
            assert_eq!(StatementKind::of(text).unwrap(), kind, "{text}");
        }
        for (text, expected) in [
            ("PREPARE p AS BEGIN", "syntax error at or near \"BEGIN\""),
            ("PREPARE p AS EXECUTE q", "syntax error at or near \"EXECUTE\""),
            ("PREPARE p SELECT 1", "syntax error at or near \"SELECT\""),
            ("PREPARE p () AS SELECT 1", "syntax error at or near \")\""),
            ("PREPARE p (int AS SELECT 1", "syntax error at end of input"),
            ("PREPARE p AS", "syntax error at end of input"),
            ("PREPARE TRANSACTION 'x'", "PREPARE TRANSACTION is not supported"),
            ("EXECUTE p()", "syntax error at or near \")\""),
            ("EXECUTE p(1) FROM t", "syntax error at or near \"FROM\""),
            ("EXECUTE p(1), (2)", "syntax error at or near \",\""),
        ] {
            assert_eq!(StatementKind::of(text).unwrap_err().message, expected, "{text}");
        }
    }
}
