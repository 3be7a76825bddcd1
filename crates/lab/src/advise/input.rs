//! The user's file for advice, and the result of one pass over it.

use atsdb::TableDefinition;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The file that the user wants advice for, and the result of one pass over it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdviseInput {
    /// The file.
    pub file: PathBuf,
    /// The table that it declares.
    pub table: TableDefinition,
    /// The number of rows.
    pub rows: u64,
    /// The earliest and the latest time, in the table's unit.
    pub times: Option<(i64, i64)>,
    /// The series column, and one of its values of median frequency.
    pub series: Option<(String, String)>,
    /// The number of distinct values of the series column.
    pub series_count: u64,
    /// A column of numbers.
    pub value: Option<String>,
}
