//! `PREPARE` and `EXECUTE`, read as far as their parts.

use crate::pg::error::PgError;
use atsdb::sql::{Word, Words};

/// The parts of a `PREPARE`.
pub(super) struct Prepared {
    pub(super) name: String,
    /// The text in the parentheses, the types of the parameters; empty without parentheses.
    pub(super) types: String,
    pub(super) text: String,
}

/// Parses `PREPARE name (types) AS statement`, for statements whose first word can begin one that is prepared.
pub(super) fn prepare(mut words: Words<'_>, can_begin: fn(&str) -> bool) -> Result<Prepared, PgError> {
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
        Some(Word::Name(first)) => can_begin(first),
        other => *other == Some(Word::Symbol('(')),
    };
    if can_be_prepared { Ok(Prepared { name, types, text }) } else { Err(words.unexpected(first).into()) }
}

/// Parses `EXECUTE name (values)` into the name and the values.
pub(super) fn execute(mut words: Words<'_>) -> Result<(String, String), PgError> {
    let name = words.name()?;
    let values = if words.accept_symbol('(') { parenthesised(&mut words)? } else { String::new() };
    words.end()?;
    Ok((name, values))
}

/// Returns the text up to the closing parenthesis, which is skipped. An empty list is an error.
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

/// The error for statements of two-phase commit.
pub(super) fn no_two_phases(what: &str) -> PgError {
    PgError::not_supported(what).with_hint("COMMIT the transaction: there is no two-phase commit")
}
