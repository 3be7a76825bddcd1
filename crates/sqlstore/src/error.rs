//! What can go wrong inside, on its way out.

use atsdb_core::{Error, ErrorKind};

/// A failure. Those of the server come with their error made: each server's crate has one table of codes.
#[derive(Debug)]
pub enum Failure {
    /// The connection is gone, or there is none to be had now. What its transaction did is undone, unless it was just
    /// committing.
    Lost(Error),
    /// The server takes no more connections now.
    Full(Error),
    /// The server undid the transaction so that another could go on: do it again.
    Undone(Error),
    /// The server could not do it; nothing of the transaction may stay.
    Server(Error),
    /// This call, or this change of a commit, is not possible; the connection is well.
    Refused(Error),
}

/// The result of what talks to a server.
pub type Attempt<T> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl Failure {
    /// Whether the same may come through a little later.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Full(_) | Self::Undone(_))
    }

    /// The same, with what the client said.
    pub fn with_source(self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        match self {
            Self::Lost(error) => Self::Lost(error.with_source(source)),
            Self::Full(error) => Self::Full(error.with_source(source)),
            Self::Undone(error) => Self::Undone(error.with_source(source)),
            Self::Server(error) => Self::Server(error.with_source(source)),
            Self::Refused(error) => Self::Refused(error.with_source(source)),
        }
    }

    /// The error for the caller.
    pub fn into_error(self) -> Error {
        match self {
            Self::Lost(error)
            | Self::Full(error)
            | Self::Undone(error)
            | Self::Server(error)
            | Self::Refused(error) => error,
        }
    }
}

/// The error for a statement that is larger than the server takes, as the setting of that name says.
pub fn statement_too_large(place: &str, byte_count: usize, byte_count_max: usize, setting: &str) -> Failure {
    let message = format!(
        "a value is too large for the server of {place}: with it a statement has {byte_count} bytes, and {setting} allows \
         {byte_count_max}"
    );
    Failure::Refused(Error::new(ErrorKind::Limit, message).with_hint("shorten the value, or raise the limit there"))
}

/// The error for a commit of which the server said nothing, and cannot be asked.
pub(crate) fn unknown_outcome(place: &str, source: Error) -> Error {
    let message = format!("the connection to {place} broke while it committed, and the server cannot be asked since");
    Error::new(ErrorKind::Unavailable, message)
        .with_hint(
            "look whether the change is there before doing it again; a batch with an id may simply be sent again",
        )
        .with_source(source)
}
