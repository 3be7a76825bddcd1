//! The clause `RETURNING`.

use datafusion::sql::sqlparser::ast::SelectItem;

/// What a `RETURNING` asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Returning {
    pub(crate) items: Vec<SelectItem>,
    /// What the statement calls the table.
    pub(crate) alias: String,
}
