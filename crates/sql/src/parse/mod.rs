//! From a statement's text to its syntax tree, by DataFusion's parser.
//!
//! Owned here: limits of a statement's size and depth ([`statement`]), syntax of other databases that the parser does
//! not accept ([`foreign`]), `WITH` before changes ([`with_clause`]) and around them ([`with_steps`]), types of
//! parameters, conditions of CHECK constraints (`conditions`), aliases of tables that share a name (`shared_names`),
//! the names of the columns of an answer ([`headings`]), and statements that are refused ([`refuse`]). Not owned:
//! clauses that DataFusion interprets differently (`workarounds`).

mod ambiguous_names;
mod conditions;
pub(crate) mod foreign;
pub(crate) mod headings;
mod identity_options;
pub(crate) mod named_schemas;
pub(crate) mod parameter_types;
pub(crate) mod query_text;
pub(crate) mod refuse;
mod shared_names;
pub(crate) mod statement;
pub(crate) mod with_clause;
pub(crate) mod with_steps;
