//! Protection against wrong clocks. Every process that uses a store brings its own clock, and some are days ahead.
//!
//! A lease never ends later than the longest lease that could be taken now. A stage counts as idle only after it was
//! found idle twice, some time apart. In the meantime, no process with an earlier clock may have written to a stage or
//! checked for idle stages. So a clock that is ahead cannot discard a stage that is written to at least once in that
//! time.

use crate::limits::{LEASE_MS_MAX, STAGE_IDLE_CONFIRM_MS, STAGE_IDLE_MS_MAX};

/// Returns the end of a lease that is taken at `now_ms` for `ttl_ms`. Both the result and `now_ms` are milliseconds
/// since the Unix epoch.
pub fn lease_end(now_ms: i64, ttl_ms: i64) -> i64 {
    now_ms.saturating_add(ttl_ms.min(LEASE_MS_MAX))
}

/// Returns the latest lease end that is valid at `now_ms`. A lease that ends later was taken by a process whose clock
/// was wrong.
pub fn lease_end_max(now_ms: i64) -> i64 {
    now_ms.saturating_add(LEASE_MS_MAX)
}

/// The decision about idle stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleStages {
    /// The time at which idle stages were first observed, by the observer's clock; `None` if there are none. The store
    /// keeps this value.
    pub since_ms: Option<i64>,
    /// Stages whose last write is before this time are discarded.
    pub cutoff_ms: i64,
}

impl IdleStages {
    /// Decides about idle stages at `now_ms`. `since_ms` is the value that the store keeps, and `oldest_touch_ms` is
    /// the time of the oldest last write to any open stage.
    pub fn observe(since_ms: Option<i64>, oldest_touch_ms: Option<i64>, now_ms: i64) -> Self {
        let idle = |now_ms: i64| now_ms.saturating_sub(STAGE_IDLE_MS_MAX);
        let none = Self { since_ms: None, cutoff_ms: i64::MIN };
        if oldest_touch_ms.is_none_or(|touched_ms| touched_ms >= idle(now_ms)) {
            return none;
        }
        match since_ms.filter(|since_ms| *since_ms <= now_ms) {
            Some(since_ms) if now_ms.saturating_sub(since_ms) >= STAGE_IDLE_CONFIRM_MS => {
                Self { since_ms: Some(now_ms), cutoff_ms: idle(since_ms) }
            }
            Some(since_ms) => Self { since_ms: Some(since_ms), ..none },
            None => Self { since_ms: Some(now_ms), ..none },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_709_294_400_000;
    const HOUR_MS: i64 = 3_600_000;

    #[test]
    fn a_stage_is_given_up_when_it_was_seen_to_be_idle_for_an_hour() {
        let observe = |since: Option<i64>, touched: i64, now: i64| {
            let hours = |time: i64| NOW_MS + time * HOUR_MS;
            let observed = IdleStages::observe(since.map(hours), Some(hours(touched)), hours(now));
            let count = |time_ms: i64| (time_ms - NOW_MS) / HOUR_MS;
            (observed.since_ms.map(count), (observed.cutoff_ms > i64::MIN).then(|| count(observed.cutoff_ms)))
        };
        assert_eq!(observe(None, 0, 24), (None, None));
        assert_eq!(observe(None, 0, 25), (Some(25), None));
        assert_eq!(observe(Some(25), 0, 25), (Some(25), None));
        assert_eq!(observe(Some(25), 0, 26), (Some(26), Some(1)));
        // An observation by a clock that is ahead of this one does not count, and it is dropped once nothing is idle.
        assert_eq!(observe(Some(97), 0, 25), (Some(25), None));
        assert_eq!(observe(Some(97), 20, 25), (None, None));
        for now_ms in [i64::MIN, i64::MAX] {
            assert_eq!(IdleStages::observe(None, None, now_ms), IdleStages { since_ms: None, cutoff_ms: i64::MIN });
        }
    }

    #[test]
    fn leases_end_in_bounded_time() {
        assert_eq!(lease_end(NOW_MS, 1_000), NOW_MS + 1_000);
        assert_eq!(lease_end(NOW_MS, i64::MAX), lease_end_max(NOW_MS));
        assert_eq!(lease_end(i64::MAX - 1, 1_000), i64::MAX);
    }
}
