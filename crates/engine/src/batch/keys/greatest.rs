//! Tests whether rows lie beyond all stored ones, because in each key the least value of the growing column is greater
//! than the greatest stored one. The process remembers the greatest values, so that a batch only looks at the chunks
//! that were added since. Otherwise each of many small batches would look at all chunks.

use crate::batch::keys::bounds::KeyBounds;
use crate::batch::keys::key::Key;
use crate::batch::keys::unread::integer;
use crate::chunk::missing::column_statistics;
use crate::read::snapshot::ReadSnapshot;
use crate::shared::greatest_keys::GreatestKey;
use atsdb_core::{ChunkDescriptor, ChunkId, Result, Table};

/// Returns whether rows within these bounds, one for each key, lie beyond all rows of a snapshot. False if that is not
/// known.
pub(crate) fn lie_beyond(snapshot: &ReadSnapshot, table: &Table, keys: &[Key], bounds: &[KeyBounds]) -> Result<bool> {
    // The times of the rows already exclude most chunks.
    if keys.iter().all(|key| key.time.is_some()) {
        return Ok(false);
    }
    let Some(greatest) = greatest_values(snapshot, table, keys)? else { return Ok(false) };
    let lies_beyond = |((key, bounds), greatest): ((&Key, &KeyBounds), &Option<i64>)| {
        let least = key.growing(&table.definition).and_then(|growing| bounds.integers(growing)).map(|(least, _)| least);
        matches!((least, greatest), (Some(least), Some(greatest)) if least > *greatest)
    };
    Ok(keys.iter().zip(bounds).zip(&greatest).all(lies_beyond))
}

/// The greatest value in the growing column of each key. `None` if what is remembered need not hold for the snapshot.
fn greatest_values(snapshot: &ReadSnapshot, table: &Table, keys: &[Key]) -> Result<Option<Vec<Option<i64>>>> {
    let remembered = &snapshot.inner.shared.greatest_keys;
    // In the snapshot of a batch, the table may have chunks and a definition that no other batch sees.
    let Some(begun) = snapshot.inner.begun else { return Ok(None) };
    if snapshot.table_by_id(table.id).is_none_or(|stored| stored.version != table.version) {
        return Ok(None);
    }
    let known = remembered.of(table.id).filter(|known| known.version == table.version);
    if known.as_ref().is_some_and(|known| begun < known.noted) {
        return Ok(None);
    }
    let newest = snapshot.inner.store.newest_chunk()?;
    let (mut values, since) = match known {
        Some(known) if newest < known.newest => return Ok(None),
        Some(known) if newest == known.newest => return Ok(Some(known.values)),
        Some(known) => (known.values, known.newest),
        None => (vec![Some(i64::MIN); keys.len()], ChunkId(0)),
    };
    for entry in snapshot.inner.store.chunks_since(table.id, since)? {
        let descriptor = snapshot.inner.descriptor(table, &entry)?;
        for (key, value) in keys.iter().zip(&mut values) {
            *value = value.zip(greatest_of_chunk(&descriptor, table, key)).map(|(one, other)| one.max(other));
        }
    }
    let (version, noted) = (table.version, remembered.now());
    remembered.note(table.id, GreatestKey { version, newest, values: values.clone(), noted });
    Ok(Some(values))
}

/// The greatest value of a chunk in the growing column of a key. `None` if it is not known.
fn greatest_of_chunk(descriptor: &ChunkDescriptor, table: &Table, key: &Key) -> Option<i64> {
    let position = key.positions.get(key.growing(&table.definition)?)?;
    let statistics = column_statistics(descriptor, &table.definition.columns[*position]);
    if statistics.null_count >= descriptor.row_count { Some(i64::MIN) } else { integer(&statistics.max) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, EngineOptions};
    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use atsdb_core::{ColumnType, TableDefinition, Unique};
    use atsdb_memory::MemoryStore;
    use std::sync::Arc;

    fn add(engine: &Engine, table: &Table, number: i64) {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![number]));
        let mut batch = engine.batch(None);
        batch.append(table, &RecordBatch::try_from_iter([("n", numbers)]).unwrap()).unwrap();
        batch.commit().unwrap();
    }

    #[test]
    fn what_was_noted_after_a_snapshot_was_begun_does_not_hold_for_it() {
        let options = EngineOptions { maintenance: false, ..EngineOptions::default() };
        let engine = Engine::new(Arc::new(MemoryStore::new([7; 16])), options).unwrap();
        let plain = TableDefinition::new("other").with_column("n", ColumnType::Int64, None);
        let other = engine.create_table(&plain).unwrap();
        let unique = vec![Unique::new(vec![plain.columns[0].id])];
        let table = engine.create_table(&TableDefinition { name: "keyed".into(), unique, ..plain }).unwrap();
        let keys = Key::all_of(&table.definition).unwrap();
        let greatest = |snapshot: &ReadSnapshot| greatest_values(snapshot, &table, &keys).unwrap();
        add(&engine, &table, 100);
        // The store's newest chunk stays: it is one of another table.
        add(&engine, &other, 1);
        let before = engine.snapshot().unwrap();
        let mut batch = engine.batch(None);
        batch.truncate(&table).unwrap();
        batch.commit().unwrap();
        let after = engine.snapshot().unwrap();
        assert_eq!(greatest(&after), Some(vec![Some(i64::MIN)]), "no row is left");
        assert_eq!(greatest(&before), None, "it still has the row");
        assert_eq!(greatest(&engine.snapshot().unwrap()), Some(vec![Some(i64::MIN)]));
    }
}
