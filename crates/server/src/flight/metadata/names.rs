//! The names of the only catalog and the only schema.

/// The catalog of every store, as `information_schema` calls it.
pub(in crate::flight) const CATALOG: &str = "atsdb";
/// The schema of every table.
pub(in crate::flight) const SCHEMA: &str = "public";
