//! Reads a backup as a snapshot whose pages are in objects.

use crate::archive::Archive;
use crate::manifest::{DictionaryEntry, Manifest, ObjectEntry, TableEntry, uid_of};
use crate::object::{
    STRINGS_PER_OBJECT, chunk_length, chunk_name, decode_chunk, decode_list, decode_strings, hash_name,
};
use crate::objects::Objects;
use atsdb_codec::decode_descriptor;
use atsdb_core::{
    ChunkEntry, ChunkId, ColumnId, Counter, Error, ErrorKind, Result, Snapshot, Table, TableId, TimeRange,
};
use atsdb_engine::{Cut, Selection};
use std::collections::HashMap;
use std::sync::Arc;

impl Archive {
    /// The contents of a backup, to be copied into a store.
    pub fn cut(&self, backup: &Manifest, selection: &Selection) -> Result<Cut> {
        let source = uid_of(&backup.source).ok_or_else(|| Error::internal("a manifest without a source"))?;
        let location = format!("backup {} in {}", backup.id, self.location());
        let snapshot = BackupSnapshot::new(&self.objects, backup).map_err(|error| error.context(&location))?;
        let cut = Cut::of_copy(source, location, backup.taken_ms, backup.whole, Box::new(snapshot), selection)?;
        Ok(cut.read_by(self.objects.at_once()))
    }
}

/// A backup as a snapshot.
struct BackupSnapshot {
    objects: Arc<dyn Objects>,
    tables: Vec<TableEntry>,
    /// The chunks of each table, ordered by number.
    chunks: HashMap<TableId, Vec<ChunkEntry>>,
    /// The table of each chunk, and its position in the table's list.
    places: HashMap<ChunkId, (TableId, usize)>,
}

impl BackupSnapshot {
    fn new(objects: &Arc<dyn Objects>, backup: &Manifest) -> Result<Self> {
        let (mut chunks, mut places) = (HashMap::new(), HashMap::new());
        let mut bytes: u128 = backup.named_objects().map(|object| u128::from(object.bytes)).sum();
        for table in &backup.tables {
            let listed = list(objects.as_ref(), table)?;
            for (position, entry) in listed.iter().enumerate() {
                if places.insert(entry.id, (table.id, position)).is_some() {
                    let message = format!("chunk {} of table {} is listed twice", entry.id.0, table.definition.name);
                    return Err(Error::corrupt(message));
                }
                let descriptor = decode_descriptor(&entry.descriptor_bytes)?;
                bytes += u128::from(chunk_length(&descriptor, &entry.descriptor_bytes));
            }
            if chunks.insert(table.id, listed).is_some() {
                return Err(Error::corrupt(format!("the manifest lists table {} twice", table.id.0)));
            }
        }
        if bytes != u128::from(backup.bytes) {
            let message = format!("the objects of the backup have {bytes} bytes; its manifest says {}", backup.bytes);
            return Err(Error::corrupt(message));
        }
        Ok(Self { objects: Arc::clone(objects), tables: backup.tables.clone(), chunks, places })
    }
}

/// The chunks of a table, in the form in which a store lists them.
pub(crate) fn list(objects: &dyn Objects, table: &TableEntry) -> Result<Vec<ChunkEntry>> {
    let Some(list) = &table.list else { return Ok(Vec::new()) };
    let location = || format!("{}/{}", objects.location(), list.name);
    let bytes = named(objects, list)?;
    let chunks = decode_list(&bytes).map_err(|error| error.context(location()))?;
    let entry = |(number, descriptor_bytes): (i64, Vec<u8>)| {
        let descriptor = decode_descriptor(&descriptor_bytes).map_err(|error| error.context(location()))?;
        Ok(ChunkEntry::of(ChunkId(number), table.id, &descriptor, descriptor_bytes))
    };
    let entries = chunks.into_iter().map(entry).collect::<Result<Vec<_>>>()?;
    let rows = entries.iter().map(|entry| u128::from(entry.row_count)).sum::<u128>();
    match (entries.len() as u64, rows) == (table.chunks, table.rows.into()) {
        true => Ok(entries),
        false => {
            let message = format!(
                "it lists {} chunks with {rows} rows, but the manifest says {} with {}",
                entries.len(),
                table.chunks,
                table.rows
            );
            Err(Error::corrupt(message).context(location()))
        }
    }
}

/// The strings of one object of a dictionary.
pub(crate) fn strings(objects: &dyn Objects, object: &ObjectEntry) -> Result<Vec<Vec<u8>>> {
    let location = || format!("{}/{}", objects.location(), object.name);
    decode_strings(&named(objects, object)?).map_err(|error| error.context(location()))
}

/// Refuses a dictionary whose objects do not match its number of strings. `counts` are the objects' numbers of strings.
/// Only the last object may be smaller than the others.
pub(crate) fn count_strings(dictionary: &DictionaryEntry, counts: &[u64]) -> Result<()> {
    let found: u128 = counts.iter().map(|count| u128::from(*count)).sum();
    let are_full = counts.iter().rev().skip(1).all(|count| *count == STRINGS_PER_OBJECT as u64);
    match found == u128::from(dictionary.strings) && are_full {
        true => Ok(()),
        false => Err(Error::corrupt(format!("a dictionary of {} strings has {found}", dictionary.strings))),
    }
}

/// Reads an object and checks the hash in its name.
pub(crate) fn named(objects: &dyn Objects, object: &ObjectEntry) -> Result<Vec<u8>> {
    let location = || format!("{}/{}", objects.location(), object.name);
    let bytes = objects.get(&object.name).map_err(|error| missing(error, &location()))?;
    match object.name.ends_with(&format!("/{}", hash_name(&bytes))) && object.bytes == bytes.len() as u64 {
        true => Ok(bytes),
        false => Err(Error::corrupt("its bytes do not match the hash in its name").context(location())),
    }
}

/// All pages of a chunk.
pub(crate) fn pages(objects: &dyn Objects, entry: &ChunkEntry) -> Result<Vec<(ColumnId, Vec<u8>)>> {
    let descriptor = decode_descriptor(&entry.descriptor_bytes)?;
    let name = chunk_name(descriptor.uid, &entry.descriptor_bytes);
    let location = || format!("{}/{name}", objects.location());
    let bytes = objects.get(&name).map_err(|error| missing(error, &location()))?;
    let pages =
        decode_chunk(&bytes, &descriptor, &entry.descriptor_bytes).map_err(|error| error.context(location()))?;
    for (page, known) in pages.iter().zip(&descriptor.pages) {
        atsdb_codec::check_page(descriptor.uid, known.column, page).map_err(|error| error.context(location()))?;
    }
    Ok(descriptor.pages.iter().map(|page| page.column).zip(pages).collect())
}

fn missing(error: Error, location: &str) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::corrupt(format!("{location} is missing")).with_hint(
            "restore another backup; or back up again, which writes missing objects that the source still has",
        ),
        _ => error,
    }
}

impl Snapshot for BackupSnapshot {
    fn tables(&self) -> Result<Vec<Table>> {
        Ok(self.tables.iter().map(|table| Table::new(table.id, table.definition.clone())).collect())
    }

    fn chunks(&self, table: TableId, range: TimeRange) -> Result<Vec<ChunkEntry>> {
        let entries = self.chunks.get(&table).into_iter().flatten();
        let mut found: Vec<ChunkEntry> =
            entries.filter(|entry| range.overlaps(entry.time_min, entry.time_max)).cloned().collect();
        found.sort_by_key(|entry| (entry.slice_start, entry.id));
        Ok(found)
    }

    fn newest_chunk(&self) -> Result<ChunkId> {
        Ok(self.places.keys().copied().max().unwrap_or(ChunkId(0)))
    }

    fn mapping(&self, table: TableId, column: ColumnId, first: u32) -> Result<Vec<Vec<u8>>> {
        let Some(table) = self.tables.iter().find(|entry| entry.id == table) else { return Ok(Vec::new()) };
        let Some(dictionary) = table.dictionaries.iter().find(|entry| entry.column == column) else {
            return Ok(Vec::new());
        };
        let parts = dictionary.objects.iter().map(|object| strings(self.objects.as_ref(), object));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        count_strings(dictionary, &parts.iter().map(|part| part.len() as u64).collect::<Vec<_>>())?;
        let mut strings = parts.concat();
        strings.drain(..strings.len().min(first as usize));
        Ok(strings)
    }

    /// The definitions of a backup record where counting continues.
    fn counter(&self, _: TableId, _: ColumnId) -> Result<Option<Counter>> {
        Ok(None)
    }

    fn read_pages(&self, chunk: ChunkId, columns: &[ColumnId]) -> Result<Vec<Vec<u8>>> {
        let entry = self.places.get(&chunk).and_then(|(table, position)| self.chunks.get(table)?.get(*position));
        let entry = entry.ok_or_else(|| Error::corrupt(format!("chunk {} is missing", chunk.0)))?;
        let mut pages: HashMap<ColumnId, Vec<u8>> = pages(self.objects.as_ref(), entry)?.into_iter().collect();
        let page = |column: &ColumnId| {
            pages.remove(column).ok_or_else(|| Error::corrupt(format!("the page of column {} is missing", column.0)))
        };
        columns.iter().map(page).collect()
    }
}
