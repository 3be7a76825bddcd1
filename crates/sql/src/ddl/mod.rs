//! Declarations between text and definition: `CREATE TABLE` both ways, `ALTER TABLE`, and their pieces.
//!
//! Owned here: columns and their types, defaults, keys, indexes, CHECK constraints, foreign keys, the options of a
//! table, and how a definition is printed ([`print`]). Not owned: the meaning of a definition (`atsdb-core`), and
//! storing it (`session`).

pub(crate) mod absent_objects;
pub(crate) mod alter;
pub(crate) mod alter_constraint;
mod checks;
pub(crate) mod columns;
pub(crate) mod constraint_changes;
pub(crate) mod constraints;
pub(crate) mod create_table;
pub(crate) mod defaults;
pub(crate) mod enumerations;
pub(crate) mod from_query;
pub(crate) mod identity;
pub(crate) mod options;
pub(crate) mod print;
pub(crate) mod references;
pub(crate) mod schemas;
pub(crate) mod sequences;
pub(crate) mod set_constraints;
mod statement_parts;
pub(crate) mod type_names;
pub(crate) mod unkept;
pub(crate) mod view_columns;
pub(crate) mod view_stars;
pub(crate) mod views;
