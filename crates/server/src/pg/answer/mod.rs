//! The columns of an answer, as PostgreSQL describes them: their headings, and the columns of tables that they show.
//!
//! The statement is read as it is written; nothing is planned. `origins` follows each column to the table or view that
//! it comes from, with the FROM clauses of `sources`, and `headings` names the columns.

mod headings;
mod origins;
mod sources;

pub(in crate::pg) use origins::complete_columns;
