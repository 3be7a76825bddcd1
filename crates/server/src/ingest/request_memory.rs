//! Limits the total memory of all requests in progress.

use crate::shared::metrics::{Counter, Metrics};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Memory is counted in units of this many bytes.
const UNIT: usize = 1 << 10;

/// The memory that requests share. Clones are the same memory.
#[derive(Debug, Clone)]
pub(crate) struct RequestMemory {
    free: Arc<Semaphore>,
    unit_count: usize,
    hold_time: Duration,
    refused: Counter,
}

/// The memory that one request has reserved. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct MemoryReservation {
    memory: RequestMemory,
    held: Option<OwnedSemaphorePermit>,
    byte_count: usize,
}

/// There was no free memory for as long as a request may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

impl RequestMemory {
    pub(crate) fn new(byte_count: usize, hold_time: Duration, metrics: &Metrics) -> Self {
        let refused = "atsdb_requests_refused_total";
        let refused = metrics.counter(refused, "Requests that were refused because too many bytes were being written.");
        let unit_count = byte_count.div_ceil(UNIT).clamp(1, Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(unit_count)), unit_count, hold_time, refused }
    }

    /// The reservation of a new request, which is empty.
    pub(crate) fn reservation(&self) -> MemoryReservation {
        MemoryReservation { memory: self.clone(), held: None, byte_count: 0 }
    }
}

impl MemoryReservation {
    /// Enlarges the reservation to this many bytes, and waits for it if necessary. A request larger than the
    /// total gets the total.
    pub(crate) async fn grow(&mut self, byte_count: usize) -> Result<(), Full> {
        let missing = self.missing(byte_count)?;
        if missing > 0 {
            let more = Arc::clone(&self.memory.free).acquire_many_owned(missing);
            let Ok(Ok(more)) = tokio::time::timeout(self.memory.hold_time, more).await else {
                self.memory.refused.increment();
                return Err(Full);
            };
            self.add(more);
        }
        Ok(())
    }

    /// The same without waiting.
    pub(crate) fn try_grow(&mut self, byte_count: usize) -> Result<(), Full> {
        let missing = self.missing(byte_count)?;
        if missing > 0 {
            self.add(Arc::clone(&self.memory.free).try_acquire_many_owned(missing).map_err(|_| Full)?);
        }
        Ok(())
    }

    /// Frees the memory beyond this many bytes.
    pub(crate) fn shrink(&mut self, byte_count: usize) {
        self.byte_count = self.byte_count.min(byte_count);
        let wanted = self.units();
        if let Some(held) = &mut self.held {
            drop(held.split(held.num_permits().saturating_sub(wanted)));
        }
    }

    fn units(&self) -> usize {
        self.byte_count.div_ceil(UNIT).min(self.memory.unit_count)
    }

    fn missing(&mut self, byte_count: usize) -> Result<u32, Full> {
        self.byte_count = self.byte_count.max(byte_count);
        let held = self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        u32::try_from(self.units().saturating_sub(held)).map_err(|_| Full)
    }

    fn add(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.held {
            Some(held) => held.merge(more),
            None => self.held = Some(more),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Full, RequestMemory};
    use crate::shared::metrics::Metrics;
    use std::time::Duration;

    #[test]
    fn memory_is_waited_for_and_then_refused() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let memory = RequestMemory::new(4 << 10, Duration::from_millis(20), &Metrics::default());
            let (mut first, mut second) = (memory.reservation(), memory.reservation());
            assert_eq!(first.grow(3 << 10).await, Ok(()));
            assert_eq!(first.grow(100).await, Ok(()), "it has more already");
            assert_eq!(second.grow(2 << 10).await, Err(Full));
            assert_eq!(memory.refused.value(), 1);
            let waiting = tokio::spawn(async move { second.grow(2 << 10).await });
            drop(first);
            assert_eq!(waiting.await.unwrap(), Ok(()));
            let (mut all, mut none) = (memory.reservation(), memory.reservation());
            assert_eq!(all.grow(1 << 20).await, Ok(()), "more than there is");
            assert_eq!(none.try_grow(1), Err(Full));
            all.shrink(3 << 10);
            assert_eq!((none.try_grow(1 << 10), none.try_grow(1_025)), (Ok(()), Err(Full)));
        });
    }
}
