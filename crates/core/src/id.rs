//! The numbers of tables and columns.

use serde::{Deserialize, Serialize};

/// A table's number in its store. It is never reused, not even after DROP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableId(pub i64);

/// A column's number in its table. It is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ColumnId(pub u16);
