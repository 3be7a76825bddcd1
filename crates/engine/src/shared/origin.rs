//! The origin of a copied table, and how later changes of the copy are detected.
//!
//! The fingerprint covers the definition and all chunks, so every append, rewrite, seal and ALTER changes it. It does
//! not cover the progress of a rollup, which the copy itself updates.

use atsdb_core::{ChunkId, Error, Result, RollupState, Snapshot, Table, TableDefinition, TimeRange};
use twox_hash::XxHash3_64;

/// The fingerprint of a table with these chunks, given as encoded descriptors.
pub(crate) fn fingerprint<'a>(
    definition: &TableDefinition,
    descriptors: impl IntoIterator<Item = &'a [u8]>,
) -> Result<u64> {
    let mut plain = definition.clone();
    plain.origin = None;
    if let Some(rollup) = &mut plain.rollup {
        rollup.state = RollupState::new(ChunkId(0));
    }
    let json = serde_json::to_vec(&plain)
        .map_err(|error| Error::internal("a definition cannot be written as JSON").with_source(error))?;
    let chunks = descriptors.into_iter().map(XxHash3_64::oneshot);
    Ok(chunks.fold(XxHash3_64::oneshot(&json), u64::wrapping_add))
}

/// Returns whether a table is an unchanged copy. Its source does all maintenance: sealing the copy would only make the
/// next copy transfer it again.
pub(crate) fn is_unchanged_copy(snapshot: &dyn Snapshot, table: &Table) -> Result<bool> {
    let Some(origin) = &table.definition.origin else { return Ok(false) };
    let Some(left) = origin.fingerprint else { return Ok(false) };
    let entries = snapshot.chunks(table.id, TimeRange::ALL)?;
    let descriptors = entries.iter().map(|entry| entry.descriptor_bytes.as_slice());
    Ok(fingerprint(&table.definition, descriptors)? == left)
}
