//! Expressions and calls in forms that DataFusion lacks or understands in another way.

pub(super) mod composed_functions;
pub(super) mod constant_in;
pub(super) mod extreme_items;
pub(super) mod flat_arrays;
pub(super) mod hypothetical_ranks;
pub(super) mod item_comparisons;
pub(super) mod like_escape;
pub(super) mod like_lists;
pub(super) mod line_ends;
mod literal_numerics;
mod other_casts;
pub(super) mod other_forms;
pub(super) mod other_functions;
mod percentile_lists;
pub(super) mod row_members;
pub(super) mod units_of_rows;
pub(super) mod variadic;
