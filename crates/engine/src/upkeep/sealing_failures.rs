//! Slices that background maintenance could not seal, and when it retries. Each attempt reads the whole slice, so
//! retries become rare.

use atsdb_core::{ChunkId, Error, ErrorKind, TableId};
use std::collections::HashMap;

/// A slice: its table, and where it begins.
pub(crate) type SliceKey = (TableId, i64);

/// The pause after the first failure of a slice, in milliseconds. It doubles with each further failure.
const PAUSE_MS_MIN: i64 = 30_000;
const PAUSE_MS_MAX: i64 = 3_600_000;

/// The failures, by slice.
#[derive(Debug, Default)]
pub(crate) struct SealingFailures {
    slices: HashMap<SliceKey, Failure>,
}

#[derive(Debug)]
struct Failure {
    /// The newest chunk that was to be sealed.
    newest: ChunkId,
    /// Damage is permanent: the slice is skipped until it has other chunks.
    is_damage: bool,
    pause_ms: i64,
    retry_ms: i64,
}

impl SealingFailures {
    /// Notes that a slice could not be sealed.
    pub(crate) fn note(&mut self, slice: SliceKey, newest: ChunkId, error: &Error, now_ms: i64) {
        let before = self.slices.get(&slice).map_or(0, |failure| failure.pause_ms);
        let pause_ms = (2 * before).clamp(PAUSE_MS_MIN, PAUSE_MS_MAX);
        let is_damage = error.kind() == ErrorKind::Corrupt;
        self.slices.insert(slice, Failure { newest, is_damage, pause_ms, retry_ms: now_ms.saturating_add(pause_ms) });
    }

    /// Forgets a slice that was sealed or dropped.
    pub(crate) fn forget(&mut self, slice: &SliceKey) {
        self.slices.remove(slice);
    }

    /// Returns whether a slice with this newest chunk should be skipped now.
    pub(crate) fn must_skip(&self, slice: &SliceKey, newest: ChunkId, now_ms: i64) -> bool {
        self.slices.get(slice).is_some_and(|failure| match failure.is_damage {
            true => failure.newest == newest,
            // A clock that was set back must not make the slice skipped for ever.
            false => (failure.retry_ms - failure.pause_ms..failure.retry_ms).contains(&now_ms),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: SliceKey = (TableId(1), 0);

    #[test]
    fn a_slice_that_failed_is_tried_again_later_and_later() {
        let mut failures = SealingFailures::default();
        let (busy, chunk) = (Error::new(ErrorKind::Busy, "busy"), ChunkId(1));
        let (mut now_ms, mut pauses) = (1_000, Vec::new());
        for _ in 0..9 {
            failures.note(SLICE, chunk, &busy, now_ms);
            // Even if rows were added: it would fail the same way.
            assert!(
                failures.must_skip(&SLICE, ChunkId(2), now_ms) && !failures.must_skip(&(TableId(2), 0), chunk, now_ms)
            );
            let until = (now_ms..).step_by(1_000).find(|now_ms| !failures.must_skip(&SLICE, chunk, *now_ms)).unwrap();
            pauses.push((until - now_ms) / 1_000);
            now_ms = until;
        }
        assert_eq!(pauses, [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]);
        failures.note(SLICE, chunk, &busy, now_ms);
        assert!(!failures.must_skip(&SLICE, chunk, 0), "the clock was set back");
        failures.forget(&SLICE);
        assert!(!failures.must_skip(&SLICE, chunk, now_ms));
    }

    #[test]
    fn a_damaged_slice_is_left_alone_until_it_changes() {
        let mut failures = SealingFailures::default();
        failures.note(SLICE, ChunkId(1), &Error::corrupt("a page"), 0);
        assert!(failures.must_skip(&SLICE, ChunkId(1), i64::MAX) && !failures.must_skip(&SLICE, ChunkId(2), 0));
    }
}
