//! `pg_catalog` and `information_schema`: what clients ask before they show anything.
//!
//! Their queries are about some thousand rows at most, and use all of PostgreSQL: correlated subqueries, arrays,
//! `regclass`, functions with several values. They are not planned but evaluated as they are written, over tables that
//! are computed from the store's definitions. Queries about the user's tables never come here.
//!
//! Owned here: which queries these are, their evaluation, the tables. Not owned: the definitions themselves.

mod access;
mod aggregate;
mod casts;
mod contents;
mod context;
mod evaluate;
mod from;
mod functions;
mod lookup;
mod names;
mod patterns;
mod privileges;
mod query;
mod relation;
mod select;
mod select_sort;
mod sets;
mod type_names;
mod typing;
pub(in crate::pg) mod value;

pub(in crate::pg) use query::{CatalogueQuery, Surroundings};
