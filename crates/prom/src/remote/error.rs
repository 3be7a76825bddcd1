//! The errors for which a request of Prometheus is refused.

use std::fmt;

/// A request that can never be accepted. Prometheus drops it and does not retry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteError {
    /// The bytes do not have the declared format.
    Malformed(String),
    /// The body is larger than allowed.
    TooLarge(String),
    /// The content type, or the compression, is not supported.
    Unsupported(String),
}

impl RemoteError {
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::Malformed(message.into())
    }

    /// The HTTP status of the answer.
    pub fn status(&self) -> u16 {
        match self {
            Self::Malformed(_) => 400,
            Self::TooLarge(_) => 413,
            Self::Unsupported(_) => 415,
        }
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(message) | Self::TooLarge(message) | Self::Unsupported(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for RemoteError {}
