//! The clock and the random bits of a world: both follow from its history.

use atsdb_core::Result;
use atsdb_engine::Environment;
use atsdb_testkit::sample::Random;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// An environment that all processes of a world share.
pub(crate) struct SimulatedEnvironment {
    now_ms: AtomicI64,
    waited_ms: AtomicU64,
    random: Mutex<Random>,
}

impl SimulatedEnvironment {
    pub(crate) fn new(now_ms: i64) -> Self {
        let (now_ms, waited_ms) = (AtomicI64::new(now_ms), AtomicU64::new(0));
        Self { now_ms, waited_ms, random: Mutex::new(Random::new(7)) }
    }

    pub(crate) fn tick(&self, hours: i64) {
        self.wait(Duration::from_secs(hours.unsigned_abs() * 3_600));
    }
}

impl Environment for SimulatedEnvironment {
    fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    fn random(&self) -> Result<[u8; 16]> {
        let mut random = self.random.lock();
        Ok((u128::from(random.bits()) << 64 | u128::from(random.bits())).to_be_bytes())
    }

    fn hash_seed(&self) -> Result<[u8; 16]> {
        Ok([7; 16])
    }

    fn uptime(&self) -> Duration {
        Duration::from_millis(self.waited_ms.load(Ordering::SeqCst))
    }

    fn wait(&self, duration: Duration) {
        let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        self.waited_ms.fetch_add(ms, Ordering::SeqCst);
        self.now_ms.fetch_add(i64::try_from(ms).unwrap_or(i64::MAX), Ordering::SeqCst);
    }
}
