//! Writing and removing chunks. `snapshot` reads them.
//!
//! A chunk's number follows the order of commits; its payload number, under which its pages are stored, follows the
//! order in which they were written. They differ, since pages are sent before the lock is taken under which chunk
//! numbers are assigned in order.

use crate::connection::{Connection, Server, Value};
use crate::directory::PageDirectory;
use crate::error::Attempt;
use crate::list_rows;
use crate::number_allocation::ChangeLock;
use crate::pages::{self, PartWriter};
use crate::{insert, table};
use atsdb_core::list::{ChunkKey, ChunkSums, ListChanges, ListKey, ListState};
use atsdb_core::refusal;
use atsdb_core::{Change, ChunkId, NewChunk, StageId, TableId};
use std::collections::BTreeMap;
use std::ops::Range;

/// The maximum number of chunk rows in one INSERT: their descriptors have some kilobytes each.
const CHUNKS_PER_STATEMENT: usize = 16;

/// The payload numbers of some chunks, in their order.
#[derive(Debug, Clone)]
pub(crate) struct Payloads(Range<i64>);

impl Payloads {
    pub(crate) fn new(numbers: Range<i64>) -> Self {
        Self(numbers)
    }

    /// Returns the first payload number.
    pub(crate) fn first(&self) -> i64 {
        self.0.start
    }

    /// Splits off the numbers of the first `count` chunks.
    pub(crate) fn split_off(&mut self, count: usize) -> Self {
        let first = self.0.start;
        self.0.start += count as i64;
        Self(first..self.0.start)
    }

    fn each(&self) -> impl Iterator<Item = i64> + use<> {
        self.0.clone()
    }
}

/// Writes the pages of chunks.
pub(crate) fn insert_pages(
    connection: &mut dyn Connection,
    server: &dyn Server,
    chunks: &[NewChunk],
    payloads: &Payloads,
) -> Attempt<()> {
    for sealed in [false, true] {
        let mut writer = PartWriter::new(&mut *connection, server, sealed);
        let of_kind = payloads.each().zip(chunks).filter(|(_, chunk)| chunk.descriptor.sealed == sealed);
        for (payload, chunk) in of_kind {
            writer.write(payload, 0, chunk.pages.iter().map(Vec::as_slice))?;
        }
        writer.flush()?;
    }
    Ok(())
}

/// Deletes the pages of chunks that will not be committed.
pub(crate) fn delete_pages(connection: &mut dyn Connection, chunks: &[NewChunk], payloads: &Payloads) -> Attempt<()> {
    payloads
        .each()
        .zip(chunks)
        .try_for_each(|(payload, chunk)| pages::delete(connection, payload, chunk.descriptor.sealed))
}

/// Writes chunks whose pages are written already, with these numbers, visible immediately or with their stage.
pub(crate) fn insert(
    connection: &mut dyn Connection,
    chunks: &[NewChunk],
    payloads: &Payloads,
    first_id: i64,
    stage: Option<StageId>,
) -> Attempt<()> {
    let mut checked = None;
    let mut directories = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        if checked != Some(chunk.table) {
            table::require(connection, chunk.table, stage)?;
            checked = Some(chunk.table);
        }
        let mut directory = PageDirectory::default();
        directory.append_pages(
            0,
            chunk.descriptor.pages.iter().map(|page| page.column).zip(chunk.pages.iter().map(Vec::len)),
        );
        directories.push(directory.to_bytes());
    }
    let mut added: BTreeMap<TableId, ChunkSums> = BTreeMap::new();
    let mut values: Vec<Value<'_>> = Vec::with_capacity(chunks.len() * 12);
    for (((id, payload), chunk), directory) in (first_id..).zip(payloads.each()).zip(chunks).zip(&directories) {
        let descriptor = &chunk.descriptor;
        let (slice_start, time_min, time_max) = (descriptor.slice.start, descriptor.time_min, descriptor.time_max);
        added.entry(chunk.table).or_default().add(&ChunkKey { id, slice_start, time_min, time_max });
        let numbers = [
            id,
            table::stage_number(stage),
            chunk.table.0,
            descriptor.slice.start,
            i64::from(descriptor.sealed),
            i64::from(descriptor.row_count),
            descriptor.time_min,
            descriptor.time_max,
            descriptor.byte_count() as i64,
            payload,
        ];
        values.extend(numbers.map(Value::Int));
        values.extend([Value::Bytes(directory), Value::Bytes(&chunk.descriptor_bytes)]);
    }
    insert::rows(connection, &format!("atsdb_chunk (id, stage, {PUBLISHED_COLUMNS})"), &values, CHUNKS_PER_STATEMENT)?;
    let mut changes = ListChanges::default();
    for (table, sums) in added {
        changes.add(ListKey::chunks(stage, table), sums.state(table));
    }
    list_rows::record(connection, &changes)
}

/// The columns of a chunk that stay the same when it is published.
const PUBLISHED_COLUMNS: &str =
    "table_id, slice_start, sealed, row_count, time_min, time_max, byte_count, payload, pages, descriptor";

/// Gives the chunks of a stage their final numbers, higher than all others.
pub(crate) fn publish(lock: &mut ChangeLock<'_>, stage: StageId) -> Attempt<()> {
    let count = check_stage(lock.connection, stage)?;
    let before = lock.allocate(count) - 1;
    let sql = format!(
        "INSERT INTO atsdb_chunk (id, stage, {PUBLISHED_COLUMNS})
         SELECT $1 + row_number() OVER (ORDER BY id), 0, {PUBLISHED_COLUMNS} FROM atsdb_chunk WHERE stage = $2"
    );
    lock.connection.execute(&sql, &[before.into(), stage.0.into()])?;
    let mut changes = ListChanges::default();
    for (key, state) in list_rows::of_chunks(lock.connection, "id > $1 AND stage = 0", &[before.into()])? {
        changes.add(key, state);
    }
    list_rows::record(lock.connection, &changes)?;
    lock.connection.execute("DELETE FROM atsdb_chunk WHERE stage = $1", &[stage.0.into()])?;
    Ok(())
}

/// Refuses a stage whose chunks differ from those that were written. Returns how many there are.
fn check_stage(connection: &mut dyn Connection, stage: StageId) -> Attempt<usize> {
    let number = [stage.0.into()];
    let mut found = list_rows::of_chunks(connection, "stage = $1", &number)?;
    let count: i64 = found.values().map(|state| state.count).sum();
    for (key, recorded) in list_rows::all(connection, "stage = $1 AND table_id <> 0", &number)? {
        key.check(found.remove(&key).unwrap_or_default(), recorded)?;
    }
    for (key, state) in found {
        key.check(state, ListState::default())?;
    }
    Ok(count as usize)
}

/// Removes a visible chunk; the caller records the list change. It is a conflict if the chunk no longer exists.
pub(crate) fn remove(
    connection: &mut dyn Connection,
    change: &Change,
    (table, chunk): (TableId, ChunkId),
    changes: &mut ListChanges,
) -> Attempt<()> {
    let (condition, values) = ("id = $1 AND table_id = $2 AND stage = 0", [chunk.0.into(), table.0.into()]);
    let sql = format!("SELECT id, slice_start, time_min, time_max FROM atsdb_chunk WHERE {condition}");
    let Some(row) = connection.query_first(&sql, &values)? else {
        return Err(refusal::chunk_replaced(&change.table_name(table), chunk).into());
    };
    changes.subtract(ListKey::chunks(None, table), ChunkSums::of(&list_rows::chunk_key(&row, 0)?).state(table));
    delete(connection, condition, &values)?;
    Ok(())
}

/// Removes all chunks that match a condition on `$1`, `$2`, ..., and returns how many they were.
pub(crate) fn discard(connection: &mut dyn Connection, condition: &str, values: &[Value<'_>]) -> Attempt<u64> {
    let mut changes = ListChanges::default();
    for (key, state) in list_rows::of_chunks(connection, condition, values)? {
        changes.subtract(key, state);
    }
    list_rows::record(connection, &changes)?;
    delete(connection, condition, values)
}

fn delete(connection: &mut dyn Connection, condition: &str, values: &[Value<'_>]) -> Attempt<u64> {
    let keep = format!(
        "INSERT INTO atsdb_garbage (payload, sealed, byte_count)
         SELECT payload, sealed, byte_count FROM atsdb_chunk WHERE {condition}"
    );
    connection.execute(&keep, values)?;
    connection.execute(&format!("DELETE FROM atsdb_chunk WHERE {condition}"), values)
}
