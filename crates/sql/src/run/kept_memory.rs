//! Memory for rows that outlive their query, because the caller of the session keeps them.

use super::memory::{QueryMemory, SharedMemory};
use atsdb_core::{Error, ErrorKind, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use std::sync::Arc;

/// A part of the sessions' memory. It is free again when this is dropped.
#[derive(Debug)]
pub struct KeptMemory {
    reservation: MemoryReservation,
}

impl KeptMemory {
    pub(crate) fn of(shared: &Arc<SharedMemory>) -> Self {
        let memory: Arc<dyn MemoryPool> = QueryMemory::new(shared);
        Self { reservation: MemoryConsumer::new("kept rows").register(&memory) }
    }

    /// Takes more memory. Fails with [`ErrorKind::Resources`] if it is more than a query could have.
    pub fn grow(&self, byte_count: usize) -> Result<()> {
        self.reservation.try_grow(byte_count).map_err(|error| {
            let held = self.reservation.size();
            let message = format!("out of memory: {held} bytes of rows are kept, and {byte_count} more do not fit");
            Error::new(ErrorKind::Resources, message).with_source(error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_kept_counts_until_it_is_dropped() {
        let shared = SharedMemory::new(1_000);
        let kept = KeptMemory::of(&shared);
        kept.grow(600).unwrap();
        assert_eq!(kept.grow(600).unwrap_err().kind(), ErrorKind::Resources);
        kept.grow(400).unwrap();
        let other = KeptMemory::of(&shared);
        assert!(other.grow(600).is_err());
        drop(kept);
        other.grow(600).unwrap();
    }
}
