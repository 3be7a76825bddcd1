//! Separated values: how a file is written, and the fields of its records.
//!
//! Owned here: finding fields and records ([`separator`]), detecting the separator and the quotes
//! ([`separator_choice`]), columns aligned with blanks ([`aligned`]), logs, whose lines are whole ([`log_lines`]), the
//! lines before the records ([`preamble`]), the header ([`header`]), groups above it ([`groups`]), units ([`units`])
//! and types ([`clickhouse_types`]) below it, all of that together ([`dialect`]) with notes for the user
//! ([`dialect_notes`]), several tables in one file ([`several_tables`]), and columns that become rows ([`unpivot`]).
//! Not owned: the values of fields (`values`).

mod aligned;
pub(crate) mod clickhouse_types;
pub(crate) mod dialect;
mod dialect_notes;
mod groups;
mod header;
mod log_lines;
mod preamble;
pub(crate) mod separator;
mod separator_choice;
pub(crate) mod several_tables;
mod units;
pub(crate) mod unpivot;
