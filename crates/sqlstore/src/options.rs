//! How a store on a server is opened.

use atsdb_core::Durability;
use std::sync::Arc;
use std::time::Duration;

/// How a store on a server is opened.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// What an acknowledged commit has to survive. A server that promises less is warned about.
    pub durability: Durability,
    /// Whether a database without a store gets one.
    pub create: bool,
    /// Whether writing is refused.
    pub read_only: bool,
    /// How long a writer waits for other writers, or for a server that is away.
    pub busy_timeout: Duration,
    /// How long an answer may take beyond that: a connection without one is given up.
    pub answer_timeout: Duration,
    /// Who is told, while the store is opened, that the server is waited for, or that a standby answers.
    pub on_notice: Option<OnNotice>,
}

/// Is told, in a sentence, what goes on.
#[derive(Clone)]
pub struct OnNotice(pub Arc<dyn Fn(&str) + Send + Sync>);

impl std::fmt::Debug for OnNotice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnNotice")
    }
}

/// No transaction that changes something may be silent for longer.
const SILENCE_IN_TRANSACTION_MAX: Duration = Duration::from_secs(30);

impl ServerOptions {
    /// After how much silence of a client that changes something the server undoes its transaction, so that others get on:
    /// half of their patience, half a minute at most.
    pub fn silence_max(&self) -> Duration {
        (self.busy_timeout / 2).clamp(Duration::from_secs(1), SILENCE_IN_TRANSACTION_MAX)
    }

    /// How long any answer may take, that of a lock that is waited for included.
    pub fn answer_max(&self) -> Duration {
        self.busy_timeout.saturating_add(self.answer_timeout)
    }
}
