//! Advice on a file of one's own: which contestant suits it, by measuring.
//!
//! Owned here: looking at the file ([`AdviseInput::look`]), the questions that its columns suggest (`questions`), and
//! what the figures say (`verdict`). Not owned: measuring, which is the workload `advise`'s, and reading files, which
//! is the importer's.

mod look;
pub(crate) mod questions;
mod verdict;

pub(crate) use look::read;
pub use verdict::{Advice, Winner};

use atsdb::TableDefinition;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is asked about: a file, and what a look at it told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdviseInput {
    /// The file.
    pub file: PathBuf,
    /// The table that its rows are of.
    pub table: TableDefinition,
    /// How many there are.
    pub rows: u64,
    /// The earliest and the latest time, in the table's unit.
    pub times: Option<(i64, i64)>,
    /// The column that tells series apart, and one of its values, about as frequent as the others.
    pub series: Option<(String, String)>,
    /// How many different values that column has.
    pub series_count: u64,
    /// A column of numbers.
    pub value: Option<String>,
}

impl AdviseInput {
    /// What was chosen, for people.
    pub fn notes(&self) -> Vec<String> {
        let mut notes =
            vec![format!("{}: {} rows, {} columns", self.file.display(), self.rows, self.table.columns.len())];
        let time = self.table.time_column().map_or("none", |column| column.name.as_str());
        let series = self.series.as_ref().map_or("none".to_owned(), |(column, value)| {
            format!("{column}, {} values, asked for '{value}'", self.series_count)
        });
        let value = self.value.as_deref().unwrap_or("none");
        notes.push(format!("time: {time}; series: {series}; value: {value}"));
        let dialect = crate::contestant::Dialect::Sqlite;
        for (measure, text) in questions::all(self, dialect) {
            if let Ok(text) = text {
                notes.push(format!("{measure}: {text}"));
            }
        }
        notes
    }
}
