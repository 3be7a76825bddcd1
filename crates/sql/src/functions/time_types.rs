//! The time zones in types of times.

/// Whether the same count means different instants in the two zones.
pub(crate) fn is_shifted(from: Option<&str>, to: Option<&str>) -> bool {
    from.is_none() && to.is_some_and(|zone| !is_utc(zone))
}

/// Whether times of a zone are those of UTC.
pub(crate) fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "+00:00" | "Z")
}
