//! How a program takes part when a statement waits on purpose.

use futures::future::BoxFuture;
use std::fmt::Debug;

/// Awaits what statements wait for on purpose: a lock that another session holds, or a time (`pg_sleep`). A server need
/// not count such a statement as one that runs.
pub trait StatementWaits: Debug + Send + Sync {
    /// Awaits `until`, and then what must happen before the statement continues. The future is dropped early if the
    /// statement ends. A statement may wait for several things at once.
    fn wait<'a>(&'a self, until: BoxFuture<'a, ()>) -> BoxFuture<'a, ()>;
}
