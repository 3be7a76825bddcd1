//! Casts that DataFusion makes differently from PostgreSQL, or moves where it must not.

mod arrays;
mod cast_methods;
pub(super) mod condition_casts;
pub(super) mod exact;
mod float_decimals;
mod float_range;
mod half_even;
mod json_scalars;
pub(super) mod postgres;
pub(super) mod row_texts;
pub(super) mod shown_rows;
mod text_times;
pub(super) mod time_of_day;
