//! The kind of a statement, by the part of the server that executes it.

use super::copy::copy_of_client;
use super::cursors::{Declaration, Direction, declare, fetch};
use super::discard::Discarded;
use super::lock::shared_lock;
use super::prepared::{Prepared, execute, no_two_phases, prepare};
use crate::pg::error::PgError;
use crate::pg::settings::{ROLE, SEARCH_PATH, SESSION_AUTHORIZATION};
use atsdb::sql::{CopyStatement, Word, Words, is_select_into, quoted, word_after_with};

/// The kind of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pg) enum StatementKind {
    /// Begins a transaction that is read-only, read-write, or as the session's settings say.
    Begin {
        read_only: Option<bool>,
        /// The command's tag.
        tag: &'static str,
    },
    /// `AND CHAIN` begins the next transaction at once.
    Commit {
        is_chained: bool,
    },
    Rollback {
        is_chained: bool,
    },
    /// Sets or releases a savepoint, which the store's session handles.
    Savepoint,
    /// Rolls back to a savepoint. This is also allowed after an error.
    RollbackTo,
    Set {
        name: String,
        value: Option<String>,
        /// Whether the value holds until the end of the transaction (`SET LOCAL`).
        is_local: bool,
    },
    /// Sets the mode of the current transaction, or of all later ones in the session.
    SetTransaction {
        read_only: Option<bool>,
        is_session: bool,
    },
    /// Lets the current transaction read an exported snapshot.
    SetSnapshot(String),
    /// `SET CONSTRAINTS`, which the session executes.
    SetConstraints,
    Reset(Option<String>),
    Show(String),
    Discard(Discarded),
    /// Prepares a query or a change. `types` are those of its parameters, as they are written.
    Prepare {
        name: String,
        types: String,
        text: String,
    },
    /// Executes a prepared statement with the values of expressions, as they are written.
    Execute {
        name: String,
        values: String,
    },
    Deallocate(Option<String>),
    Declare(Box<Declaration>),
    Fetch {
        cursor: String,
        rows: Direction,
        is_move: bool,
    },
    CloseCursor(Option<String>),
    /// `LOCK TABLE ... IN ACCESS SHARE MODE`: the tables' names.
    LockShared(Vec<Vec<String>>),
    /// `UNLISTEN`. There are never any notifications.
    Unlisten,
    Copy(Box<CopyStatement>),
    /// Maintenance that the store does automatically.
    Maintenance(&'static str),
    /// A statement that returns rows: `SELECT` and its equivalents.
    Query,
    /// A statement that returns other rows; the first word of the command's tag.
    Report(&'static str),
    /// A statement that changes rows; with `RETURNING` it returns rows.
    Change(&'static str),
    /// Any other statement.
    Other,
}

impl StatementKind {
    /// Reads as much of a statement as is needed to determine its kind.
    pub(in crate::pg) fn of(text: &str) -> Result<Self, PgError> {
        let mut words = Words::new(text);
        let Some(Word::Name(first)) = words.next() else { return Ok(Self::Query) };
        Ok(match first.as_str() {
            "select" | "with" if is_select_into(text) => Self::Other,
            "begin" => Self::Begin { read_only: read_only(words), tag: "BEGIN" },
            "start" if words.accept("transaction") => {
                Self::Begin { read_only: read_only(words), tag: "START TRANSACTION" }
            }
            "commit" | "end" => commit(words)?,
            "abort" | "rollback" => rollback(words)?,
            "savepoint" | "release" => Self::Savepoint,
            "set" if words.accept("constraints") => Self::SetConstraints,
            "set" => set(words)?,
            "reset" if words.accept("all") => Self::Reset(None),
            "reset" if words.accept("session") && words.accept("authorization") => {
                Self::Reset(Some(SESSION_AUTHORIZATION.to_owned()))
            }
            "reset" => Self::Reset(Some(setting_name(&mut words)?)),
            "show" => show(words)?,
            "discard" => Self::Discard(Discarded::of(words)?),
            "prepare" => {
                let Prepared { name, types, text } = prepare(words, |first| of_rows(first).is_some())?;
                Self::Prepare { name, types, text }
            }
            "execute" => {
                let (name, values) = execute(words)?;
                Self::Execute { name, values }
            }
            "deallocate" => {
                words.accept("prepare");
                if words.accept("all") { Self::Deallocate(None) } else { Self::Deallocate(Some(words.name()?)) }
            }
            "declare" => Self::Declare(Box::new(declare(words)?)),
            "fetch" | "move" => {
                let (cursor, rows) = fetch(words)?;
                Self::Fetch { cursor, rows, is_move: first == "move" }
            }
            "lock" => shared_lock(words).map_or(Self::Other, Self::LockShared),
            "close" if words.accept("all") => Self::CloseCursor(None),
            "close" => Self::CloseCursor(Some(words.name()?)),
            "listen" => {
                let hint = "query for new rows: there are no messages between clients";
                return Err(PgError::not_supported("LISTEN").with_hint(hint));
            }
            "unlisten" => Self::Unlisten,
            "copy" => Self::Copy(Box::new(copy_of_client(text)?)),
            "load" => return Err(PgError::no_files()),
            "vacuum" => Self::Maintenance("VACUUM"),
            "analyze" | "analyse" => Self::Maintenance("ANALYZE"),
            "cluster" => Self::Maintenance("CLUSTER"),
            "reindex" => Self::Maintenance("REINDEX"),
            "explain" => Self::Report("EXPLAIN"),
            "describe" | "desc" | "summarize" => Self::Report("SHOW"),
            "with" => word_after_with(&mut words).as_deref().and_then(of_rows).unwrap_or(Self::Query),
            other => of_rows(other).unwrap_or(Self::Other),
        })
    }

    /// Returns whether a statement is allowed after an error inside a transaction.
    pub(in crate::pg) fn ends_transaction(&self) -> bool {
        matches!(self, Self::Commit { .. } | Self::Rollback { .. } | Self::RollbackTo)
    }

    /// Returns whether it may change the store within a transaction.
    pub(in crate::pg) fn may_change(&self) -> bool {
        matches!(self, Self::Change(_) | Self::Other | Self::Copy(_))
    }
}

/// The kind of a query or of a change of rows, by its first word.
fn of_rows(first: &str) -> Option<StatementKind> {
    Some(match first {
        "select" | "with" | "values" | "table" | "from" => StatementKind::Query,
        "insert" | "replace" => StatementKind::Change("INSERT"),
        "update" => StatementKind::Change("UPDATE"),
        "delete" => StatementKind::Change("DELETE"),
        "merge" => StatementKind::Change("MERGE"),
        _ => return None,
    })
}

/// Parses the rest of `COMMIT`.
fn commit(mut words: Words<'_>) -> Result<StatementKind, PgError> {
    skip_transaction(&mut words)?;
    Ok(StatementKind::Commit { is_chained: is_chained(words)? })
}

/// Parses the rest of `ROLLBACK`.
fn rollback(mut words: Words<'_>) -> Result<StatementKind, PgError> {
    skip_transaction(&mut words)?;
    match words.accept("to") {
        true => Ok(StatementKind::RollbackTo),
        false => Ok(StatementKind::Rollback { is_chained: is_chained(words)? }),
    }
}

/// Skips the words after `COMMIT` and `ROLLBACK` that change nothing.
fn skip_transaction(words: &mut Words<'_>) -> Result<(), PgError> {
    if words.accept("prepared") {
        return Err(no_two_phases("COMMIT PREPARED or ROLLBACK PREPARED"));
    }
    let _ = words.accept("work") || words.accept("transaction");
    Ok(())
}

/// Parses `AND CHAIN` or `AND NO CHAIN` up to the end of the statement, so that nothing else is taken for it.
fn is_chained(mut words: Words<'_>) -> Result<bool, PgError> {
    let mut is_chained = false;
    if words.accept("and") {
        is_chained = !words.accept("no");
        if !words.accept("chain") {
            let next = words.next();
            return Err(words.unexpected(next).into());
        }
    }
    words.end()?;
    Ok(is_chained)
}

/// Returns whether the modes of a transaction make it read-only. The last one counts.
fn read_only(words: Words<'_>) -> Option<bool> {
    let words: Vec<Word> = words.collect();
    let pair = |pair: &[Word]| match pair {
        [Word::Name(read), Word::Name(what)] if read == "read" && what == "only" => Some(true),
        [Word::Name(read), Word::Name(what)] if read == "read" && what == "write" => Some(false),
        _ => None,
    };
    words.windows(2).rev().find_map(pair)
}

fn setting_name(words: &mut Words<'_>) -> Result<String, PgError> {
    if words.accept("time") {
        return if words.accept("zone") { Ok("timezone".to_owned()) } else { Err(words.unexpected(None).into()) };
    }
    if words.accept("transaction") && words.accept("isolation") && words.accept("level") {
        return Ok("transaction_isolation".to_owned());
    }
    let mut name = words.name()?.to_lowercase();
    while words.accept_symbol('.') {
        name = format!("{name}.{}", words.name()?.to_lowercase());
    }
    Ok(name)
}

fn set(mut words: Words<'_>) -> Result<StatementKind, PgError> {
    let mut ahead = words.clone();
    let is_session = ahead.accept("session") && ahead.accept("characteristics");
    let mut after = words.clone();
    if after.accept("transaction") && after.accept("snapshot") {
        let name = match after.next() {
            Some(Word::Text(name)) => name,
            other => return Err(after.unexpected(other).into()),
        };
        after.end()?;
        return Ok(StatementKind::SetSnapshot(name));
    }
    if is_session || words.clone().accept("transaction") {
        return Ok(StatementKind::SetTransaction { read_only: read_only(words), is_session });
    }
    let is_session = words.accept("session");
    let is_local = !is_session && words.accept("local");
    if (words.accept("session") || is_session) && words.accept("authorization") {
        return Ok(StatementKind::Set { name: SESSION_AUTHORIZATION.to_owned(), value: value(&mut words)?, is_local });
    }
    let mut ahead = words.clone();
    if ahead.accept(ROLE) && !ahead.clone().accept("to") && ahead.peek() != Some(Word::Symbol('=')) {
        return Ok(StatementKind::Set { name: ROLE.to_owned(), value: value(&mut ahead)?, is_local });
    }
    if words.accept("names") {
        let value = value(&mut words)?;
        return Ok(StatementKind::Set { name: "client_encoding".to_owned(), value, is_local });
    }
    let mut ahead = words.clone();
    if ahead.accept("schema") && matches!(ahead.peek(), Some(Word::Text(_))) {
        return Ok(StatementKind::Set { name: SEARCH_PATH.to_owned(), value: names(&mut ahead)?, is_local });
    }
    let is_time_zone = words.clone().accept("time");
    let name = setting_name(&mut words)?;
    if !is_time_zone && !words.accept("to") && !words.accept_symbol('=') {
        let next = words.next();
        return Err(words.unexpected(next).into());
    }
    let value = if name == SEARCH_PATH {
        names(&mut words)?
    } else if is_time_zone && words.accept("interval") {
        Some(zone_interval(words)?)
    } else {
        value(&mut words)?
    };
    Ok(StatementKind::Set { name, value, is_local })
}

/// Parses the rest of `SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE`: the hours east of Greenwich.
fn zone_interval(mut words: Words<'_>) -> Result<String, PgError> {
    let hours = match words.next() {
        Some(Word::Text(hours)) => hours,
        other => return Err(words.unexpected(other).into()),
    };
    if words.accept("hour") && words.accept("to") && !words.accept("minute") {
        let next = words.next();
        return Err(words.unexpected(next).into());
    }
    words.end()?;
    Ok(hours)
}

/// Names as a list that keeps them apart; `None` for `DEFAULT`.
fn names(words: &mut Words<'_>) -> Result<Option<String>, PgError> {
    let mut ahead = words.clone();
    if ahead.accept("default") && matches!(ahead.next(), None | Some(Word::Symbol(';'))) {
        return Ok(None);
    }
    let mut names: Vec<String> = Vec::new();
    loop {
        match words.next() {
            // An empty text is a path without schemas.
            Some(Word::Text(name)) if name.is_empty() => {}
            Some(Word::Name(name) | Word::Quoted(name) | Word::Text(name)) => names.push(quoted(&name)),
            other => return Err(words.unexpected(other).into()),
        }
        match words.next() {
            Some(Word::Symbol(',')) => {}
            None | Some(Word::Symbol(';')) => return Ok(Some(names.join(", "))),
            other => return Err(words.unexpected(other).into()),
        }
    }
}

/// One or several values in their stored form; `None` for `DEFAULT`.
fn value(words: &mut Words<'_>) -> Result<Option<String>, PgError> {
    let mut ahead = words.clone();
    if ahead.accept("default") && matches!(ahead.next(), None | Some(Word::Symbol(';'))) {
        return Ok(None);
    }
    let mut parts: Vec<String> = Vec::new();
    let mut sign = "";
    loop {
        match words.next() {
            None | Some(Word::Symbol(';')) => break,
            Some(Word::Symbol(',')) => {}
            Some(Word::Symbol('-')) => sign = "-",
            Some(Word::Name(part) | Word::Quoted(part) | Word::Text(part) | Word::Number(part)) => {
                parts.push(format!("{}{part}", std::mem::take(&mut sign)));
            }
            other => return Err(words.unexpected(other).into()),
        }
    }
    if parts.is_empty() { Err(words.unexpected(None).into()) } else { Ok(Some(parts.join(", "))) }
}

/// Parses `SHOW`. Lists in MySQL's style, such as `SHOW TABLES`, are not settings.
fn show(mut words: Words<'_>) -> Result<StatementKind, PgError> {
    const LISTS: [&str; 8] = ["tables", "columns", "create", "databases", "functions", "index", "indexes", "keys"];
    match words.peek() {
        Some(Word::Name(name)) if LISTS.contains(&name.as_str()) => Ok(StatementKind::Report("SHOW")),
        _ => {
            let name = setting_name(&mut words)?;
            words.end()?;
            Ok(StatementKind::Show(name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_in_every_form() {
        let set_as = |name: &str, value: &str, is_local| StatementKind::Set {
            name: name.to_owned(),
            value: Some(value.to_owned()),
            is_local,
        };
        let set = |name: &str, value: &str| set_as(name, value, false);
        for (text, kind) in [
            ("SET extra_float_digits = 3", set("extra_float_digits", "3")),
            ("set session TimeZone to 'Europe/Berlin';", set("timezone", "Europe/Berlin")),
            ("SET TIME ZONE 'UTC'", set("timezone", "UTC")),
            ("SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE", set("timezone", "+02:00")),
            ("SET TIME ZONE INTERVAL '-08:00';", set("timezone", "-08:00")),
            ("SET LOCAL search_path TO \"$user\", public", set_as("search_path", "\"$user\", public", true)),
            ("SET search_path = 'a, b', C", set("search_path", "\"a, b\", c")),
            ("SET search_path TO ''", set("search_path", "")),
            ("SET SCHEMA 's'", set("search_path", "s")),
            ("SET NAMES 'utf8'", set("client_encoding", "utf8")),
            (
                "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
                StatementKind::SetTransaction { read_only: Some(true), is_session: true },
            ),
            (
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
                StatementKind::SetTransaction { read_only: Some(false), is_session: false },
            ),
            ("BEGIN ISOLATION LEVEL READ COMMITTED", StatementKind::Begin { read_only: None, tag: "BEGIN" }),
            (
                "start transaction isolation level serializable, read only",
                StatementKind::Begin { read_only: Some(true), tag: "START TRANSACTION" },
            ),
            ("SET TRANSACTION SNAPSHOT '1-2'", StatementKind::SetSnapshot("1-2".to_owned())),
            ("SET a.b = -1", set("a.b", "-1")),
            ("SET ROLE \"Anna\"", set("role", "Anna")),
            ("SET LOCAL ROLE NONE", set_as("role", "none", true)),
            ("SET role TO anna", set("role", "anna")),
            ("SET SESSION AUTHORIZATION 'anna'", set("session_authorization", "anna")),
            ("SET LOCAL SESSION AUTHORIZATION anna", set_as("session_authorization", "anna", true)),
            (
                "SET SESSION AUTHORIZATION DEFAULT",
                StatementKind::Set { name: "session_authorization".to_owned(), value: None, is_local: false },
            ),
            ("RESET SESSION AUTHORIZATION", StatementKind::Reset(Some("session_authorization".to_owned()))),
            ("RESET ROLE", StatementKind::Reset(Some("role".to_owned()))),
            (
                "SET datestyle TO DEFAULT",
                StatementKind::Set { name: "datestyle".to_owned(), value: None, is_local: false },
            ),
            ("SET CONSTRAINTS ALL IMMEDIATE;", StatementKind::SetConstraints),
            ("SET CONSTRAINTS one, s.two DEFERRED", StatementKind::SetConstraints),
            ("SHOW TRANSACTION ISOLATION LEVEL", StatementKind::Show("transaction_isolation".to_owned())),
            ("SHOW TABLES", StatementKind::Report("SHOW")),
            ("SHOW FUNCTIONS LIKE 'time%'", StatementKind::Report("SHOW")),
        ] {
            assert_eq!(StatementKind::of(text).unwrap(), kind, "{text}");
        }
        assert!(StatementKind::of("SET x").is_err());
        assert!(StatementKind::of("SET TRANSACTION SNAPSHOT '1' more").is_err());
    }

    #[test]
    fn cursors_are_statements_of_the_connection() {
        let fetch = |rows, is_move| StatementKind::Fetch { cursor: "c".to_owned(), rows, is_move };
        assert_eq!(StatementKind::of("FETCH 10 FROM c").unwrap(), fetch(Direction::Forward(Some(10)), false));
        assert_eq!(StatementKind::of("move last in \"c\"").unwrap(), fetch(Direction::Absolute(-1), true));
        let StatementKind::Declare(declaration) =
            StatementKind::of("DECLARE \"x y\" NO SCROLL CURSOR WITHOUT HOLD FOR SELECT 1").unwrap()
        else {
            panic!("no DECLARE")
        };
        assert_eq!((declaration.cursor.as_str(), declaration.query.as_str()), ("x y", "SELECT 1"));
    }

    #[test]
    fn brackets_are_told_from_statements() {
        assert_eq!(
            StatementKind::of("/* x */ BEGIN ISOLATION LEVEL REPEATABLE READ").unwrap(),
            StatementKind::Begin { read_only: None, tag: "BEGIN" }
        );
        assert_eq!(StatementKind::of("ROLLBACK TO SAVEPOINT a").unwrap(), StatementKind::RollbackTo);
        for (text, is_chained) in
            [("ROLLBACK", false), ("rollback work and chain", true), ("ABORT AND NO CHAIN", false)]
        {
            assert_eq!(StatementKind::of(text).unwrap(), StatementKind::Rollback { is_chained }, "{text}");
        }
        assert_eq!(StatementKind::of("END AND CHAIN;").unwrap(), StatementKind::Commit { is_chained: true });
        assert_eq!(StatementKind::of("COMMIT AND").unwrap_err().message, "syntax error at end of input");
        for refused in ["COMMIT PREPARED 'x'", "ROLLBACK PREPARED 'x'", "PREPARE TRANSACTION 'x'", "LISTEN x"] {
            let error = StatementKind::of(refused).unwrap_err();
            assert!(error.code == "0A000" && error.hint.is_some(), "{refused}");
        }
        assert_eq!(StatementKind::of("UNLISTEN *").unwrap(), StatementKind::Unlisten);
        assert_eq!(StatementKind::of("REINDEX DATABASE air;").unwrap(), StatementKind::Maintenance("REINDEX"));
        assert_eq!(StatementKind::of("ANALYSE t").unwrap(), StatementKind::Maintenance("ANALYZE"));
        assert_eq!(StatementKind::of("LOAD DATA INFILE 'x' INTO TABLE t").unwrap_err().code, "42501");
        assert_eq!(StatementKind::of("(SELECT 1)").unwrap(), StatementKind::Query);
        assert_eq!(StatementKind::of("WITH a AS (SELECT 1) SELECT * INTO t FROM a").unwrap(), StatementKind::Other);
    }

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
