//! A part of a statement that was left out.

/// Something that a statement with `IF EXISTS` or `IF NOT EXISTS` has left out, in PostgreSQL's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The SQLSTATE of the notice.
    pub sqlstate: &'static str,
    /// The text of the notice.
    pub message: String,
}
