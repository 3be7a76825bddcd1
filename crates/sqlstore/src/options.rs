//! Options for opening a store on a server.

use atsdb_core::Durability;
use std::sync::Arc;
use std::time::Duration;

/// Options for opening a store on a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The required durability of an acknowledged commit. If the server promises less, there is a warning.
    pub durability: Durability,
    /// Whether a store is created in a database without one.
    pub create: bool,
    /// Whether writing is refused.
    pub read_only: bool,
    /// The time for which a writer waits for other writers, or for an unreachable server.
    pub busy_timeout: Duration,
    /// The time that an answer may take beyond that. After this time the connection is dropped.
    pub answer_timeout: Duration,
    /// Receives notices while the store is opened: that it waits for the server, or that a standby answers.
    pub on_notice: Option<OnNotice>,
}

/// Receives a notice as a sentence.
#[derive(Clone)]
pub struct OnNotice(pub Arc<dyn Fn(&str) + Send + Sync>);

impl std::fmt::Debug for OnNotice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnNotice")
    }
}

/// The maximum silence of a client within a write transaction.
const SILENCE_IN_TRANSACTION_MAX: Duration = Duration::from_secs(30);

impl ServerOptions {
    /// The silence after which the server rolls a write transaction back, so that others can continue: half of their
    /// timeout, and half a minute at most.
    pub fn silence_max(&self) -> Duration {
        (self.busy_timeout / 2).clamp(Duration::from_secs(1), SILENCE_IN_TRANSACTION_MAX)
    }

    /// The maximum duration of any answer, including the wait for a lock.
    pub fn answer_max(&self) -> Duration {
        self.busy_timeout.saturating_add(self.answer_timeout)
    }
}
