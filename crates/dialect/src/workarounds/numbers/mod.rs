//! Numbers: decimals, results that are out of range, and comparisons and functions of floats and integers.

pub(super) mod decimal_series;
pub(super) mod decimals;
pub(super) mod equal_zeros;
pub(super) mod in_lists;
pub(super) mod literal_places;
pub(super) mod overflow;
pub(super) mod results;
pub(super) mod round_places;
pub(super) mod shifts;
