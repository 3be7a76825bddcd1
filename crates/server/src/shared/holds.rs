//! The memory that a statement holds while its client does not read.

use atsdb::arrow::array::RecordBatch;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of batches that a statement holds: those that wait, the one that is sent, also as text, and those that
/// are computed.
const BATCHES_HELD: usize = 6;

/// An estimate of the bytes that a statement holds while its client does not read. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeldBytes(Arc<AtomicUsize>);

impl HeldBytes {
    /// Notes the present batch. The others are as large.
    pub(crate) fn note(&self, batch: &RecordBatch) {
        self.0.store(batch.get_array_memory_size().saturating_mul(BATCHES_HELD), Ordering::Relaxed);
    }

    /// Notes the bytes that are held instead of batches.
    pub(crate) fn set(&self, byte_count: usize) {
        self.0.store(byte_count, Ordering::Relaxed);
    }

    pub(crate) fn byte_count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
