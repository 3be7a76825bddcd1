//! One chunk of a scan.

use atsdb_core::{ChunkDescriptor, ChunkEntry};

/// One chunk of a scan.
#[derive(Debug, Clone)]
pub struct ScanChunk {
    /// As the store lists it.
    pub entry: ChunkEntry,
    /// What is known of it.
    pub descriptor: ChunkDescriptor,
}
