//! Makes a backup: writes the chunks that the archive lacks, dictionaries, lists, and finally the manifest.

use crate::archive::Archive;
use crate::manifest::{self, DictionaryEntry, Manifest, ObjectEntry, TableEntry};
use crate::object::{
    STRINGS_PER_OBJECT, chunk_length, chunk_name, encode_chunk, encode_list, encode_strings, hash_name,
};
use crate::objects::Lock;
use atsdb_codec::decode_descriptor;
use atsdb_core::parallel::parallel_map;
use atsdb_core::store::Finding;
use atsdb_core::time::format_time;
use atsdb_core::{Error, ErrorKind, NewChunk, Result, TimeUnit};
use atsdb_engine::{CopyProgress, Cut, CutChunk, CutTable, ProgressCallback};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};

/// The result of making a backup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BackupReport {
    /// The backup's id.
    pub id: String,
    /// Tables, views and rollups in it.
    pub tables: u64,
    /// Rows in it.
    pub rows: u64,
    /// Chunks in it.
    pub chunks: u64,
    /// Bytes of all objects that it needs.
    pub bytes: u64,
    /// Chunks written. The others existed.
    pub chunks_written: u64,
    /// Bytes of all objects written.
    pub bytes_written: u64,
    /// Old backups deleted.
    pub backups_deleted: u64,
    /// Unused objects deleted.
    pub objects_deleted: u64,
    /// Damage found in the archive on the way. While it exists, objects that it may need are not deleted.
    pub findings: Vec<Finding>,
}

impl Archive {
    /// Backs a cut up. With `verify` the source's structures are checked first, and everything written is read back.
    /// With `keep` only that many backups of the source are kept, including this one, and unused objects are deleted.
    /// `on_progress` is called repeatedly.
    pub fn write(
        &self,
        cut: &Cut,
        verify: bool,
        keep: Option<usize>,
        on_progress: Option<&ProgressCallback>,
    ) -> Result<BackupReport> {
        if keep == Some(0) {
            return Err(Error::usage("a backup cannot keep 0 backups").with_hint("keep 1 or more"));
        }
        if verify {
            cut.check_source()?;
        }
        let lock = self.objects.lock()?;
        self.mark()?;
        let there = self.lengths()?;
        let writing = BackupWriter {
            archive: self,
            cut,
            there,
            verify,
            lock: lock.as_ref(),
            on_progress,
            done: Mutex::default(),
        };
        let (manifest, mut report) = writing.run()?;
        if let Some(keep) = keep {
            self.rotate(&manifest, keep, lock.as_ref(), &mut report)?;
        }
        Ok(report)
    }

    /// All objects except manifests, with their lengths in bytes.
    fn lengths(&self) -> Result<HashMap<String, u64>> {
        let folders = ["chunks", "dictionaries", "lists"].into_iter().map(|folder| self.objects.list(folder));
        Ok(folders.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }
}

/// A backup that is being made.
struct BackupWriter<'a> {
    archive: &'a Archive,
    cut: &'a Cut,
    /// The objects that existed before, with their lengths in bytes.
    there: HashMap<String, u64>,
    verify: bool,
    lock: &'a dyn Lock,
    on_progress: Option<&'a ProgressCallback>,
    done: Mutex<BackupProgress>,
}

#[derive(Default)]
struct BackupProgress {
    report: BackupReport,
    progress: CopyProgress,
    /// The encoded descriptors of the chunks written, by the position of the table in the cut and of the source in the
    /// table.
    chunks: BTreeMap<(usize, usize), Vec<Vec<u8>>>,
    /// The objects that the backup needs, with their lengths in bytes.
    used: HashMap<String, u64>,
}

/// The number of a chunk in a list: that of the source, or for rows in memory one that no store uses.
fn number_of(source: &CutChunk, table: usize, count: usize) -> i64 {
    match source {
        CutChunk::Whole(entry, _) | CutChunk::Partial(entry) => entry.id.0,
        CutChunk::Resident(..) => i64::MIN + ((table as i64) << 32) + count as i64,
    }
}

impl BackupWriter<'_> {
    fn run(self) -> Result<(Manifest, BackupReport)> {
        self.write_chunks()?;
        let mut report = std::mem::take(&mut self.done.lock().report);
        let mut tables = Vec::new();
        for (position, table) in self.cut.tables().iter().enumerate() {
            tables.push(self.write_table(position, table, &mut report)?);
        }
        let (source, taken_ms) = (self.cut.source_name(), self.cut.taken_ms());
        if self.lock.is_inherited() {
            self.find_written()?;
        }
        self.lock.confirm()?;
        let number = manifest::next_number(self.archive.objects.as_ref())?;
        let mut manifest = Manifest {
            object: String::new(),
            format: Manifest::FORMAT,
            number,
            id: Manifest::new_id(number, taken_ms, &source),
            taken_ms,
            taken: format_time(taken_ms, TimeUnit::Millisecond),
            source,
            url: self.cut.location().to_owned(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            whole: self.cut.is_whole(),
            rows: tables.iter().map(|table| table.rows).sum(),
            chunks: tables.iter().map(|table| table.chunks).sum(),
            bytes: report.bytes,
            tables,
        };
        let (name, bytes) = manifest.encode()?;
        self.lock.require()?;
        self.archive.objects.put(&name, bytes)?;
        if self.verify {
            Manifest::read(self.archive.objects.as_ref(), &name)?;
        }
        manifest.object = name;
        report.tables = manifest.tables.len() as u64;
        (report.id, report.rows, report.chunks) = (manifest.id.clone(), manifest.rows, manifest.chunks);
        Ok((manifest, report))
    }

    /// Checks that all objects that the backup needs exist: a writer that did not release its lock may have deleted
    /// some of them in the meantime.
    fn find_written(&self) -> Result<()> {
        let there = self.archive.lengths()?;
        let used = std::mem::take(&mut self.done.lock().used);
        let deleted = used.iter().filter(|(name, bytes)| there.get(*name) != Some(bytes)).map(|(name, _)| name);
        match deleted.min() {
            None => Ok(()),
            Some(name) => {
                let message = format!("another backup to {} deleted {name}", self.archive.location());
                Err(Error::new(ErrorKind::Conflict, message)
                    .with_hint("back up again: the next backup uses what was written"))
            }
        }
    }

    fn write_chunks(&self) -> Result<()> {
        let tables = self.cut.tables().iter().enumerate();
        let sources: Vec<(usize, usize, &CutTable, &CutChunk)> = tables
            .flat_map(|(position, table)| {
                table.chunks.iter().enumerate().map(move |(nth, source)| (position, nth, table, source))
            })
            .collect();
        let missing = sources.iter().filter(|(_, _, _, source)| self.found(source).is_none());
        self.done.lock().progress.bytes_total = missing.map(|(_, _, _, source)| source.byte_count()).sum();
        parallel_map(self.archive.objects.at_once(), &sources, |(position, nth, table, source)| {
            self.write_source(*position, *nth, table, source)
        })
        .map(drop)
    }

    /// The encoded descriptor of a chunk whose object exists, with the object's name and its length in bytes.
    fn found(&self, source: &CutChunk) -> Option<(Vec<u8>, String, u64)> {
        let CutChunk::Whole(entry, uid) = source else { return None };
        let length = chunk_length(&decode_descriptor(&entry.descriptor_bytes).ok()?, &entry.descriptor_bytes);
        let name = chunk_name(*uid, &entry.descriptor_bytes);
        (self.there.get(&name) == Some(&length)).then(|| (entry.descriptor_bytes.clone(), name, length))
    }

    fn write_source(&self, position: usize, nth: usize, table: &CutTable, source: &CutChunk) -> Result<()> {
        if let Some((descriptor, name, length)) = self.found(source) {
            let mut done = self.done.lock();
            done.used.insert(name, length);
            done.report.bytes += length;
            done.chunks.insert((position, nth), vec![descriptor]);
            return Ok(());
        }
        let mut descriptors = Vec::new();
        for chunk in self.cut.read(table, source, table.table.id)? {
            self.lock.require()?;
            self.write_chunk(&chunk)?;
            descriptors.push(chunk.descriptor_bytes);
        }
        self.done.lock().chunks.insert((position, nth), descriptors);
        Ok(())
    }

    fn write_chunk(&self, chunk: &NewChunk) -> Result<()> {
        let bytes = encode_chunk(&chunk.descriptor_bytes, &chunk.pages);
        let length = bytes.len() as u64;
        let name = chunk_name(chunk.descriptor.uid, &chunk.descriptor_bytes);
        self.put(&name, bytes)?;
        let progress = {
            let mut done = self.done.lock();
            done.used.insert(name, length);
            done.report.chunks_written += 1;
            done.report.bytes_written += length;
            done.report.bytes += length;
            done.progress.bytes += chunk.descriptor.byte_count();
            done.progress.rows += u64::from(chunk.descriptor.row_count);
            done.progress
        };
        self.on_progress.map_or(Ok(()), |callback| callback(&progress))
    }

    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        if !self.verify {
            return self.archive.objects.put(name, bytes);
        }
        self.archive.objects.put(name, bytes.clone())?;
        match self.archive.objects.get(name)? == bytes {
            true => Ok(()),
            false => Err(Error::corrupt(format!("{}/{name} differs from what was written", self.archive.location()))),
        }
    }

    /// Returns whether an object that is named by its hash exists. With `verify` its bytes are checked, so that a
    /// damaged object is written again.
    fn is_there(&self, entry: &ObjectEntry, bytes: &[u8]) -> Result<bool> {
        if self.there.get(&entry.name) != Some(&entry.bytes) || !self.verify {
            return Ok(self.there.get(&entry.name) == Some(&entry.bytes));
        }
        match self.archive.objects.get(&entry.name) {
            Ok(found) => Ok(found == bytes),
            Err(error) if [ErrorKind::Corrupt, ErrorKind::NotFound].contains(&error.kind()) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes an object that is named by its hash, if it does not exist.
    fn put_named(&self, folder: &str, bytes: Vec<u8>, report: &mut BackupReport) -> Result<ObjectEntry> {
        let entry = ObjectEntry { name: format!("{folder}/{}", hash_name(&bytes)), bytes: bytes.len() as u64 };
        report.bytes += entry.bytes;
        self.done.lock().used.insert(entry.name.clone(), entry.bytes);
        if !self.is_there(&entry, &bytes)? {
            report.bytes_written += entry.bytes;
            self.put(&entry.name, bytes)?;
        }
        Ok(entry)
    }

    fn write_table(&self, position: usize, table: &CutTable, report: &mut BackupReport) -> Result<TableEntry> {
        let (mut listed, mut rows) = (Vec::new(), 0);
        for (nth, source) in table.chunks.iter().enumerate() {
            let descriptors = self.done.lock().chunks.remove(&(position, nth)).unwrap_or_default();
            for descriptor in descriptors {
                rows += u64::from(decode_descriptor(&descriptor)?.row_count);
                listed.push((number_of(source, position, listed.len()), descriptor));
            }
        }
        let mut dictionaries = Vec::new();
        for column in table.table.definition.columns.iter().filter(|column| column.map.is_some()) {
            let strings = self.cut.dictionary(table, column.id)?;
            let parts = strings.chunks(STRINGS_PER_OBJECT);
            let objects = parts.map(|part| self.put_named("dictionaries", encode_strings(part), report));
            let objects = objects.collect::<Result<_>>()?;
            dictionaries.push(DictionaryEntry { column: column.id, strings: strings.len() as u64, objects });
        }
        let chunks = listed.len() as u64;
        let list = match listed.is_empty() {
            true => None,
            false => Some(self.put_named("lists", encode_list(&listed), report)?),
        };
        Ok(TableEntry {
            id: table.table.id,
            definition: table.table.definition.clone(),
            rows,
            chunks,
            list,
            dictionaries,
        })
    }
}
