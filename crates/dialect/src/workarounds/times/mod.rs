//! Times, dates and intervals.

pub(super) mod comparison;
pub(super) mod date_part;
pub(super) mod date_trunc;
pub(super) mod dates_beside_times;
pub(super) mod intervals;
pub(super) mod series;
pub(super) mod time_results;
pub(super) mod time_types;
pub(super) mod times_of_day;
pub(super) mod units_of_rows;
pub(super) mod words;
