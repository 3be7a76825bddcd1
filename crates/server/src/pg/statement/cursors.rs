//! `DECLARE`, `FETCH` and `MOVE`.

use crate::pg::error::PgError;
use atsdb::sql::{Word, Words};

/// The parts of a `DECLARE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pg) struct Declaration {
    pub(in crate::pg) cursor: String,
    pub(in crate::pg) query: String,
    /// Whether the cursor can be read in any direction: `SCROLL`.
    pub(in crate::pg) is_scrollable: bool,
    /// Whether the cursor survives its transaction: `WITH HOLD`.
    pub(in crate::pg) is_holdable: bool,
    /// Whether simple queries fetch its rows in the binary format: `BINARY`.
    pub(in crate::pg) is_binary: bool,
}

/// The rows that `FETCH` or `MOVE` wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pg) enum Direction {
    /// The next rows: this number of them; `None` for all.
    Forward(Option<usize>),
    /// The previous rows, the last one first: this number of them; `None` for all.
    Backward(Option<usize>),
    /// The row with this number, from 1; from the end if it is negative.
    Absolute(i32),
    /// The row this many rows further.
    Relative(i32),
}

/// Parses the rest of `DECLARE name CURSOR FOR query`.
pub(super) fn declare(mut words: Words<'_>) -> Result<Declaration, PgError> {
    let cursor = words.name()?;
    let (mut scroll, mut no_scroll, mut is_binary) = (false, false, false);
    loop {
        match words.next() {
            Some(Word::Name(name)) => match name.as_str() {
                "cursor" => break,
                "binary" => is_binary = true,
                "scroll" => scroll = true,
                "no" => {
                    if !words.accept("scroll") {
                        let next = words.next();
                        return Err(words.unexpected(next).into());
                    }
                    no_scroll = true;
                }
                "insensitive" | "asensitive" => {}
                _ => return Err(words.unexpected(Some(Word::Name(name))).into()),
            },
            other => return Err(words.unexpected(other).into()),
        }
    }
    if scroll && no_scroll {
        return Err(PgError::error("42P11", "cannot specify both SCROLL and NO SCROLL"));
    }
    let is_holdable = words.accept("with");
    let is_valid = (!is_holdable && !words.accept("without")) || words.accept("hold");
    if !(is_valid && words.accept("for")) {
        let next = words.next();
        return Err(words.unexpected(next).into());
    }
    Ok(Declaration { cursor, query: words.rest().to_owned(), is_scrollable: scroll, is_holdable, is_binary })
}

/// Parses the rest of `FETCH` or `MOVE`. Returns the cursor, and which rows.
pub(super) fn fetch(mut words: Words<'_>) -> Result<(String, Direction), PgError> {
    let start = words.clone();
    let mut rows = direction(&mut words)?;
    if words.peek().is_none() {
        // A cursor may have the name of a direction.
        (words, rows) = (start, Direction::Forward(Some(1)));
    }
    let _ = words.accept("from") || words.accept("in");
    let cursor = words.name()?;
    words.end()?;
    Ok((cursor, rows))
}

fn direction(words: &mut Words<'_>) -> Result<Direction, PgError> {
    for (word, direction) in [
        ("next", Direction::Forward(Some(1))),
        ("prior", Direction::Backward(Some(1))),
        ("first", Direction::Absolute(1)),
        ("last", Direction::Absolute(-1)),
        ("all", Direction::Forward(None)),
    ] {
        if words.accept(word) {
            return Ok(direction);
        }
    }
    let is_absolute = words.accept("absolute");
    if is_absolute || words.accept("relative") {
        return match number(words)? {
            Some(number) if is_absolute => Ok(Direction::Absolute(number)),
            Some(number) => Ok(Direction::Relative(number)),
            // It is the name of the cursor.
            None if words.peek().is_none() => Ok(Direction::Forward(Some(1))),
            None => {
                let next = words.next();
                Err(words.unexpected(next).into())
            }
        };
    }
    let is_backward = words.accept("backward");
    let has_word = is_backward || words.accept("forward");
    let (is_negative, count) = match number(words)? {
        Some(number) => (number < 0, Some(usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX))),
        None if has_word && words.accept("all") => (false, None),
        None => (false, Some(1)),
    };
    Ok(if is_backward == is_negative { Direction::Forward(count) } else { Direction::Backward(count) })
}

/// A number with its sign.
fn number(words: &mut Words<'_>) -> Result<Option<i32>, PgError> {
    let is_negative = words.accept_symbol('-');
    let has_sign = is_negative || words.accept_symbol('+');
    match words.peek() {
        Some(Word::Number(digits)) => {
            words.next();
            let signed = if is_negative { format!("-{digits}") } else { digits.clone() };
            match signed.parse() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(words.unexpected(Some(Word::Number(digits))).into()),
            }
        }
        _ if has_sign => {
            let next = words.next();
            Err(words.unexpected(next).into())
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_direction_is_read() {
        use Direction::{Absolute, Backward, Forward, Relative};
        for (text, expected) in [
            ("c", Forward(Some(1))),
            ("NEXT FROM c", Forward(Some(1))),
            ("prior c", Backward(Some(1))),
            ("FIRST IN c", Absolute(1)),
            ("LAST FROM \"c\"", Absolute(-1)),
            ("ABSOLUTE -3 FROM c", Absolute(-3)),
            ("RELATIVE +2 c", Relative(2)),
            ("0 FROM c", Forward(Some(0))),
            ("-2 FROM c", Backward(Some(2))),
            ("ALL c", Forward(None)),
            ("FORWARD c", Forward(Some(1))),
            ("FORWARD -4 IN c", Backward(Some(4))),
            ("FORWARD ALL IN c", Forward(None)),
            ("BACKWARD FROM c", Backward(Some(1))),
            ("BACKWARD 5 FROM c", Backward(Some(5))),
            ("BACKWARD -5 FROM c", Forward(Some(5))),
            ("BACKWARD ALL FROM c", Backward(None)),
        ] {
            assert_eq!(fetch(Words::new(text)).unwrap(), ("c".to_owned(), expected), "{text}");
        }
        assert_eq!(fetch(Words::new("absolute")).unwrap(), ("absolute".to_owned(), Forward(Some(1))));
        for text in ["", "- FROM c", "ABSOLUTE FROM c", "ABSOLUTE 9999999999 FROM c", "FIRST LAST FROM c", "c d"] {
            assert_eq!(fetch(Words::new(text)).unwrap_err().code, "42601", "{text}");
        }
    }

    #[test]
    fn a_declaration_has_options() {
        let options = |text: &str| {
            let declared = declare(Words::new(text));
            declared.map(|Declaration { is_scrollable, is_holdable, is_binary, .. }| {
                (is_scrollable, is_holdable, is_binary)
            })
        };
        assert_eq!(options("c CURSOR FOR SELECT 1").unwrap(), (false, false, false));
        assert_eq!(options("c INSENSITIVE SCROLL CURSOR WITH HOLD FOR SELECT 1").unwrap(), (true, true, false));
        assert_eq!(options("c NO SCROLL CURSOR WITHOUT HOLD FOR SELECT 1").unwrap(), (false, false, false));
        assert_eq!(options("c BINARY SCROLL CURSOR FOR SELECT 1").unwrap(), (true, false, true));
        assert_eq!(options("c SCROLL NO SCROLL CURSOR FOR SELECT 1").unwrap_err().code, "42P11");
        for text in ["c CURSOR WITH FOR SELECT 1", "c NO CURSOR FOR SELECT 1", "c CURSOR SELECT 1"] {
            assert_eq!(options(text).unwrap_err().code, "42601", "{text}");
        }
    }
}
