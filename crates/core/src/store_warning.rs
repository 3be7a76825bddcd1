//! Warnings of an open store.

use std::fmt;

/// A condition that weakens a guarantee of a store, such as a setting of its server. Displayed as its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreWarning {
    /// The condition and what follows from it, as a sentence.
    pub message: String,
    /// Statements for the server's own client that end it, one a line. `None` if no statement does.
    pub fix: Option<String>,
}

impl StoreWarning {
    /// A warning that no statement ends.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), fix: None }
    }

    /// Adds the statements that end it.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

impl fmt::Display for StoreWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
