//! Errors and notices in PostgreSQL's form: a severity, an SQLSTATE, a message.

use crate::access::role::PERMISSION_DENIED;
use atsdb::sql::StatementError;
use atsdb::{Error, ErrorKind};
use std::borrow::Cow;

/// The SQLSTATE of bytes that are not UTF-8.
pub(in crate::pg) const INVALID_BYTES: &str = "22021";

/// The severity of an error or notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pg) enum Severity {
    Notice,
    Warning,
    Error,
    /// The connection ends.
    Fatal,
}

impl Severity {
    pub(in crate::pg) fn name(self) -> &'static str {
        match self {
            Self::Notice => "NOTICE",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
        }
    }

    pub(in crate::pg) fn is_notice(self) -> bool {
        matches!(self, Self::Notice | Self::Warning)
    }
}

/// An error or a notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pg) struct PgError {
    pub(in crate::pg) severity: Severity,
    /// The SQLSTATE.
    pub(in crate::pg) code: &'static str,
    pub(in crate::pg) message: Cow<'static, str>,
    pub(in crate::pg) detail: Option<Box<str>>,
    pub(in crate::pg) hint: Option<Box<str>>,
    /// Where the error occurred, such as the line and the column of a COPY.
    pub(in crate::pg) context: Option<Box<str>>,
    /// The position in the text of the query, in characters from 1.
    pub(in crate::pg) position: Option<usize>,
}

impl PgError {
    pub(in crate::pg) fn new(severity: Severity, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { severity, code, message: message.into(), detail: None, hint: None, context: None, position: None }
    }

    pub(in crate::pg) fn error(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    pub(in crate::pg) fn fatal(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Severity::Fatal, code, message)
    }

    /// The client violates the protocol: no further message can be trusted.
    pub(in crate::pg) fn protocol(message: impl Into<Cow<'static, str>>) -> Self {
        Self::fatal("08P01", message)
    }

    pub(in crate::pg) fn not_utf8() -> Self {
        Self::error(INVALID_BYTES, "invalid byte sequence for encoding \"UTF8\"")
    }

    /// The same with the first invalid bytes of a text.
    pub(in crate::pg) fn invalid_utf8(text: &[u8], error: std::str::Utf8Error) -> Self {
        let rest = &text[error.valid_up_to()..];
        // The length that the first byte claims.
        let length = match rest.first() {
            Some(0xc0..=0xdf) => 2,
            Some(0xe0..=0xef) => 3,
            Some(0xf0..=0xf7) => 4,
            _ => 1,
        };
        let bytes: Vec<String> = rest.iter().take(length).map(|byte| format!("0x{byte:02x}")).collect();
        Self::error(INVALID_BYTES, format!("invalid byte sequence for encoding \"UTF8\": {}", bytes.join(" ")))
    }

    pub(in crate::pg) fn not_supported(what: impl std::fmt::Display) -> Self {
        Self::error("0A000", format!("{what} is not supported"))
    }

    pub(in crate::pg) fn syntax(message: impl Into<Cow<'static, str>>) -> Self {
        Self::error("42601", message)
    }

    pub(in crate::pg) fn failed_transaction() -> Self {
        Self::error("25P02", "current transaction is aborted, commands ignored until end of transaction block")
    }

    pub(in crate::pg) fn no_files() -> Self {
        Self::error("42501", "SQL that came over the network may not read or write files of the server")
            .with_hint("use COPY ... FROM STDIN or COPY ... TO STDOUT; psql's \\copy does")
    }

    /// There is no room for what the client sends.
    pub(in crate::pg) fn full() -> Self {
        Self::error("53200", "too many bytes are being written").with_hint("retry later")
    }

    pub(in crate::pg) fn shutting_down() -> Self {
        Self::fatal("57P01", "terminating connection due to administrator command")
    }

    pub(in crate::pg) fn with_hint(mut self, hint: impl Into<Box<str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Finds the position that the message names (`at line 1, column 8`) in the text of the query.
    pub(in crate::pg) fn placed_in(mut self, query: &str) -> Self {
        if self.position.is_none() {
            self.position = place_of(&self.message).and_then(|(line, column)| position(query, line, column));
        }
        self
    }
}

/// Why an operation failed.
#[derive(Debug)]
pub(in crate::pg) enum Failure {
    /// An error that is sent to the client.
    Error(PgError),
    /// The client has disconnected, or does not read.
    Gone,
}

impl From<PgError> for Failure {
    fn from(error: PgError) -> Self {
        Self::Error(error)
    }
}

impl From<StatementError> for PgError {
    fn from(error: StatementError) -> Self {
        Self::error(error.sqlstate, error.message)
    }
}

impl From<StatementError> for Failure {
    fn from(error: StatementError) -> Self {
        Self::Error(error.into())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error.into())
    }
}

/// The line and column that a message names.
fn place_of(message: &str) -> Option<(usize, usize)> {
    let (_, rest) = message.split_once("at line ")?;
    let (line, rest) = rest.split_once(", column ")?;
    let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    Some((line.parse().ok()?, rest[..digits].parse().ok()?))
}

fn position(query: &str, line: usize, column: usize) -> Option<usize> {
    let before: usize = query.split_inclusive('\n').take(line.checked_sub(1)?).map(|line| line.chars().count()).sum();
    Some(before + column)
}

impl From<Error> for PgError {
    fn from(error: Error) -> Self {
        let code = code_of(&error);
        // An internal error may quote anything.
        let mut converted = Self::error(code, error.message().to_owned());
        converted.hint = error.hint().map(Box::from);
        converted
    }
}

/// The SQLSTATE of an error. It depends on the kind, and for errors of SQL and of values also on the message.
fn code_of(error: &Error) -> &'static str {
    let message = error.message();
    let has = |part: &str| message.contains(part);
    match error.kind() {
        ErrorKind::Sql | ErrorKind::NotFound => match () {
            () if has("syntax error") => "42601",
            () if has("non-DEFAULT value") || has("can only be updated to DEFAULT") => "428C9",
            () if has("is not yet defined in this session") => "55000",
            () if message.starts_with("relation ") && has("does not exist") => "42P01",
            () if has("no table named") || message.starts_with("table '") && has("not found") => "42P01",
            () if has("no column named") || has("is not a column") => "42703",
            () if has("Ambiguous reference") || has("ambiguous") => "42702",
            () if has("Invalid function") || has("no function named") => "42883",
            () if has("not supported") => "0A000",
            () if has("may not read") || has("may not write") => "42501",
            () if has("GROUP BY") && has("neither") => "42803",
            () if has("a statement of this transaction has failed") => "25P02",
            () if has("no transaction is open") => "25P01",
            () if has("a transaction is already open") => "25001",
            () if has("does not take") || has(" takes ") && has("argument") => "42883",
            () if has("Cannot infer common argument type") || has("Cannot coerce") || has("type_coercion") => "42883",
            () if has("is a view") || has("is a table") || has("is a rollup") => "42809",
            () if has("multiple primary keys") => "42P16",
            () if has("is set twice") || has("appears twice") || has("two columns named") => "42701",
            () if has("nested too deep") || has("more than") => "54001",
            () if has("no value is given for the parameter") => "42P02",
            () if has("no schema") => "3F000",
            () if has("other objects depend on it") => "2BP01",
            () if has("unacceptable schema name") => "42939",
            () if has("no savepoint") => "3B001",
            () if has("of the type") || has("is of type") => "42804",
            () if error.kind() == ErrorKind::NotFound => "42704",
            () => "42601",
        },
        ErrorKind::InvalidValue => match () {
            () if has("malformed array literal") => "22P02",
            () if has("has several dimensions, but arrays have one") => "0A000",
            () if has("division by zero") => "22012",
            () if has("overflow") || has("does not fit") || has("out of range") => "22003",
            () if has("NULL in") || has("is NOT NULL") || has("is NULL") || has("contains null values") => "23502",
            () if has("Cast") || has("cast") || has("parse") || has("is no ") || has("is not a") || has("invalid") => {
                "22P02"
            }
            () => "22000",
        },
        ErrorKind::Exists if message.starts_with("the schema ") || has(": the schema ") => "42P06",
        ErrorKind::Limit if has("value of sequence") => "2200H",
        ErrorKind::ReadOnly if message.starts_with(PERMISSION_DENIED) => "42501",
        ErrorKind::Resources if has("ran for longer") => "57014",
        kind => kind.sqlstate(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_in_a_message_becomes_a_position() {
        let text = "SELECT 'é',\n  x y z";
        let error = PgError::syntax("syntax error at line 2, column 5: Expected").placed_in(text);
        assert_eq!(error.position, Some(17));
        assert_eq!(PgError::syntax("syntax error").placed_in(text).position, None);
    }

    #[test]
    fn every_kind_has_a_code() {
        let code = |kind, message: &str| PgError::from(Error::new(kind, message)).code;
        assert_eq!(code(ErrorKind::Sql, "no table named t"), "42P01");
        assert_eq!(code(ErrorKind::Sql, "no column named c in t"), "42703");
        assert_eq!(code(ErrorKind::Sql, "FOR UPDATE is not supported yet"), "0A000");
        assert_eq!(code(ErrorKind::Conflict, "another writer was faster"), "40001");
        assert_eq!(code(ErrorKind::Interrupted, "the query was interrupted"), "57014");
        assert_eq!(code(ErrorKind::DuplicateKey, "the key is there"), "23505");
        assert_eq!(code(ErrorKind::Resources, "more memory"), "53200");
        assert_eq!(code(ErrorKind::InvalidValue, "division by zero"), "22012");
        let malformed =
            |text| code(ErrorKind::InvalidValue, &atsdb::array_text::parse(text).unwrap_err().message(text));
        assert_eq!([malformed("{1,}"), malformed("{{1},{2}}")], ["22P02", "0A000"]);
        assert_eq!(code(ErrorKind::Exists, "t is there"), "42P07");
        assert_eq!(code(ErrorKind::Exists, "the schema s already exists"), "42P06");
        assert_eq!(code(ErrorKind::Exists, "the transaction is rolled back: the schema s already exists"), "42P06");
        assert_eq!(code(ErrorKind::ReadOnly, "cannot execute INSERT in a read-only transaction"), "25006");
        assert_eq!(code(ErrorKind::ReadOnly, &crate::access::role::Role::Read.refusal()), "42501");
    }
}
