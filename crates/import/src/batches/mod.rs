//! Arrow batches: the rows of a table, and file formats that are read as batches.
//!
//! Owned here: the schema of rows, and parts of them ([`rows`]), the formats Arrow IPC ([`arrow_ipc`]) and line
//! protocol ([`lines`]), and the conversion of Arrow types that tables do not have ([`readable`]). Not owned: opening
//! files (`input`).

pub(crate) mod arrow_ipc;
pub(crate) mod lines;
pub(crate) mod readable;
pub(crate) mod rows;
