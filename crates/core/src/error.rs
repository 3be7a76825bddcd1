//! The error that every crate returns: a kind that tells the caller what to do, a message that says what
//! happened and where, a hint that says how to go on.

use arrow_schema::ArrowError;
use std::fmt;

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a caller can do about an error. One table, [`ErrorKind::sqlstate`] and [`ErrorKind::exit_code`],
/// maps it to the codes of the outside world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The call, option or URL is wrong: correct it.
    Usage,
    /// The SQL text is wrong, or asks for what is not supported: correct it.
    Sql,
    /// A table, column or file of that name is not there.
    NotFound,
    /// A table of that name is there already.
    Exists,
    /// A value does not fit its column: NULL time, out of range, malformed text. The message names the place.
    InvalidValue,
    /// A row's key is there already. The message names the key.
    DuplicateKey,
    /// A limit is reached: a full dictionary, too many columns. The message names the remedy.
    Limit,
    /// A query asked for more memory or time than it may have.
    Resources,
    /// Somebody else changed the same thing first: look again and retry.
    Conflict,
    /// Somebody else holds the store longer than the timeout: retry later.
    Busy,
    /// Stored bytes are damaged. The message names the place; other places stay readable.
    Corrupt,
    /// The store, or a page of it, was written by a newer version: upgrade the program.
    NewerFormat,
    /// The path or URL names something that is no store.
    NotAStore,
    /// The store can be read but not written.
    ReadOnly,
    /// The medium failed: disk full, I/O error, lost connection. Nothing of the call was stored.
    Unavailable,
    /// The caller asked to stop.
    Interrupted,
    /// A promise inside the program is broken: report it.
    Internal,
}

impl ErrorKind {
    /// The five-character SQLSTATE of PostgreSQL's table that fits best.
    pub fn sqlstate(self) -> &'static str {
        match self {
            Self::Usage => "22023",
            Self::Sql => "42601",
            Self::NotFound => "42P01",
            Self::Exists => "42P07",
            Self::InvalidValue => "22000",
            Self::DuplicateKey => "23505",
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

    /// Whether something could not be had now: file handles, memory, disk space, a server, permission, a lock that
    /// somebody else holds, the time to finish. It says nothing of whether stored bytes are whole.
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

/// An error: kind, message, and where there is one a hint and a cause.
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
    /// An error of this kind; the message is a sentence without a full stop.
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

    /// The same error with a hint: what to do, as an imperative sentence without a full stop.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error with its cause.
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The same error, its message led by where it happened: `context: message`.
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.0.message = format!("{context}: {}", self.0.message);
        self
    }

    /// What the caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What happened, without the hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// How to go on, where that is known.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// A copy for another waiter of the same failed work; the cause goes along as text.
    pub fn duplicate(&self) -> Self {
        let mut copy = Self::new(self.kind(), self.message());
        copy.0.hint.clone_from(&self.0.hint);
        copy.0.source = self.0.source.as_ref().map(|source| source.to_string().into());
        copy
    }
}

/// An error of an Arrow kernel that the caller's checks should have made impossible. Where the data of a user can cause it,
/// map it to another kind instead.
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
