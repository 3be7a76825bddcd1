//! The error that every crate returns: a kind that shows the caller what to do, a message that states what happened and
//! where, and a hint about what to do next.

use arrow_schema::ArrowError;
use std::fmt;
use strum::{IntoStaticStr, VariantArray};

/// The result type of all fallible functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error: what a caller can do about it. [`ErrorKind::sqlstate`], [`ErrorKind::exit_code`] and
/// [`ErrorKind::python_base`] map it to the codes of the outside world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ErrorKind {
    /// The call, option or URL is wrong: correct it.
    Usage,
    /// The SQL text is wrong, or uses something that is not supported: correct it.
    Sql,
    /// A table, column or file of that name does not exist.
    NotFound,
    /// A table of that name already exists.
    Exists,
    /// A value does not fit its column: NULL time, out of range, malformed text. The message names the location.
    InvalidValue,
    /// A row's key already exists. The message names the key.
    DuplicateKey,
    /// A row does not satisfy a CHECK constraint. The message names the constraint.
    CheckViolation,
    /// A row refers to a row that does not exist. The message names the foreign key.
    ForeignKeyViolation,
    /// A limit is reached: a full dictionary, too many columns. The message names the remedy.
    Limit,
    /// A query needed more memory or time than it is allowed.
    Resources,
    /// Another writer changed the same thing first: read again and retry.
    Conflict,
    /// Another process held the store longer than the timeout: retry later.
    Busy,
    /// Stored bytes are damaged. The message names the location; everything else stays readable.
    Corrupt,
    /// The store, or a page of it, was written by a newer version: upgrade the program.
    NewerFormat,
    /// The path or URL does not name a store.
    NotAStore,
    /// The store can be read but not written.
    ReadOnly,
    /// The medium failed: disk full, I/O error, lost connection. The call stored nothing.
    Unavailable,
    /// The caller requested a stop.
    Interrupted,
    /// An internal invariant is broken: report it.
    Internal,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name, in words joined by `_`: `not_found`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The exception of Python's database interface (PEP 249) that an exception of this kind is derived from.
    pub fn python_base(self) -> &'static str {
        match self {
            Self::Usage | Self::Sql | Self::NotFound | Self::Exists => "ProgrammingError",
            Self::InvalidValue | Self::Limit => "DataError",
            Self::DuplicateKey | Self::CheckViolation | Self::ForeignKeyViolation => "IntegrityError",
            Self::Corrupt | Self::Internal => "InternalError",
            Self::NewerFormat => "NotSupportedError",
            Self::Resources
            | Self::Conflict
            | Self::Busy
            | Self::NotAStore
            | Self::ReadOnly
            | Self::Unavailable
            | Self::Interrupted => "OperationalError",
        }
    }

    /// The best matching five-character SQLSTATE of PostgreSQL.
    pub fn sqlstate(self) -> &'static str {
        match self {
            Self::Usage => "22023",
            Self::Sql => "42601",
            Self::NotFound => "42P01",
            Self::Exists => "42P07",
            Self::InvalidValue => "22000",
            Self::DuplicateKey => "23505",
            Self::CheckViolation => "23514",
            Self::ForeignKeyViolation => "23503",
            Self::Limit => "54000",
            Self::Resources => "53200",
            Self::Conflict => "40001",
            Self::Busy => "55P03",
            Self::Corrupt => "XX001",
            Self::NewerFormat => "0A000",
            Self::NotAStore => "08001",
            Self::ReadOnly => "25006",
            Self::Unavailable => "58030",
            Self::Interrupted => "57014",
            Self::Internal => "XX000",
        }
    }

    /// Returns whether a resource was unavailable: file handles, memory, disk space, a server, permission, a lock that
    /// another process holds, the time to finish. Such an error does not show whether stored bytes are intact.
    pub fn is_shortage(self) -> bool {
        matches!(self, Self::Resources | Self::Busy | Self::ReadOnly | Self::Unavailable | Self::Interrupted)
    }

    /// The exit code of the program: 1 usage, 2 store or run, 3 SQL, 130 interrupted.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Usage => 1,
            Self::Sql => 3,
            Self::Interrupted => 130,
            _ => 2,
        }
    }
}

/// An error: a kind, a message, and optionally a hint and a cause.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Creates an error of this kind. The message is a sentence without a full stop.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), hint: None, source: None }))
    }

    /// [`ErrorKind::Usage`] with this message.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// [`ErrorKind::InvalidValue`] with this message.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidValue, message)
    }

    /// [`ErrorKind::Corrupt`] with this message.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// [`ErrorKind::NotFound`] with this message.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// [`ErrorKind::Internal`] with this message.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// [`ErrorKind::Resources`]: the system cannot start a thread.
    pub fn no_thread(error: std::io::Error) -> Self {
        Self::new(ErrorKind::Resources, format!("cannot start a thread: {error}"))
            .with_hint("the process may have too little memory or too few threads: see ulimit -v and ulimit -u")
            .with_source(error)
    }

    /// Adds a hint: what to do next, as an imperative sentence without a full stop.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the cause.
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Prefixes the message with where it happened: `context: message`.
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.0.message = format!("{context}: {}", self.0.message);
        self
    }

    /// Returns what the caller can do about the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns what happened, without the hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns what to do next, if that is known.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Creates a copy for another waiter of the same failed work. The cause becomes text.
    pub fn duplicate(&self) -> Self {
        let mut copy = Self::new(self.kind(), self.message());
        copy.0.hint.clone_from(&self.0.hint);
        copy.0.source = self.0.source.as_ref().map(|source| source.to_string().into());
        copy
    }
}

/// An error of an Arrow kernel that the caller's checks should have made impossible. Where the data of a user can cause
/// it, map it to another kind instead.
impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        Self::internal(format!("arrow: {error}")).with_source(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match &self.0.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source.as_ref() as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_message_then_hint() {
        let error = Error::invalid("dictionary of sensor is full").with_hint("declare sensor:u16").context("t");
        assert_eq!(error.to_string(), "t: dictionary of sensor is full (declare sensor:u16)");
        assert_eq!((error.kind().exit_code(), error.kind().sqlstate()), (2, "22000"));
    }
}
