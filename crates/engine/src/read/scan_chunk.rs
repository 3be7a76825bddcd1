//! One chunk of a scan.

use atsdb_core::{ChunkDescriptor, ChunkEntry};
use std::sync::Arc;

/// One chunk of a scan.
#[derive(Debug, Clone)]
pub struct ScanChunk {
    /// The entry in the store's list.
    pub entry: ChunkEntry,
    /// The decoded descriptor.
    pub descriptor: Arc<ChunkDescriptor>,
}
