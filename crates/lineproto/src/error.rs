//! Lines that were refused.

/// A line that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    /// The line's number in the request, from 1.
    pub line: u64,
    /// The beginning of the line.
    pub text: String,
    /// The problem.
    pub message: String,
}
