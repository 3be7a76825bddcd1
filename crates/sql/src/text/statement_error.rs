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
}

impl StatementError {
    pub(crate) fn new(sqlstate: &'static str, message: impl Into<String>) -> Self {
        Self { sqlstate, message: message.into() }
    }

    pub(crate) fn syntax(message: impl Into<String>) -> Self {
        Self::new("42601", message)
    }

    pub(crate) fn not_supported(message: impl Into<String>) -> Self {
        Self::new("0A000", message)
    }

    pub(crate) fn invalid_option(message: impl Into<String>) -> Self {
        Self::new("22023", message)
    }
}

impl From<StatementError> for Error {
    fn from(error: StatementError) -> Self {
        sql_error(error.message)
    }
}
