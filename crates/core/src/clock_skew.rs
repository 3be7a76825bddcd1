//! Protection against wrong clocks. Every process that uses a store brings its own clock, and some are days ahead.
//!
//! A lease never ends later than the longest lease that could be taken now. Idle stages are discarded, and old batch
//! ids forgotten, only after they were found expired twice, some time apart. In the meantime, no process with an
//! earlier clock may have written to a stage, committed a batch with an id, or checked for expired entries. So a clock
//! that is ahead can neither discard a stage nor forget an id while a process with a right clock works at least once in
//! that time.

use crate::limits::{BATCH_ID_RETENTION_MS, EXPIRY_CONFIRM_MS, LEASE_MS_MAX, STAGE_IDLE_MS_MAX};

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

/// The oldest entries of a store that can expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OldestEntries {
    /// The time of the oldest last write to any open stage.
    pub stage_touched_ms: Option<i64>,
    /// The time of the oldest commit whose batch id is remembered.
    pub batch_committed_ms: Option<i64>,
}

/// The decision about idle stages and old batch ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpiredEntries {
    /// The time at which expired entries were first observed, by the observer's clock; `None` if there are none. The
    /// store keeps this value.
    pub since_ms: Option<i64>,
    /// Stages whose last write is before this time are discarded.
    pub stage_cutoff_ms: i64,
    /// Ids of batches that were committed before this time are forgotten.
    pub batch_cutoff_ms: i64,
}

impl ExpiredEntries {
    /// Decides about expired entries at `now_ms`. `since_ms` is the value that the store keeps.
    pub fn observe(since_ms: Option<i64>, oldest: OldestEntries, now_ms: i64) -> Self {
        let idle = |now_ms: i64| now_ms.saturating_sub(STAGE_IDLE_MS_MAX);
        let old = |now_ms: i64| now_ms.saturating_sub(BATCH_ID_RETENTION_MS);
        let none = Self { since_ms: None, stage_cutoff_ms: i64::MIN, batch_cutoff_ms: i64::MIN };
        let has_idle = oldest.stage_touched_ms.is_some_and(|touched_ms| touched_ms < idle(now_ms));
        let has_old = oldest.batch_committed_ms.is_some_and(|committed_ms| committed_ms < old(now_ms));
        if !has_idle && !has_old {
            return none;
        }
        match since_ms.filter(|since_ms| *since_ms <= now_ms) {
            Some(since_ms) if now_ms.saturating_sub(since_ms) >= EXPIRY_CONFIRM_MS => {
                Self { since_ms: Some(now_ms), stage_cutoff_ms: idle(since_ms), batch_cutoff_ms: old(since_ms) }
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

    fn hours(time: i64) -> i64 {
        NOW_MS + time * HOUR_MS
    }

    /// The hours of an observation, and that of one of its cutoffs.
    fn hours_of(observed: ExpiredEntries, cutoff_ms: i64) -> (Option<i64>, Option<i64>) {
        let count = |time_ms: i64| (time_ms - NOW_MS) / HOUR_MS;
        (observed.since_ms.map(count), (cutoff_ms > i64::MIN).then(|| count(cutoff_ms)))
    }

    #[test]
    fn a_stage_is_given_up_when_it_was_seen_to_be_idle_for_an_hour() {
        let observe = |since: Option<i64>, touched: i64, now: i64| {
            let oldest = OldestEntries { stage_touched_ms: Some(hours(touched)), ..OldestEntries::default() };
            let observed = ExpiredEntries::observe(since.map(hours), oldest, hours(now));
            hours_of(observed, observed.stage_cutoff_ms)
        };
        assert_eq!(observe(None, 0, 24), (None, None));
        assert_eq!(observe(None, 0, 25), (Some(25), None));
        assert_eq!(observe(Some(25), 0, 25), (Some(25), None));
        assert_eq!(observe(Some(25), 0, 26), (Some(26), Some(1)));
        // An observation by a clock that is ahead of this one does not count, and it is dropped once nothing is idle.
        assert_eq!(observe(Some(97), 0, 25), (Some(25), None));
        assert_eq!(observe(Some(97), 20, 25), (None, None));
        for now_ms in [i64::MIN, i64::MAX] {
            let none = ExpiredEntries { since_ms: None, stage_cutoff_ms: i64::MIN, batch_cutoff_ms: i64::MIN };
            assert_eq!(ExpiredEntries::observe(None, OldestEntries::default(), now_ms), none);
        }
    }

    #[test]
    fn a_batch_id_is_forgotten_when_it_was_seen_to_be_old_for_an_hour() {
        let observe = |since: Option<i64>, committed: i64, now: i64| {
            let oldest = OldestEntries { batch_committed_ms: Some(hours(committed)), ..OldestEntries::default() };
            let observed = ExpiredEntries::observe(since.map(hours), oldest, hours(now));
            hours_of(observed, observed.batch_cutoff_ms)
        };
        assert_eq!(observe(None, 0, 720), (None, None));
        assert_eq!(observe(None, 0, 721), (Some(721), None));
        assert_eq!(observe(Some(721), 0, 722), (Some(722), Some(1)));
        assert_eq!(observe(Some(800), 0, 721), (Some(721), None));
        assert_eq!(observe(Some(800), 2, 721), (None, None));
    }

    #[test]
    fn what_expires_later_is_not_confirmed_by_an_earlier_observation() {
        let stage_touched_ms = Some(hours(698));
        let oldest = OldestEntries { stage_touched_ms, batch_committed_ms: Some(hours(0)) };
        let observed = ExpiredEntries::observe(Some(hours(721)), oldest, hours(723));
        assert!(observed.batch_cutoff_ms > hours(0) && observed.stage_cutoff_ms < hours(698));
    }

    #[test]
    fn leases_end_in_bounded_time() {
        assert_eq!(lease_end(NOW_MS, 1_000), NOW_MS + 1_000);
        assert_eq!(lease_end(NOW_MS, i64::MAX), lease_end_max(NOW_MS));
        assert_eq!(lease_end(i64::MAX - 1, 1_000), i64::MAX);
    }
}
