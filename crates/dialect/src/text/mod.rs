//! Text of SQL before it is parsed, and errors about it.
//!
//! Owned here: splitting scripts into statements ([`script`]), identifiers ([`identifiers`]), parameters ([`params`]),
//! literals, times and time zones in text, and the errors that parsing, planning and executing report ([`errors`],
//! [`datafusion_errors`]); also walks over syntax trees and plans ([`tree_walk`], [`plan_walk`]) and the subqueries in
//! plans ([`plan_subqueries`]), which all rooms above use. Not owned: what a statement means.

pub mod accepted_forms;
pub mod after_with;
pub mod backtracking_patterns;
pub mod bytes_text;
mod calendar_text;
pub mod datafusion_errors;
pub mod decimals;
pub mod declared_length;
pub mod errors;
pub mod file_functions;
pub mod float_text;
pub mod identifiers;
pub mod library_messages;
pub mod literal;
pub mod literal_columns;
pub mod literal_numbers;
pub mod numbered_text;
pub mod params;
pub mod pattern_escapes;
pub mod pattern_flags;
pub mod pattern_heads;
pub mod pattern_options;
mod pattern_quantifiers;
pub mod plan_subqueries;
pub mod plan_walk;
pub mod question_marks;
pub mod quoted_names;
pub mod recursive_views;
pub mod relation_kind;
pub mod relations;
pub mod result_names;
pub mod script;
pub mod select_into;
pub mod sequence_names;
pub mod similar_pattern;
pub mod skipped;
pub mod source_position;
pub mod sqlstate;
pub mod statement_error;
pub mod table_names;
pub mod template;
pub mod time_text;
pub mod tree_walk;
pub mod verbs;
pub mod volatile_functions;
pub mod with_names;
pub mod without_literals;
pub mod words;
pub mod written_schemas;
mod wrong_calls;
pub mod zone;
mod zone_names;
