//! The environment: clocks, waiting and random bits. It is injected, so that tests control it.

#![expect(clippy::disallowed_methods, reason = "this is the system's clock, its waiting and its random bits")]

use atsdb_core::{ChunkUid, Error, ErrorKind, Result};
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The clock and the source of random bits.
pub trait Environment: Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> i64;

    /// Microseconds since the Unix epoch, by the same clock.
    fn now_us(&self) -> i64 {
        self.now_ms().saturating_mul(1_000)
    }

    /// 128 random bits. They must never repeat.
    fn random(&self) -> Result<[u8; 16]>;

    /// The secret seed of hashes in memory. No result depends on it.
    fn hash_seed(&self) -> Result<[u8; 16]> {
        SystemEnvironment.random()
    }

    /// The time since an arbitrary moment, by a monotonic clock, for measuring durations.
    fn uptime(&self) -> Duration {
        static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
        BEGUN.elapsed()
    }

    /// Waits before a retry.
    fn wait(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    /// A new chunk's name.
    fn chunk_uid(&self) -> Result<ChunkUid> {
        self.random().map(ChunkUid)
    }
}

/// The operating system's clock and random bits.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEnvironment;

impl Environment for SystemEnvironment {
    fn now_ms(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
        }
    }

    fn now_us(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
        }
    }

    fn random(&self) -> Result<[u8; 16]> {
        let mut bits = [0; 16];
        getrandom::fill(&mut bits).map_err(|error| {
            Error::new(ErrorKind::Unavailable, "cannot get random bits from the operating system").with_source(error)
        })?;
        Ok(bits)
    }
}
