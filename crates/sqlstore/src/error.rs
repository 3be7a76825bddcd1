//! Internal failures and their conversion to errors.

use atsdb_core::{Error, ErrorKind};

/// A failure. Failures of the server contain a complete error: each server's crate has one table of codes.
#[derive(Debug)]
pub enum Failure {
    /// The connection is lost, or none can be made now. Its transaction is rolled back, unless it was just being
    /// committed.
    Lost(Error),
    /// The server accepts no more connections now.
    Full(Error),
    /// The server rolled the transaction back in favour of another: retry it.
    RolledBack(Error),
    /// The server failed; the transaction must be rolled back.
    Server(Error),
    /// The call, or the change of a commit, is refused; the connection is usable.
    Refused(Error),
}

/// The result of server operations.
pub type Attempt<T> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl Failure {
    /// Returns whether a retry a little later may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Full(_) | Self::RolledBack(_))
    }

    /// Adds the error of the client as the cause.
    pub fn with_source(self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        match self {
            Self::Lost(error) => Self::Lost(error.with_source(source)),
            Self::Full(error) => Self::Full(error.with_source(source)),
            Self::RolledBack(error) => Self::RolledBack(error.with_source(source)),
            Self::Server(error) => Self::Server(error.with_source(source)),
            Self::Refused(error) => Self::Refused(error.with_source(source)),
        }
    }

    /// Converts the failure to the error for the caller.
    pub fn into_error(self) -> Error {
        match self {
            Self::Lost(error)
            | Self::Full(error)
            | Self::RolledBack(error)
            | Self::Server(error)
            | Self::Refused(error) => error,
        }
    }
}

/// The failure of a statement that exceeds the server's limit, which is set by `setting`.
pub fn statement_too_large(location: &str, byte_count: usize, byte_count_max: usize, setting: &str) -> Failure {
    let message = format!(
        "a value is too large for the server of {location}: with it a statement has {byte_count} bytes, and {setting} allows \
         {byte_count_max}"
    );
    Failure::Refused(Error::new(ErrorKind::Limit, message).with_hint("shorten the value, or raise the limit there"))
}

/// The error for a commit with an unknown outcome: the server did not answer and cannot be reached.
pub(crate) fn unknown_outcome(location: &str, source: Error) -> Error {
    let message =
        format!("the connection to {location} broke during a commit, and the server has not been reachable since");
    Error::new(ErrorKind::Unavailable, message)
        .with_hint(
            "check whether the change is stored before you repeat it; a batch with an id can simply be sent again",
        )
        .with_source(source)
}
