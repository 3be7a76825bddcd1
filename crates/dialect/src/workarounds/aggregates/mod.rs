//! Aggregates and window functions.

pub(super) mod collected_order;
pub(super) mod excluded_rows;
pub(super) mod extremes;
pub(super) mod joined_bytes;
pub(super) mod percentiles;
pub(super) mod range_frames;
pub(super) mod shifted_rows;
