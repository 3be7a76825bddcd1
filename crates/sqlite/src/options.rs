//! How a store is opened.

use atsdb_core::Durability;
use std::time::Duration;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// Whether a file that does not exist, or is empty, becomes a store.
    pub create: bool,
    /// Whether writing is refused.
    pub read_only: bool,
    /// How long a writer waits for other writers before it gives up with `Busy`.
    pub busy_timeout: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        let busy_timeout = Duration::from_secs(60);
        Self { durability: Durability::Full, create: true, read_only: false, busy_timeout }
    }
}
