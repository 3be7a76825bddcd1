//! What stops a query from outside: its time limit, and an outer bound of the process's memory.
//!
//! Operators that take memory ask a pool for it, and are refused or write to disk when it is used up. Some of what they
//! hold is not asked for: rows that a window function keeps, texts that an aggregate for each group grows, the result
//! of a function over a batch. So while a query is waited for, the memory that the process has in use is looked at
//! too. It belongs to everybody in the process; therefore the outer bound lies well above what the pool gives, and
//! counts from what was in use when the query began, and the query that ends is the one that holds most
//! ([`running`](super::running)). Where the system does not tell (`/proc/self/statm` is Linux's), there is no outer
//! bound.

#![expect(clippy::disallowed_methods, reason = "the time limit of a query")]

use atsdb_core::{Error, ErrorKind, Result};
use std::time::{Duration, Instant};

/// How often a waiting thread looks.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a query may have beyond the pool, whatever the pool has: pages that are decoded, batches on their way, the
/// cache, and what others in the process take meanwhile.
const SLACK_BYTES: usize = 256 << 20;

/// Linux's page size where this program runs; a larger one makes the bound looser.
const PAGE_BYTES: usize = 4_096;

/// What one query may not pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueryLimits {
    begun: Instant,
    looked: Instant,
    time_limit: Option<Duration>,
    resident_bytes_max: Option<usize>,
}

impl QueryLimits {
    /// Begins to watch: the time counts from now. `memory_bytes` is what all queries may hold.
    pub(crate) fn begin(memory_bytes: usize, time_limit: Option<Duration>) -> Self {
        let allowed = (memory_bytes / 2).saturating_add(memory_bytes).saturating_add(SLACK_BYTES);
        let now = Instant::now();
        let resident_bytes_max = resident_bytes().map(|resident| resident.saturating_add(allowed));
        Self { begun: now, looked: now, time_limit, resident_bytes_max }
    }

    /// Fails once the time is over. Says since when the process has more memory in use than it should, as far as it
    /// does; looks at that no more often than [`LOOK_EVERY`].
    pub(crate) fn check(&mut self) -> Result<Option<Instant>> {
        let now = Instant::now();
        if let Some(limit) = self.time_limit.filter(|limit| now.duration_since(self.begun) >= *limit) {
            return Err(Error::new(ErrorKind::Resources, format!("the query ran for longer than {limit:?}"))
                .with_hint("narrow the time range, or allow more time"));
        }
        if now.duration_since(self.looked) < LOOK_EVERY {
            return Ok(None);
        }
        self.looked = now;
        let is_short = matches!((self.resident_bytes_max, resident_bytes()), (Some(most), Some(now)) if now > most);
        Ok(is_short.then_some(now))
    }
}

/// The memory that the process has in use, where the system tells.
fn resident_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = text.split(' ').nth(1)?.parse().ok()?;
    pages.checked_mul(PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_beyond_the_bound_is_noticed() {
        let mut limits = QueryLimits::begin(2 << 30, None);
        std::thread::sleep(LOOK_EVERY);
        assert_eq!(limits.check().unwrap(), None);
        let Some(resident) = resident_bytes() else { return };
        assert!(resident > 1 << 20);
        std::thread::sleep(LOOK_EVERY);
        // Other tests of this process take and free memory meanwhile.
        assert!(QueryLimits { resident_bytes_max: Some(1), ..limits }.check().unwrap().is_some());
    }

    #[test]
    fn time_that_is_over_is_noticed() {
        let error = QueryLimits::begin(2 << 30, Some(Duration::ZERO)).check().unwrap_err();
        assert!(error.to_string().contains("longer than"), "{error}");
    }
}
