//! `DECLARE`, `FETCH` and `MOVE`.

use crate::pg::error::PgError;
use atsdb::sql::{Word, Words};

/// Parses the rest of `DECLARE name CURSOR FOR query`. Returns the name and the query.
pub(super) fn declare(mut words: Words<'_>) -> Result<(String, String), PgError> {
    let cursor = words.name()?;
    loop {
        match words.next() {
            Some(Word::Name(name)) if name == "cursor" => break,
            Some(Word::Name(name)) if ["binary", "scroll"].contains(&name.as_str()) => {
                return Err(PgError::not_supported(format_args!("a {} cursor", name.to_uppercase())));
            }
            Some(Word::Name(name)) if ["no", "insensitive", "asensitive"].contains(&name.as_str()) => {
                if name == "no" && !words.accept("scroll") {
                    let next = words.next();
                    return Err(words.unexpected(next).into());
                }
            }
            other => return Err(words.unexpected(other).into()),
        }
    }
    if words.accept("with") {
        let error = PgError::not_supported("a cursor WITH HOLD");
        return Err(error.with_hint("BEGIN, and read the rows of a cursor WITHOUT HOLD before COMMIT"));
    }
    let _ = words.accept("without") && words.accept("hold");
    if !words.accept("for") {
        let next = words.next();
        return Err(words.unexpected(next).into());
    }
    Ok((cursor, words.rest().to_owned()))
}

/// Parses the rest of `FETCH` or `MOVE`. Returns the cursor, and how many rows; `None` for all.
pub(super) fn fetch(mut words: Words<'_>) -> Result<(String, Option<usize>), PgError> {
    let mut count = Some(1);
    loop {
        match words.next() {
            Some(Word::Name(name)) => match name.as_str() {
                "next" => {}
                "forward" => count = Some(1),
                "all" => count = None,
                "from" | "in" => {
                    let cursor = words.name()?;
                    words.end()?;
                    return Ok((cursor, count));
                }
                "backward" | "prior" | "first" | "last" | "absolute" | "relative" => {
                    return Err(PgError::error("55000", "cursor can only scan forward"));
                }
                _ => {
                    words.end()?;
                    return Ok((name, count));
                }
            },
            Some(Word::Quoted(cursor)) => {
                words.end()?;
                return Ok((cursor, count));
            }
            Some(Word::Number(number)) => {
                count = Some(number.parse().map_err(|_| words.unexpected(Some(Word::Number(number))))?);
            }
            Some(Word::Symbol('-')) => return Err(PgError::error("55000", "cursor can only scan forward")),
            other => return Err(words.unexpected(other).into()),
        }
    }
}
