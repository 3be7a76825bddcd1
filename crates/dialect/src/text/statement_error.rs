//! Errors about statements that are read without the parser, with PostgreSQL's codes and messages.

use super::errors::sql_error;
use atsdb_core::Error;

/// An error with the message and the SQLSTATE that PostgreSQL has for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementError {
    /// The SQLSTATE.
    pub sqlstate: &'static str,
    /// The message.
    pub message: String,
    /// The hint that says what to do next, for messages of atsdb's own; `None` for messages of PostgreSQL, which has no
    /// such hint.
    pub hint: Option<&'static str>,
}

impl StatementError {
    /// Returns an error with a code of five characters.
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> Self {
        Self { sqlstate, message: message.into(), hint: None }
    }

    /// Returns the error with a hint.
    pub fn with_hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    /// Returns an error of syntax, 42601.
    pub fn syntax(message: impl Into<String>) -> Self {
        Self::new("42601", message)
    }

    /// Returns an error about what is not supported, 0A000.
    pub fn not_supported(message: impl Into<String>) -> Self {
        Self::new("0A000", message)
    }

    /// Returns an error about a wrong option, 22023.
    pub fn invalid_option(message: impl Into<String>) -> Self {
        Self::new("22023", message)
    }
}

impl From<StatementError> for Error {
    fn from(error: StatementError) -> Self {
        let (error, hint) = (sql_error(error.message), error.hint);
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}
