//! Formats one value as text, the same in every format: [`Cells`] renders the values of one column of a batch.
//!
//! Times are ISO 8601 with as many digits of a second as they need (0, 3, 6 or 9) and `Z` where the type says UTC;
//! floats are the shortest text that reads back to the same value, `NaN`, `inf` and `-inf`; binary is `\x` and
//! hexadecimal digits; lists are arrays as PostgreSQL writes them, `{1,NULL}`, and in JSON as well as structs they are
//! JSON.

pub mod calendar;
mod cells;
mod number;
mod render;

pub use cells::{Cells, TextKind, kind_of, write_json_text};

#[cfg(test)]
mod tests;
