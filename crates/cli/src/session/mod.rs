//! Using an open store: opening it, the files that statements name, scripts of statements.

mod file_options;
mod file_rows;
mod files;
pub(crate) mod paths;
pub(crate) mod script;
pub(crate) mod served_stores;
pub(crate) mod settings;
pub(crate) mod source_file;
pub(crate) mod statement_kind;
