//! Arrow batches: the schema of a table's rows, and file formats that are read as batches.
//!
//! Owned here: the schema and the bounds of times ([`schema`]), the formats Arrow IPC ([`arrow_ipc`]) and line protocol
//! ([`lines`]), and the conversion of Arrow types that tables do not have ([`readable`]). Not owned: opening files
//! (`input`).

pub(crate) mod arrow_ipc;
pub(crate) mod lines;
pub(crate) mod readable;
pub(crate) mod schema;
