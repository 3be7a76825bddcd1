//! One CHECK constraint of a table.

use crate::id::ColumnId;
use serde::{Deserialize, Serialize};

/// A CHECK constraint: a condition that is false for no row, unless it is not valid yet. A row for which it is NULL is
/// accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The constraint's name.
    pub name: String,
    /// The condition as an SQL expression over columns of the table.
    pub condition: String,
    /// The columns that the condition names, in the order of their numbers.
    pub columns: Vec<ColumnId>,
    /// Whether only rows that were written since its declaration must satisfy it: `NOT VALID`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_valid: bool,
}
