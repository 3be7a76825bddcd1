//! Limits that stop a query from outside: its time limit, and an outer limit of the process's memory. Operators reserve
//! memory from a pool, and fail or write to disk when it is used up. Some memory is not reserved: rows that a window
//! function keeps, texts that an aggregate accumulates for each group, the result of a function over a batch. So while
//! the caller waits for a query, the memory of the process is checked as well. All parts of the process use that
//! memory. Therefore the outer limit is well above the pool and relative to the memory in use when the query began, and
//! the query that holds most is ended ([`running`](super::running)). If the system does not report the memory
//! (`/proc/self/statm` exists only on Linux), there is no outer limit.

#![expect(clippy::disallowed_methods, reason = "the time limit of a query")]

use atsdb_core::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use std::fs::File;
use std::io::{Read, Seek};
use std::time::{Duration, Instant};

/// The interval at which a waiting thread checks.
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
        let resident_bytes_max = resident_bytes(now).map(|resident| resident.saturating_add(allowed));
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
        let is_short = matches!((self.resident_bytes_max, resident_bytes(now)), (Some(most), Some(now)) if now > most);
        Ok(is_short.then_some(now))
    }
}

/// The memory in use by the process, if the system reports it. It is that of at most [`CHECK_EVERY`] ago.
fn resident_bytes(now: Instant) -> Option<usize> {
    static OF_PROCESS: Mutex<ResidentMemory> = Mutex::new(ResidentMemory { file: None, last: None });
    OF_PROCESS.lock().bytes(now)
}

/// Reads the memory in use by the process, from a file that stays open.
struct ResidentMemory {
    /// The file, and the process that has opened it: in a process that it has forked, it would still be about itself.
    file: Option<(u32, File)>,
    /// The time of the last reading, and the bytes that were read, `None` if the system does not report them.
    last: Option<(Instant, Option<usize>)>,
}

impl ResidentMemory {
    fn bytes(&mut self, now: Instant) -> Option<usize> {
        match self.last.filter(|(read, _)| now.duration_since(*read) < CHECK_EVERY) {
            Some((_, bytes)) => bytes,
            None => {
                let bytes = self.read();
                self.last = Some((now, bytes));
                bytes
            }
        }
    }

    fn read(&mut self) -> Option<usize> {
        let process = std::process::id();
        let opened = self.file.take().filter(|(opener, _)| *opener == process);
        let (_, file) = match opened {
            Some(opened) => self.file.insert(opened),
            None => self.file.insert((process, File::open("/proc/self/statm").ok()?)),
        };
        let mut text = String::new();
        file.rewind().ok()?;
        file.read_to_string(&mut text).ok()?;
        let pages: usize = text.split(' ').nth(1)?.parse().ok()?;
        pages.checked_mul(PAGE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_beyond_the_bound_is_noticed() {
        let mut limits = QueryLimits::begin(2 << 30, None);
        std::thread::sleep(CHECK_EVERY);
        assert_eq!(limits.check().unwrap(), None);
        let Some(resident) = resident_bytes(Instant::now()) else { return };
        assert!(resident > 1 << 20);
        std::thread::sleep(CHECK_EVERY);
        // Other tests in this process allocate and free memory at the same time.
        assert!(QueryLimits { resident_bytes_max: Some(1), ..limits }.check().unwrap().is_some());
    }

    #[test]
    fn memory_is_not_read_for_each_query() {
        let mut memory = ResidentMemory { file: None, last: None };
        let now = Instant::now();
        if memory.bytes(now).is_none() {
            return;
        }
        // No process has so little.
        memory.last = Some((now, Some(1)));
        assert_eq!(memory.bytes(now + CHECK_EVERY / 2), Some(1));
        // The file is read again from its start.
        for checks in 1..3 {
            let bytes = memory.bytes(now + CHECK_EVERY * checks).unwrap();
            assert!(bytes > 1 << 20, "{bytes}");
        }
    }

    #[test]
    fn time_that_is_over_is_noticed() {
        let error = QueryLimits::begin(2 << 30, Some(Duration::ZERO)).check().unwrap_err();
        assert!(error.to_string().contains("longer than"), "{error}");
        assert!(QueryLimits::of_time(Some(Duration::ZERO)).check_time().is_err());
        assert!(QueryLimits::of_time(None).check_time().is_ok());
    }
}
