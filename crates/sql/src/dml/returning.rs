//! The clause `RETURNING`.

use datafusion::sql::sqlparser::ast::SelectItem;

/// A `RETURNING` clause.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Returning {
    pub(crate) items: Vec<SelectItem>,
    /// The name of the table in the statement.
    pub(crate) alias: String,
}
