//! What a store does about wrong clocks. Every process that uses a store brings its own, and some are days ahead.
//!
//! A lease cannot end later than the longest one would that is taken now. A stage is idle when clocks say so twice, with
//! time between, and no process with an earlier clock has touched a stage or looked meanwhile: so a clock that is ahead
//! takes no stage away that is written to at least once in that time.

use crate::limits::{LEASE_MS_MAX, STAGE_DOUBT_MS, STAGE_IDLE_MS_MAX};

/// When a lease ends that is taken now.
pub fn lease_end(now_ms: i64, ttl_ms: i64) -> i64 {
    now_ms.saturating_add(ttl_ms.min(LEASE_MS_MAX))
}

/// The latest end of a lease that counts. One that ends later was taken by a process whose clock was wrong.
pub fn lease_end_max(now_ms: i64) -> i64 {
    now_ms.saturating_add(LEASE_MS_MAX)
}

/// What a store does with idle stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleStages {
    /// Since when they have been seen to be idle, by the clock of who saw it. The store keeps it; none is none.
    pub since_ms: Option<i64>,
    /// Stages that were touched before this time are given up.
    pub cutoff_ms: i64,
}

impl IdleStages {
    /// What is done now, where this is known since then, and the stage that was touched longest ago was touched at that
    /// time.
    pub fn seen(since_ms: Option<i64>, oldest_touch_ms: Option<i64>, now_ms: i64) -> Self {
        let idle = |now_ms: i64| now_ms.saturating_sub(STAGE_IDLE_MS_MAX);
        let none = Self { since_ms: None, cutoff_ms: i64::MIN };
        if oldest_touch_ms.is_none_or(|touched_ms| touched_ms >= idle(now_ms)) {
            return none;
        }
        match since_ms.filter(|since_ms| *since_ms <= now_ms) {
            Some(since_ms) if now_ms.saturating_sub(since_ms) >= STAGE_DOUBT_MS => {
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
        let seen = |since: Option<i64>, touched: i64, now: i64| {
            let hours = |time: i64| NOW_MS + time * HOUR_MS;
            let seen = IdleStages::seen(since.map(hours), Some(hours(touched)), hours(now));
            let count = |time_ms: i64| (time_ms - NOW_MS) / HOUR_MS;
            (seen.since_ms.map(count), (seen.cutoff_ms > i64::MIN).then(|| count(seen.cutoff_ms)))
        };
        assert_eq!(seen(None, 0, 24), (None, None));
        assert_eq!(seen(None, 0, 25), (Some(25), None));
        assert_eq!(seen(Some(25), 0, 25), (Some(25), None));
        assert_eq!(seen(Some(25), 0, 26), (Some(26), Some(1)));
        // What a clock saw that is ahead of this one does not count, and where nothing is idle it is forgotten.
        assert_eq!(seen(Some(97), 0, 25), (Some(25), None));
        assert_eq!(seen(Some(97), 20, 25), (None, None));
        for now_ms in [i64::MIN, i64::MAX] {
            assert_eq!(IdleStages::seen(None, None, now_ms), IdleStages { since_ms: None, cutoff_ms: i64::MIN });
        }
    }

    #[test]
    fn leases_end_in_bounded_time() {
        assert_eq!(lease_end(NOW_MS, 1_000), NOW_MS + 1_000);
        assert_eq!(lease_end(NOW_MS, i64::MAX), lease_end_max(NOW_MS));
        assert_eq!(lease_end(i64::MAX - 1, 1_000), i64::MAX);
    }
}
