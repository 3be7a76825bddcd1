//! The reason why a measurement has no figure.

use atsdb::{Error, ErrorKind};
use std::fmt;

/// The reason why a measurement has no figure.
#[derive(Debug)]
pub enum Failure {
    /// The contestant cannot do it; the reason is shown unchanged.
    Cannot(String),
    /// The contestant failed, or gave a wrong answer.
    Failed(Error),
    /// The caller interrupted the run.
    Interrupted,
}

impl Failure {
    /// The contestant cannot do it, for this reason.
    pub fn cannot(reason: impl Into<String>) -> Self {
        Self::Cannot(reason.into())
    }

    /// A figure of the server's process, of a contestant that has none.
    pub fn no_server() -> Self {
        Self::cannot("no server: works in the lab itself")
    }

    /// A wrong answer.
    pub fn wrong(message: impl Into<String>) -> Self {
        Self::Failed(Error::new(ErrorKind::Internal, message))
    }

    /// Something below failed.
    pub fn broken(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        let message = source.to_string();
        Self::Failed(Error::new(ErrorKind::Unavailable, message).with_source(source))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Interrupted => Self::Interrupted,
            _ => Self::Failed(error),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cannot(reason) => f.write_str(reason),
            Self::Failed(error) => error.fmt(f),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}
