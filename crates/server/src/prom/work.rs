//! Work on threads that may block.

use super::answer::{ApiError, ApiErrorKind};
use super::context::Prom;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The maximum duration of a lookup.
const TIME_MAX: Duration = Duration::from_secs(120);

/// Stops the work when the client has disconnected.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs work that may block. It is stopped when the request is abandoned or the time is up.
pub(crate) async fn blocking<T: Send + 'static>(
    prom: &Prom,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    blocking_for(prom, TIME_MAX, work).await
}

/// Like [`blocking`], with another time limit.
pub(crate) async fn blocking_for<T: Send + 'static>(
    prom: &Prom,
    time_max: Duration,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let time_max = prom.statements.time_limit_of(prom.permission).map_or(time_max, |limit| limit.min(time_max));
    let stopped = Arc::new(AtomicBool::new(false));
    let _stop = StopOnDrop(Arc::clone(&stopped));
    let timeout = || ApiError::new(ApiErrorKind::Timeout, "the request timed out");
    let run = async {
        let turn = Arc::clone(&prom.turns).acquire_owned().await;
        let turn = turn.map_err(|_| ApiError::new(ApiErrorKind::Unavailable, "the server is ending"))?;
        let permit = prom.permits.take(prom.permission).await;
        let permit = permit.map_err(|_| ApiError::new(ApiErrorKind::Unavailable, "too many statements are running"))?;
        let done = tokio::task::spawn_blocking(move || {
            let _held = (turn, permit);
            work(&|| stopped.load(Ordering::Relaxed))
        });
        done.await.map_err(|error| ApiError::new(ApiErrorKind::Internal, error.to_string()))?
    };
    tokio::time::timeout(time_max, run).await.map_err(|_| timeout())?
}
