//! A query with what is known of it, and the steps of a run.

use super::types::Type;

/// One statement of a run.
pub(crate) enum RunStep {
    Query(Query),
    /// Executed on all sides, one after the other. Then the contents of the tables are compared.
    Changes(Vec<String>),
}

/// A query and the types of its columns, which are called `c0`, `c1`, ...
#[derive(Debug, Clone, Default)]
pub(crate) struct Query {
    pub(crate) sql: String,
    pub(crate) types: Vec<Type>,
    /// The texts of the values of its parameters, if it has some.
    pub(crate) parameters: Vec<String>,
    /// Whether the rows are compared in order: the order includes every column.
    pub(crate) is_ordered: bool,
    /// Whether it aggregates all rows, which always gives one row.
    pub(crate) is_single: bool,
    /// Whether the oracle does not have what it uses.
    pub(crate) is_extension: bool,
    /// The query without its condition, and the condition.
    pub(crate) partition: Option<(String, String)>,
}

impl Query {
    pub(crate) fn new(sql: String, types: Vec<Type>) -> Self {
        Self { sql, types, ..Self::default() }
    }

    /// The query, and the values of its parameters.
    pub(crate) fn shown(&self) -> String {
        let Self { sql, parameters, .. } = self;
        if parameters.is_empty() { sql.clone() } else { format!("{sql} -- {parameters:?}") }
    }
}
