//! The functions in FROM that read files.

use atsdb_core::name::same_name;

/// The functions, and the format of each.
const FUNCTIONS: [(&str, &str); 7] = [
    ("read_csv", "csv"),
    ("read_csv_auto", "csv"),
    ("read_parquet", "parquet"),
    ("read_json", "json"),
    ("read_json_auto", "json"),
    ("read_ndjson", "json"),
    ("read_xlsx", "xlsx"),
];

/// Returns the format of the files that a function reads; `None` if it is no such function.
pub fn format_of(function: &str) -> Option<&'static str> {
    FUNCTIONS.iter().find(|(name, _)| same_name(name, function)).map(|(_, format)| *format)
}

/// The names of the functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}
