//! Limits that stop a query from outside: its time limit, and an outer limit of the process's memory. Operators reserve
//! memory from a pool, and fail or write to disk when it is used up. Some memory is not reserved: rows that a window
//! function keeps, texts that an aggregate accumulates for each group, the result of a function over a batch. So while
//! the caller waits for a query, the memory of the process is checked as well. All parts of the process use that
//! memory. Therefore the outer limit is well above the pool and relative to the memory in use when the query began, and
//! the query that holds most is ended ([`running`](super::running)). If the system does not report the memory
//! (`/proc/self/statm` exists only on Linux), there is no outer limit.

#![expect(clippy::disallowed_methods, reason = "the time limit of a query")]

use atsdb_core::{Error, ErrorKind, Result};
use std::time::{Duration, Instant};

/// How often a waiting thread checks.
pub(crate) const CHECK_EVERY: Duration = Duration::from_millis(20);

/// The memory that is allowed beyond the pool, whatever its size: for decoded pages, batches in transit, the cache, and
/// other parts of the process.
const SLACK_BYTES: usize = 256 << 20;

/// Linux's usual page size. A larger one makes the limit looser.
const PAGE_BYTES: usize = 4_096;

/// The limits of one query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueryLimits {
    started: Instant,
    checked: Instant,
    time_limit: Option<Duration>,
    resident_bytes_max: Option<usize>,
}

impl QueryLimits {
    /// Begins to watch a query. The time counts from now. `memory_bytes` is the memory for all queries.
    pub(crate) fn begin(memory_bytes: usize, time_limit: Option<Duration>) -> Self {
        let allowed = (memory_bytes / 2).saturating_add(memory_bytes).saturating_add(SLACK_BYTES);
        let now = Instant::now();
        let resident_bytes_max = resident_bytes().map(|resident| resident.saturating_add(allowed));
        Self { started: now, checked: now, time_limit, resident_bytes_max }
    }

    /// Begins to watch the time of a query.
    pub(crate) fn of_time(time_limit: Option<Duration>) -> Self {
        let now = Instant::now();
        Self { started: now, checked: now, time_limit, resident_bytes_max: None }
    }

    /// Fails once the time is up.
    pub(crate) fn check_time(&self) -> Result<()> {
        self.check_time_at(Instant::now())
    }

    fn check_time_at(&self, now: Instant) -> Result<()> {
        match self.time_limit.filter(|limit| now.duration_since(self.started) >= *limit) {
            Some(limit) => Err(Error::new(ErrorKind::Resources, format!("the query ran for longer than {limit:?}"))
                .with_hint("narrow the time range, or allow more time")),
            None => Ok(()),
        }
    }

    /// Fails once the time is up. Returns since when the process has exceeded its memory limit, if it does. The memory
    /// is checked at most every [`CHECK_EVERY`].
    pub(crate) fn check(&mut self) -> Result<Option<Instant>> {
        let now = Instant::now();
        self.check_time_at(now)?;
        if now.duration_since(self.checked) < CHECK_EVERY {
            return Ok(None);
        }
        self.checked = now;
        let is_short = matches!((self.resident_bytes_max, resident_bytes()), (Some(most), Some(now)) if now > most);
        Ok(is_short.then_some(now))
    }
}

/// The memory in use by the process, if the system reports it.
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
        std::thread::sleep(CHECK_EVERY);
        assert_eq!(limits.check().unwrap(), None);
        let Some(resident) = resident_bytes() else { return };
        assert!(resident > 1 << 20);
        std::thread::sleep(CHECK_EVERY);
        // Other tests in this process allocate and free memory at the same time.
        assert!(QueryLimits { resident_bytes_max: Some(1), ..limits }.check().unwrap().is_some());
    }

    #[test]
    fn time_that_is_over_is_noticed() {
        let error = QueryLimits::begin(2 << 30, Some(Duration::ZERO)).check().unwrap_err();
        assert!(error.to_string().contains("longer than"), "{error}");
        assert!(QueryLimits::of_time(Some(Duration::ZERO)).check_time().is_err());
        assert!(QueryLimits::of_time(None).check_time().is_ok());
    }
}
