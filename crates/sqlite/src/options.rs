//! Options for opening a store.

use atsdb_core::Durability;
use std::time::Duration;

/// Options for opening a store.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The failures that an acknowledged commit survives: crashes of the program, or also power cuts.
    pub durability: Durability,
    /// Whether a store is created in a file that is missing or empty.
    pub create: bool,
    /// Whether writing is refused.
    pub read_only: bool,
    /// The time for which a writer waits for other writers before it fails with `Busy`.
    pub busy_timeout: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        let busy_timeout = Duration::from_secs(60);
        Self { durability: Durability::Full, create: true, read_only: false, busy_timeout }
    }
}
