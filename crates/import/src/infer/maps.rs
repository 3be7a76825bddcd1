//! Decides which columns of text are mapped, and with which width of indices.

use atsdb_core::MapWidth;

/// The width of a mapped column's index, with room for ten times the texts and more.
pub(crate) fn map_width(distinct: usize) -> MapWidth {
    match distinct {
        0..=16 => MapWidth::U8,
        17..=10_000 => MapWidth::U16,
        _ => MapWidth::U32,
    }
}

/// The width of the index of a column that the caller wants mapped. Without values to go by it has room for many.
pub(crate) fn asked_width(distinct: Option<usize>) -> MapWidth {
    map_width(distinct.unwrap_or(usize::MAX).max(17))
}

/// The map of a text column by its values: it has one if each text occurs four times or more on average.
pub(crate) fn map_of(distinct: Option<usize>, value_count: u64) -> Option<MapWidth> {
    let distinct = distinct.filter(|distinct| *distinct > 0 && *distinct as u64 * 4 <= value_count)?;
    Some(map_width(distinct))
}
