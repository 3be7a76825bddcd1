//! Limits the total memory of all requests in progress.

use crate::shared::metrics::{Counter, Gauge, GaugeGuard, Metrics};
use std::pin::pin;
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
    /// Counts the parts of the request.
    parts: Gauge,
    _part: Option<GaugeGuard>,
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
        MemoryReservation { memory: self.clone(), held: None, byte_count: 0, parts: Gauge::default(), _part: None }
    }
}

impl MemoryReservation {
    /// Enlarges the reservation to this many bytes, and waits for it if necessary. A request larger than the
    /// total gets the total. A request with [parts](Self::split_off) is not refused: they will free their memory.
    pub(crate) async fn grow(&mut self, byte_count: usize) -> Result<(), Full> {
        let missing = self.missing(byte_count)?;
        if missing == 0 {
            return Ok(());
        }
        let mut more = pin!(Arc::clone(&self.memory.free).acquire_many_owned(missing));
        loop {
            match tokio::time::timeout(self.memory.hold_time, more.as_mut()).await {
                Ok(Ok(more)) => {
                    self.add(more);
                    return Ok(());
                }
                Err(_) if self.parts.value() > 0 => {}
                _ => {
                    self.memory.refused.increment();
                    return Err(Full);
                }
            }
        }
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
        drop(self.split_off(byte_count));
    }

    /// Keeps this many bytes. The others become those of a part of the request that ends by itself, such as rows that
    /// wait to be stored.
    pub(crate) fn split_off(&mut self, byte_count: usize) -> Self {
        let of_part = self.byte_count.saturating_sub(byte_count);
        self.byte_count -= of_part;
        let wanted = self.units();
        let others = self.held.as_mut().and_then(|held| held.split(held.num_permits().saturating_sub(wanted)));
        let part = Some(self.parts.hold());
        Self { held: others, byte_count: of_part, _part: part, ..self.beside() }
    }

    /// Another reservation of the same request, which is empty.
    pub(crate) fn beside(&self) -> Self {
        Self { parts: self.parts.clone(), ..self.memory.reservation() }
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

    #[test]
    fn a_request_waits_for_its_parts_and_is_not_refused() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let memory = RequestMemory::new(4 << 10, Duration::from_millis(20), &Metrics::default());
            let mut request = memory.reservation();
            assert_eq!(request.grow(4 << 10).await, Ok(()));
            let part = request.split_off(1 << 10);
            let (mut other, mut beside) = (memory.reservation(), request.beside());
            assert_eq!(other.try_grow(1), Err(Full), "the part has what the request had");
            let waiting = tokio::spawn(async move { (request.grow(2 << 10).await, beside.grow(1 << 10).await) });
            assert_eq!(other.grow(1).await, Err(Full), "another request is refused");
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(!waiting.is_finished());
            drop(part);
            assert_eq!(waiting.await.unwrap(), (Ok(()), Ok(())));
            assert_eq!(memory.refused.value(), 1);
        });
    }
}
