//! What an expression means in PostgreSQL, where DataFusion takes it to mean something else.
//!
//! Owned here: casts ([`PostgresCasts`]), lengths of time in comparisons ([`Lengths`]), in products and beside dates
//! ([`LengthArithmetic`]),
//! `IN` that may be NULL ([`UnknownMembers`]), and in the syntax tree `EXCEPT ALL` ([`count_rows`]), merged columns
//! ([`merge_columns`]) and windows that begin with others ([`complete_windows`]).
//! Not owned: overflow, lists, `SIMILAR TO` and times of different units, which are modules of their own.

mod casts;
mod float_text;
mod half_even;
mod in_subqueries;
mod interval_order;
mod interval_product;
mod length_arithmetic;
mod lengths;
mod set_all;
mod text_bytes;
mod using;
mod windows;

pub(crate) use casts::PostgresCasts;
pub(crate) use in_subqueries::UnknownMembers;
pub(crate) use length_arithmetic::LengthArithmetic;
pub(crate) use lengths::Lengths;
pub(crate) use set_all::count_rows;
pub(crate) use using::merge_columns;
pub(crate) use windows::complete_windows;
