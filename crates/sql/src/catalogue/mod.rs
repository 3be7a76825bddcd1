//! The catalogue: the tables, columns, slices and chunks of a store, as tables that SQL can query.
//!
//! Owned here: which relations the schemas `atsdb` and `information_schema` have, and how they become rows, table by
//! table, while they are read. A condition on a table's name saves the work for all other tables, and a column that is
//! expensive to compute is only computed if it is selected. Not owned: computing the figures (`engine`).

mod about_caches;
mod about_columns;
mod about_rollups;
mod about_tables;
mod about_types;
mod constraints;
pub(crate) mod provider;
pub(crate) mod relation;
pub(crate) mod schemas;
mod storage;
