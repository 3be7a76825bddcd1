//! Errors as statuses of gRPC: a code for each kind of error, and the message with its hint.

use atsdb::{Error, ErrorKind};
use tonic::{Code, Status};

/// The status for an error.
pub(super) fn status_of(error: &Error) -> Status {
    let message = match error.hint() {
        Some(hint) => format!("{} ({hint})", error.message()),
        None => error.message().to_owned(),
    };
    Status::new(code_of(error.kind()), message)
}

/// A result whose error is a status of gRPC.
pub(super) type StatusResult<T> = std::result::Result<T, Status>;

/// Errors that become statuses.
pub(super) trait IntoStatus<T> {
    /// Converts the error to a gRPC status.
    fn or_status(self) -> StatusResult<T>;
}

impl<T> IntoStatus<T> for atsdb::Result<T> {
    fn or_status(self) -> StatusResult<T> {
        self.map_err(|error| status_of(&error))
    }
}

impl<T> IntoStatus<T> for std::result::Result<T, atsdb::arrow::error::ArrowError> {
    fn or_status(self) -> StatusResult<T> {
        self.map_err(|error| status_of(&Error::from(error)))
    }
}

fn code_of(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::Usage
        | ErrorKind::Sql
        | ErrorKind::InvalidValue
        | ErrorKind::CheckViolation
        | ErrorKind::ForeignKeyViolation => Code::InvalidArgument,
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::Exists | ErrorKind::DuplicateKey => Code::AlreadyExists,
        ErrorKind::Limit => Code::OutOfRange,
        ErrorKind::Resources => Code::ResourceExhausted,
        ErrorKind::Conflict => Code::Aborted,
        ErrorKind::Busy | ErrorKind::Unavailable => Code::Unavailable,
        ErrorKind::ReadOnly => Code::PermissionDenied,
        ErrorKind::Interrupted => Code::Cancelled,
        ErrorKind::Corrupt => Code::DataLoss,
        ErrorKind::NewerFormat | ErrorKind::NotAStore => Code::FailedPrecondition,
        ErrorKind::Internal => Code::Internal,
    }
}
