//! Calls about the session and the catalogue in statements over the user's tables: `pg_backend_pid()`,
//! `current_setting('x')`, `$1::regclass`. The store does not know them. If their arguments are constants and
//! parameters, the catalogue computes them before the statement is executed, and their values stand in it.

use super::catalogue::value::Value;
use super::catalogue::{has_sign, is_about_the_server, type_ids};
use super::types::known;
use atsdb::sql::{Word, Words, is_of_sequences, quoted};
use std::ops::Range;

/// Functions about the session that the store evaluates itself.
const OF_STORE: [&str; 12] = [
    "current_catalog",
    "current_database",
    "current_role",
    "current_schema",
    "current_schemas",
    "current_user",
    "pg_get_keywords",
    "pg_get_serial_sequence",
    "quote_ident",
    "session_user",
    "user",
    "version",
];

/// Words of expressions that depend on no column.
const CONSTANTS: [&str; 11] = [
    "as",
    "cast",
    "current_catalog",
    "current_database",
    "current_role",
    "current_user",
    "false",
    "null",
    "pg_catalog",
    "session_user",
    "true",
];

/// The maximum length of a statement's text in bytes. A longer one has no such calls.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// The maximum length of the arguments of a call in bytes. This bounds the time to look for calls in calls.
const ARGUMENTS_BYTES_MAX: usize = 1 << 10;

/// A call whose arguments are constants and parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionCall {
    /// The bytes of the statement that the call occupies.
    pub(super) range: Range<usize>,
    /// Whether it is a whole column of a SELECT list or of RETURNING, which is named after it.
    is_column: bool,
}

impl SessionCall {
    /// Returns the text that replaces the call in the statement: its value, with the call's heading if it is a column.
    /// `None` if the value cannot be written in SQL.
    pub(super) fn written(&self, value: &Value, type_id: u32, heading: &str) -> Option<String> {
        let literal = literal(value, type_id)?;
        Some(if self.is_column { format!("{literal} AS {} ", quoted(heading)) } else { format!("{literal} ") })
    }
}

/// The part of a statement in which a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clause {
    /// A list of columns.
    Columns,
    Tables,
    Other,
}

/// The numbers of the parameters in an expression.
pub(super) fn parameter_numbers(expression: &str) -> impl Iterator<Item = usize> {
    Words::new(expression).filter_map(|word| match word {
        Word::Number(digits) => digits.strip_prefix('$')?.parse::<u16>().ok().map(usize::from),
        _ => None,
    })
}

/// Finds the calls of a statement.
pub(super) fn session_calls(text: &str) -> Vec<SessionCall> {
    let (mut calls, mut clauses) = (Vec::new(), vec![Clause::Other]);
    if text.len() > TEXT_BYTES_MAX || !has_sign(text) {
        return calls;
    }
    let mut words = Words::new(text);
    // Whether a column of a list may begin here, and whether a name with a schema goes on here.
    let (mut begins_column, mut goes_on) = (false, false);
    loop {
        let (before, start) = (words.clone(), position(text, &words));
        let Some(word) = words.next() else { return calls };
        let clause = clauses.last().copied().unwrap_or(Clause::Other);
        let end = if goes_on || clause == Clause::Tables { None } else { end_of_call(before) };
        if let Some(after) = end {
            let is_column = begins_column && clause == Clause::Columns && ends_column(after.peek().as_ref());
            calls.push(SessionCall { range: start..position(text, &after), is_column });
            words = after;
            (begins_column, goes_on) = (false, false);
            continue;
        }
        goes_on = word == Word::Symbol('.');
        begins_column = false;
        match word {
            Word::Symbol('(') => clauses.push(Clause::Other),
            Word::Symbol(')') if clauses.len() > 1 => drop(clauses.pop()),
            Word::Symbol(',') => begins_column = true,
            Word::Name(name) if is_of_sequences(&name) && words.accept_symbol('(') => {
                // The store reads the name of the sequence, with its cast.
                clauses.push(Clause::Other);
                goes_on = true;
            }
            Word::Name(name) => {
                let next = match name.as_str() {
                    // `x IS DISTINCT FROM call`, and `extract(year FROM call)`.
                    "distinct" if words.accept("from") => continue,
                    "from" if clause == Clause::Other && clauses.len() > 1 => continue,
                    "select" | "returning" => Clause::Columns,
                    "distinct" | "all" => {
                        begins_column = true;
                        continue;
                    }
                    "from" | "join" | "using" | "into" | "update" => Clause::Tables,
                    "on" if clause != Clause::Tables => continue,
                    "where" | "on" | "group" | "having" | "order" | "limit" | "offset" | "window" | "set"
                    | "values" => Clause::Other,
                    _ => continue,
                };
                begins_column = next == Clause::Columns;
                if let Some(clause) = clauses.last_mut() {
                    *clause = next;
                }
            }
            _ => {}
        }
    }
}

/// The words after the call that begins here, if one does.
fn end_of_call(mut words: Words<'_>) -> Option<Words<'_>> {
    let mut is_found = match words.next()? {
        Word::Text(_) | Word::Number(_) => false,
        Word::Name(name) if name == "cast" => {
            let inside = end_of_brackets(&mut words)?;
            let is_named =
                Words::new(inside).last().is_some_and(|last| matches!(last, Word::Name(name) if is_named(&name)));
            if !is_named || !is_constant(inside) {
                return None;
            }
            true
        }
        Word::Name(mut name) => {
            if name == "pg_catalog" && words.accept_symbol('.') {
                name = words.name().ok()?;
            }
            if OF_STORE.contains(&name.as_str())
                || !is_about_the_server(&name)
                || !is_constant(end_of_brackets(&mut words)?)
            {
                return None;
            }
            true
        }
        _ => return None,
    };
    // The casts after it.
    loop {
        let mut ahead = words.clone();
        if !(ahead.accept_symbol(':') && ahead.accept_symbol(':')) {
            break;
        }
        if ahead.accept("pg_catalog") && !ahead.accept_symbol('.') {
            break;
        }
        let Some(Word::Name(name)) = ahead.next() else { break };
        let is_kept = matches!(type_ids(&name, &[]).as_deref(), Ok([id]) if keeps_its_form(*id));
        if !is_kept || ahead.peek() == Some(Word::Symbol('(')) || ahead.peek() == Some(Word::Symbol('[')) {
            break;
        }
        is_found |= is_named(&name);
        if !is_found {
            break;
        }
        words = ahead;
    }
    is_found.then_some(words)
}

/// The text in the brackets that begin here, if it is not long. The words after them come next.
fn end_of_brackets<'a>(words: &mut Words<'a>) -> Option<&'a str> {
    if !words.accept_symbol('(') {
        return None;
    }
    let inside = words.rest();
    let mut depth = 1;
    loop {
        let length = inside.len() - words.rest().len();
        match words.next()? {
            Word::Symbol('(') => depth += 1,
            Word::Symbol(')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return inside.get(..length);
        }
        if length > ARGUMENTS_BYTES_MAX {
            return None;
        }
    }
}

/// Returns whether an expression, or several with commas between them, depend on no column.
fn is_constant(text: &str) -> bool {
    let (mut words, mut is_type) = (Words::new(text), false);
    while let Some(word) = words.next() {
        let is_part_of_constant = match &word {
            Word::Text(_) | Word::Symbol(_) | Word::Number(_) => true,
            Word::Quoted(_) => false,
            Word::Name(name) => {
                let is_call = words.peek() == Some(Word::Symbol('(')) && is_about_the_server(name);
                is_type || is_call || is_named(name) || CONSTANTS.contains(&name.as_str())
            }
        };
        if !is_part_of_constant {
            return false;
        }
        is_type = word == Word::Symbol(':') || matches!(&word, Word::Name(name) if name == "as");
    }
    true
}

/// Returns whether a type is one of the names of objects: `regclass` and similar types.
fn is_named(type_name: &str) -> bool {
    known::by_name(type_name).is_some_and(|known| known::is_named(known.id))
}

/// Returns whether a column of a list ends before this word.
fn ends_column(next: Option<&Word>) -> bool {
    const ENDS: [&str; 10] =
        ["from", "where", "group", "having", "order", "limit", "union", "except", "intersect", "window"];
    match next {
        None | Some(Word::Symbol(',' | ')' | ';')) => true,
        Some(Word::Name(name)) => ENDS.contains(&name.as_str()),
        _ => false,
    }
}

/// Returns whether [`literal`] writes values of this type without a loss. Casts to other types are left to the store.
fn keeps_its_form(id: u32) -> bool {
    let is_plain =
        matches!(id, known::BOOL | known::INT2 | known::INT4 | known::INT8 | known::OID | known::TEXT | known::NAME);
    is_plain || known::is_named(id)
}

/// The position of the next word, or of a comment before it.
fn position(text: &str, words: &Words<'_>) -> usize {
    text.len() - words.rest().len()
}

/// A value in SQL.
fn literal(value: &Value, type_id: u32) -> Option<String> {
    let name = match type_id {
        known::BOOL => "BOOLEAN",
        known::INT2 => "SMALLINT",
        known::INT4 => "INT",
        known::INT8 | known::OID => "BIGINT",
        known::TIMESTAMPTZ => "TIMESTAMPTZ",
        known::NUMERIC | known::FLOAT4 | known::FLOAT8 => "DOUBLE PRECISION",
        id => match known::element_of(id) {
            Some(element) if matches!(element.id, known::INT2 | known::INT4 | known::INT8 | known::OID) => "BIGINT[]",
            Some(_) => "TEXT[]",
            None => "TEXT",
        },
    };
    if matches!(value, Value::Record(_)) {
        return None;
    }
    Some(match value.shown() {
        None => format!("CAST(NULL AS {name})"),
        Some(text) => format!("CAST('{}' AS {name})", text.replace('\'', "''")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&str, bool)> {
        session_calls(text).into_iter().map(|call| (text[call.range].trim_end(), call.is_column)).collect()
    }

    #[test]
    fn calls_with_constants_are_found() {
        for (text, expected) in [
            ("SELECT pg_backend_pid(), x FROM t", vec![("pg_backend_pid()", true)]),
            ("SELECT x, pg_backend_pid() + 1 FROM t", vec![("pg_backend_pid()", false)]),
            ("SELECT pg_backend_pid() AS p FROM t", vec![("pg_backend_pid()", false)]),
            ("SELECT coalesce(x, pg_backend_pid()) FROM t", vec![("pg_backend_pid()", false)]),
            (
                "SELECT * FROM t WHERE x = pg_catalog.current_setting('a')",
                vec![("pg_catalog.current_setting('a')", false)],
            ),
            (
                "SELECT 't'::regclass, 't'::regclass::oid FROM t",
                vec![("'t'::regclass", true), ("'t'::regclass::oid", true)],
            ),
            (
                "INSERT INTO t VALUES (set_config('a', 'b', true)::int)",
                vec![("set_config('a', 'b', true)::int", false)],
            ),
            (
                "UPDATE t SET x = 1 RETURNING has_table_privilege(current_user, 't'::regclass, 'select')",
                vec![("has_table_privilege(current_user, 't'::regclass, 'select')", true)],
            ),
            ("SELECT (SELECT to_regclass('t') ) FROM t", vec![("to_regclass('t')", true)]),
            (
                "SELECT current_setting($1), $2::regclass, $3::int FROM t WHERE set_config('a', $4, true) = $5",
                vec![("current_setting($1)", true), ("$2::regclass", true), ("set_config('a', $4, true)", false)],
            ),
            ("SELECT CAST('t' AS regclass) FROM t", vec![("CAST('t' AS regclass)", true)]),
            ("SELECT x IS DISTINCT FROM current_setting('a') FROM t", vec![("current_setting('a')", false)]),
            (
                "SELECT extract(year FROM pg_postmaster_start_time()), y FROM t",
                vec![("pg_postmaster_start_time()", false)],
            ),
            (
                "SELECT current_setting('a')::date, current_setting('b')::int8::text FROM t",
                vec![("current_setting('a')", false), ("current_setting('b')::int8::text", true)],
            ),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn parameters_are_numbered() {
        let numbers: Vec<usize> = parameter_numbers("f($2, '$3', $1::int, 4, $70000, $2)").collect();
        assert_eq!(numbers, [2, 1, 2]);
    }

    #[test]
    fn what_depends_on_rows_is_none() {
        for text in [
            "SELECT to_regclass(name) FROM t",
            "SELECT obj_description(id, $1) FROM t",
            "INSERT INTO t VALUES (nextval('s'::regclass), setval(CAST('s' AS regclass), 1))",
            "SELECT x::regclass FROM t",
            "SELECT 'a'::text, current_user, version() FROM t",
            "SELECT 'pg_backend_pid()' /* pg_backend_pid() */ FROM t",
            "SELECT * FROM t, current_setting('a')",
            "SELECT s.pg_backend_pid() FROM t",
            "SELECT pg_backend_pid FROM t",
            "SELECT pg_backend_pid(",
            "SELECT 'regclass'::",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
