//! Types of times: their zones, and values of them.

use atsdb_core::TimeUnit;
use datafusion::common::ScalarValue;
use std::sync::Arc;

/// A time as a value of the type with this unit and zone.
pub fn timestamp(unit: TimeUnit, count: i64, zone: Option<Arc<str>>) -> ScalarValue {
    match unit {
        TimeUnit::Second => ScalarValue::TimestampSecond(Some(count), zone),
        TimeUnit::Millisecond => ScalarValue::TimestampMillisecond(Some(count), zone),
        TimeUnit::Microsecond => ScalarValue::TimestampMicrosecond(Some(count), zone),
        TimeUnit::Nanosecond => ScalarValue::TimestampNanosecond(Some(count), zone),
    }
}

/// Returns whether the same count means different instants in the two zones.
pub fn is_shifted(from: Option<&str>, to: Option<&str>) -> bool {
    from.is_none() && to.is_some_and(|zone| !is_utc(zone))
}

/// Returns whether times of a zone are those of UTC.
pub fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "+00:00" | "Z")
}
