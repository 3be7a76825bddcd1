//! Text of SQL before it is parsed, and errors about it.
//!
//! Owned here: splitting scripts into statements ([`script`]), identifiers ([`identifiers`]), parameters ([`params`]),
//! literals, times and time zones in text, and the errors that parsing, planning and executing report ([`errors`],
//! [`datafusion_errors`]); also walks over syntax trees and plans ([`tree_walk`], [`plan_walk`]), which all rooms above
//! use. Not owned: what a statement means.

pub(crate) mod accepted_forms;
pub(crate) mod after_with;
pub(crate) mod bytes_text;
mod calendar_text;
pub(crate) mod datafusion_errors;
pub(crate) mod decimals;
pub(crate) mod errors;
pub(crate) mod float_text;
pub(crate) mod identifiers;
pub(crate) mod library_messages;
pub(crate) mod literal;
pub(crate) mod literal_columns;
pub(crate) mod literal_numbers;
pub(crate) mod numbered_text;
pub(crate) mod params;
pub(crate) mod pattern_escapes;
pub(crate) mod plan_walk;
pub(crate) mod question_marks;
pub(crate) mod quoted_names;
pub(crate) mod relation_kind;
pub(crate) mod relations;
pub(crate) mod result_names;
pub(crate) mod script;
pub(crate) mod select_into;
pub(crate) mod sequence_names;
pub(crate) mod similar_pattern;
pub(crate) mod skipped;
pub(crate) mod source_position;
pub(crate) mod sqlstate;
pub(crate) mod statement_error;
pub(crate) mod table_names;
pub(crate) mod template;
pub(crate) mod time_text;
pub mod tree_walk;
pub(crate) mod verbs;
pub(crate) mod volatile_functions;
pub(crate) mod without_literals;
pub(crate) mod words;
pub(crate) mod written_schemas;
mod wrong_calls;
pub(crate) mod zone;
mod zone_names;
