//! The rows of COPY: text, CSV and binary, in and out, as PostgreSQL 15 reads and writes them.
//!
//! Owned here: from bytes to columns of Arrow, and from rows to bytes. Text and CSV are read in two steps: `lines`
//! finds the ends of rows, `fields` splits them. Not owned: the messages around them, and the options (`atsdb::sql`).

pub(in crate::pg) mod binary_reader;
pub(in crate::pg) mod column;
mod fields;
pub(crate) mod files;
mod lines;
pub(in crate::pg) mod reader;
mod shown;
pub(in crate::pg) mod text_reader;
pub(in crate::pg) mod writer;
mod wrong_values;
