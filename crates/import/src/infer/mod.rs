//! Infers the properties of a table from facts about its columns. No files are read here.
//!
//! Owned here: the types of columns ([`column_type`]), which column is the time ([`time_column`]), which columns are
//! mapped ([`maps`]), which words are kept as text ([`kept_words`]), the width of slices ([`slices`]), how numbers are
//! written ([`number_forms`]), and notes about numbers and times that stay text ([`number_notes`]). Not owned: the
//! facts (`facts`), and the table that follows from all this (`plan`).

pub(crate) mod column_type;
pub(crate) mod kept_words;
pub(crate) mod maps;
pub(crate) mod number_forms;
pub(crate) mod number_notes;
pub(crate) mod slices;
pub(crate) mod time_column;
