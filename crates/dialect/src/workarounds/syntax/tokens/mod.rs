//! Tokens that the parser does not read as PostgreSQL does.

pub(crate) mod array_words;
pub(crate) mod between;
pub(crate) mod binding;
pub(crate) mod catalogue_types;
pub(crate) mod column_names;
pub(crate) mod created_columns;
pub(crate) mod dialect;
pub(crate) mod distinct_from;
pub(crate) mod empty_selects;
pub(crate) mod fetched_rows;
pub(crate) mod frame_bounds;
pub(crate) mod merge_words;
pub(crate) mod nested_joins;
pub(crate) mod nested_queries;
pub(crate) mod nested_sets;
pub(crate) mod operand_names;
pub(crate) mod operators;
pub(crate) mod other_spellings;
pub(crate) mod row_fields;
pub(crate) mod statement_words;
pub(crate) mod texts;
pub(crate) mod typed_texts;
pub(crate) mod using_aliases;
pub(crate) mod variadic;
pub(crate) mod words;
