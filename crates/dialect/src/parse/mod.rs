//! Parses a statement's text to its syntax tree, by DataFusion's parser.
//!
//! Owned here: limits of a statement's size and depth ([`statement`]), syntax of other databases that the parser does
//! not accept ([`foreign`]), columns after `ON DELETE SET NULL` ([`set_columns`]), `WITH` before changes
//! ([`with_clause`]) and around them ([`with_steps`]), types of parameters, parameters in frames of windows
//! ([`frame_parameters`]), conditions of CHECK constraints (`conditions`), aliases of tables that share a name
//! (`shared_names`), the names of the columns of an answer ([`headings`]), places in its text ([`text_locations`]), and
//! statements that are refused ([`refuse`]). Not owned: clauses that DataFusion interprets differently (`workarounds`).

mod ambiguous_names;
mod conditions;
pub mod foreign;
pub mod frame_parameters;
pub mod headings;
mod identity_options;
pub mod named_schemas;
pub mod parameter_types;
pub mod query_text;
pub mod refuse;
pub mod set_columns;
mod shared_names;
pub mod statement;
pub mod text_locations;
pub mod with_clause;
pub mod with_steps;
