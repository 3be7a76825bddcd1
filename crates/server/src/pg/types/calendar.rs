//! Days and microseconds, as PostgreSQL counts them.

use atsdb::time::DAY_MICROSECONDS;

/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL's count begins.
pub(in crate::pg) const EPOCH_DAYS: i32 = 10_957;

/// Microseconds from 1970-01-01 to 2000-01-01.
pub(in crate::pg) const EPOCH_US: i64 = EPOCH_DAYS as i64 * DAY_MICROSECONDS;

/// Days since 1970, from PostgreSQL's count. `Err` is the infinity that the count stands for: atsdb has none.
pub(in crate::pg) fn days_since_1970(days: i32) -> Result<i32, &'static str> {
    match days {
        i32::MIN => Err("-infinity"),
        _ => days.checked_add(EPOCH_DAYS).ok_or("infinity"),
    }
}

/// Microseconds since 1970, from PostgreSQL's count. `Err` is the infinity that the count stands for: atsdb has none.
pub(in crate::pg) fn microseconds_since_1970(microseconds: i64) -> Result<i64, &'static str> {
    match microseconds {
        i64::MIN => Err("-infinity"),
        _ => microseconds.checked_add(EPOCH_US).ok_or("infinity"),
    }
}
