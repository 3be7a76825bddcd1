//! Rows that are values and values that are rows: functions that return rows, whole rows in functions and as texts,
//! and rows that a query collects.

pub(super) mod array_queries;
pub(super) mod equal_lists;
pub(super) mod json_aggregates;
pub(super) mod json_rows;
pub(super) mod names_beside_rows;
pub(super) mod outer_stars;
mod row_tests;
pub(super) mod row_texts;
pub(super) mod rows_from;
pub(super) mod rows_of_functions;
pub(super) mod subscripts;
pub(crate) mod values_of_subqueries;
pub(super) mod whole_rows;
