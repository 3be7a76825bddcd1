//! A part of a statement that was left out.

use datafusion::sql::sqlparser::ast::Ident;

/// A notice about an operation that a statement with `IF EXISTS` or `IF NOT EXISTS` has skipped, in PostgreSQL's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkipNotice {
    /// The SQLSTATE of the notice.
    pub sqlstate: &'static str,
    /// The text of the notice.
    pub message: String,
}

/// A name as PostgreSQL keeps it: in lower case unless it is quoted.
pub fn folded(name: &Ident) -> String {
    if name.quote_style.is_none() { name.value.to_lowercase() } else { name.value.clone() }
}
