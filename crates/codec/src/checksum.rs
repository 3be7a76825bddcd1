//! The checksums: XXH3-64, which detects accidents, not forgery.

use atsdb_core::{ChunkUid, ColumnId};
use twox_hash::XxHash3_64;

/// The checksum of a page's payload, seeded with a hash of its chunk, its column, and the header before the checksum.
/// So a page in the wrong place fails like a damaged one.
pub(crate) fn page_checksum(uid: ChunkUid, column: ColumnId, header: &[u8; 12], payload: &[u8]) -> u64 {
    let mut bound = [0; 30];
    bound[..16].copy_from_slice(&uid.0);
    bound[16..18].copy_from_slice(&column.0.to_le_bytes());
    bound[18..].copy_from_slice(header);
    XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(&bound), payload)
}

/// The checksum of a descriptor's bytes after the checksum.
pub(crate) fn descriptor_checksum(body: &[u8]) -> u64 {
    XxHash3_64::oneshot(body)
}
