//! The catalogue: what tables, columns, slices, chunks there are, as tables that SQL can ask.
//!
//! Owned here: which relations the schemas `atsdb` and `information_schema` have, and how they become rows, table by
//! table, while they are read. A condition on a table's name spares the work for all others; a column that nobody asks
//! for is not worked out where that costs something. Not owned: what the figures are (`engine`).

mod about_caches;
mod about_columns;
mod about_rollups;
mod about_tables;
mod constraints;
pub(crate) mod provider;
pub(crate) mod relation;
pub(crate) mod schemas;
mod storage;
