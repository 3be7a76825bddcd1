//! The queries of views and materialized views.

use serde::{Deserialize, Serialize};

/// A view: a table without stored rows, defined by a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// The query, as written.
    pub query: String,
}

/// A materialized view: a plain table with the rows that its query had when it was last refreshed. Nothing else adds or
/// changes rows of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaterializedView {
    /// The query. Its columns are those of the table, in order.
    pub query: String,
    /// Whether its rows are those of the query. Otherwise it has none and cannot be read.
    pub populated: bool,
    /// The number of times that its rows were replaced. Each refresh sets another definition, so that of two at the
    /// same time the later one is a conflict.
    pub refreshes: u64,
}

impl MaterializedView {
    /// Creates one whose rows were never replaced. `populated` says whether it is created with the rows of the query.
    pub fn new(query: impl Into<String>, populated: bool) -> Self {
        Self { query: query.into(), populated, refreshes: 0 }
    }
}
