//! `pg_catalog` and `information_schema`, which clients query before they show anything.
//!
//! These queries read at most some thousand rows, and use all of PostgreSQL: correlated subqueries, arrays, `regclass`,
//! set-returning functions. They are not planned but evaluated directly, over tables that are computed from the store's
//! definitions. Queries about the user's tables never come here.
//!
//! Owned here: recognising these queries, evaluating them, and the tables. Not owned: the definitions themselves.

mod access;
pub(in crate::pg) mod activity;
mod aggregate;
mod arithmetic;
mod casts;
mod conditions;
mod contents;
mod context;
mod databases;
mod evaluate;
mod find_row;
mod from;
mod functions;
mod index_properties;
mod json;
mod key_words;
mod limits;
mod lookup;
mod name_parts;
mod names;
mod not_tables;
mod parameter_types;
mod patterns;
mod privileges;
mod procedures;
mod query;
mod relation;
mod result_types;
mod search_path;
mod select;
mod select_sort;
mod sets;
mod store_functions;
mod type_names;
mod typing;
pub(in crate::pg) mod value;
mod value_functions;
mod view_text;

pub(in crate::pg) use contents::{is_sequence, number_of_table};
pub(in crate::pg) use functions::is_about_the_server;
pub(in crate::pg) use names::name_of_expression;
pub(in crate::pg) use query::{CatalogueQuery, ConnectionContext, has_sign};
pub(in crate::pg) use type_names::type_ids;
