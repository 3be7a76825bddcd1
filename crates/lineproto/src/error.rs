//! Lines that were refused.

/// A line that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    /// Its number in the request, from 1 on.
    pub line: u64,
    /// Its beginning.
    pub text: String,
    /// The problem.
    pub message: String,
}
