//! Errors and notices in PostgreSQL's form: a severity, an SQLSTATE, a message.

use super::violation::{ErrorObject, Violation};
use atsdb::Error;
use atsdb::sql::{StatementError, sqlstate_of};
use std::borrow::Cow;
use strum::IntoStaticStr;

/// The SQLSTATE of bytes that are not UTF-8.
pub(in crate::pg) const INVALID_BYTES: &str = "22021";

/// The severity of an error or notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
pub(in crate::pg) enum Severity {
    Notice,
    Warning,
    Error,
    /// The connection ends.
    Fatal,
}

impl Severity {
    pub(in crate::pg) fn name(self) -> &'static str {
        self.into()
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
    /// The place at which the error occurred, such as the line and the column of a COPY.
    pub(in crate::pg) context: Option<Box<str>>,
    /// The position in the text of the query, in characters from 1.
    pub(in crate::pg) position: Option<usize>,
    /// The table, column or constraint that the error concerns, if it is known.
    pub(in crate::pg) subject: Option<Box<Subject>>,
}

/// The table, column or constraint that an error concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pg) enum Subject {
    /// The object that the error's message names.
    Named(Violation),
    /// The object as the definition of the table names it.
    Defined(ErrorObject),
}

impl PgError {
    pub(in crate::pg) fn new(severity: Severity, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        let message = message.into();
        Self { severity, code, message, detail: None, hint: None, context: None, position: None, subject: None }
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

    /// Returns the error that there is no room for the data of the client.
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

    /// The same error with the fields that name its table and, if a key exists, with PostgreSQL's message.
    pub(in crate::pg) fn about(mut self, object: ErrorObject) -> Self {
        if self.code == "23505"
            && let Some(constraint) = &object.constraint
        {
            self.message = format!("duplicate key value violates unique constraint \"{constraint}\"").into();
        }
        self.subject = Some(Box::new(Subject::Defined(object)));
        self
    }

    /// Finds the position that the message names (`at line 1, column 8`) in the text of the query.
    pub(in crate::pg) fn placed_in(mut self, query: &str) -> Self {
        if self.position.is_none() {
            self.position = place_of(&self.message).and_then(|(line, column)| position(query, line, column));
        }
        self
    }

    /// Removes the line and column from the message. Use this if they refer to a text that the client did not send.
    pub(in crate::pg) fn without_place(mut self) -> Self {
        if place_of(&self.message).is_some()
            && let Some((before, rest)) = self.message.split_once(" at line ")
            && let Some((_, rest)) = rest.split_once(", column ")
        {
            let after = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
            self.message = Cow::Owned(format!("{before}{after}"));
        }
        self
    }
}

/// The failure of an operation.
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
        let code = sqlstate_of(&error);
        let violation = Violation::of(&error, code);
        // PostgreSQL has the values of a key in the detail alone.
        let message = match &violation {
            Some(Violation::DeclaredKey { name, .. }) => format!("could not create unique index \"{name}\""),
            Some(Violation::Reference { message, .. }) => message.clone(),
            Some(Violation::LongText { message, .. }) => message.clone(),
            _ => error.message().to_owned(),
        };
        let mut converted = Self::error(code, message);
        converted.hint = error.hint().map(Box::from);
        converted.detail = violation.as_ref().and_then(Violation::detail).map(Box::from);
        converted.subject = violation.map(|violation| Box::new(Subject::Named(violation)));
        converted
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
        let error = PgError::syntax("syntax error at line 2, column 5: Expected").without_place().placed_in(text);
        assert_eq!((&*error.message, error.position), ("syntax error: Expected", None));
    }

    #[test]
    fn a_refusal_of_a_role_has_its_own_code() {
        let refusal = Error::new(atsdb::ErrorKind::ReadOnly, crate::access::role::Role::Read.refusal());
        assert_eq!(PgError::from(refusal).code, "42501");
    }
}
