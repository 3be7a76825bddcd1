//! How a copied table remembers where it came from, and how a change since is found.
//!
//! A fingerprint is of the definition and of all chunks: whoever appends, rewrites, seals or alters makes it another one.
//! How far a rollup is does not count: the copy itself moves it.

use atsdb_core::{ChunkId, Error, Result, RollupState, Snapshot, Table, TableDefinition, TimeRange};
use twox_hash::XxHash3_64;

/// Fingerprint of a table that has these chunks, given as descriptors.
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
        .map_err(|error| Error::internal("a definition that is no JSON").with_source(error))?;
    let chunks = descriptors.into_iter().map(XxHash3_64::oneshot);
    Ok(chunks.fold(XxHash3_64::oneshot(&json), u64::wrapping_add))
}

/// Whether a table is a copy that nobody has changed since. The store that it came from does all that is to be done with
/// it; sealing it here would only make the next copy move it again.
pub(crate) fn is_unchanged_copy(snapshot: &dyn Snapshot, table: &Table) -> Result<bool> {
    let Some(origin) = &table.definition.origin else { return Ok(false) };
    let Some(left) = origin.fingerprint else { return Ok(false) };
    let entries = snapshot.chunks(table.id, TimeRange::ALL)?;
    let descriptors = entries.iter().map(|entry| entry.descriptor_bytes.as_slice());
    Ok(fingerprint(&table.definition, descriptors)? == left)
}

/// 128 bits in hexadecimal.
pub(crate) fn hexadecimal(bits: [u8; 16]) -> String {
    bits.iter().map(|byte| format!("{byte:02x}")).collect()
}
