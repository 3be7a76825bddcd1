//! The names of the only catalog and of the schema that every store has.

/// The catalog of every store, as `information_schema` calls it.
pub(in crate::flight) const CATALOG: &str = atsdb::sql::CATALOG;
/// The schema of tables that are in no other.
pub(in crate::flight) const SCHEMA: &str = atsdb::PUBLIC_SCHEMA;
