//! The width of slices.

use atsdb_core::{SliceWidth, TableDefinition};

/// The minimum number of rows in a slice. With fewer, a wider slice is chosen.
const SLICE_ROWS_MIN: f64 = 400_000.0;

/// The narrowest slice that holds enough rows, at this density.
pub(crate) fn slice_width(row_count: u64, span_seconds: f64) -> SliceWidth {
    let hours = (span_seconds / 3_600.0).max(24.0);
    let rows_per_hour = row_count as f64 / hours;
    let hours_of = |width: SliceWidth| match width {
        SliceWidth::Hour => 1.0,
        SliceWidth::Day => 24.0,
        SliceWidth::Week => 168.0,
        SliceWidth::Month => 730.0,
        SliceWidth::Year => 8_766.0,
    };
    let enough = |width: &SliceWidth| rows_per_hour * hours_of(*width) >= SLICE_ROWS_MIN;
    SliceWidth::ALL.iter().copied().find(enough).unwrap_or(SliceWidth::Year)
}

/// The narrowest slice that holds enough of the rows of a table, whose times have these bounds.
pub(crate) fn slice_of_rows(
    definition: &TableDefinition,
    row_count: u64,
    time_bounds: Option<(i64, i64)>,
) -> SliceWidth {
    let scale = definition.time_scale() as f64 / definition.time_unit().per_second() as f64;
    let span = time_bounds.map_or(0.0, |(min, max)| (max as f64 - min as f64) * scale);
    slice_width(row_count, span)
}
