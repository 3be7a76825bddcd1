//! Names of tables and columns, in a statement and in its answer.

pub(super) mod aggregate_names;
pub(super) mod alias_columns;
pub(super) mod distinct_name;
pub(super) mod named_tables;
pub(super) mod outer_names;
pub mod output_names;
pub(super) mod relation_columns;
pub(super) mod shown_columns;
pub(crate) mod stars;
pub(super) mod subquery_names;
