//! Files that stores, page caches and archives keep on disk.

use super::corpus::without_checksum;
use crate::target::Target;
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use atsdb_archive::{Archive, BackupSelector};
use atsdb_core::{ChunkUid, ColumnType, Durability, SliceWidth, TableDefinition, TimeUnit};
use atsdb_engine::{CopyOptions, Engine, EngineOptions, Selection};
use atsdb_memory::MemoryStore;
use atsdb_pagecache::{PageCache, PageCacheOptions, PageFile, PageRange};
use atsdb_sqlite::{SplitBy, SplitLayout, SqliteOptions, SqliteStore};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tempfile::TempDir;
use twox_hash::XxHash3_64;

pub(super) fn all() -> Vec<Target> {
    vec![
        Target {
            name: "page-file",
            test_count: 60,
            corpus: page_files,
            reseal: without_checksum,
            read: read_page_file,
        },
        Target {
            name: "cache-file",
            test_count: 500,
            corpus: cache_files,
            reseal: without_checksum,
            read: read_cache_file,
        },
        Target { name: "manifest", test_count: 300, corpus: manifests, reseal: without_checksum, read: read_manifest },
        Target { name: "object", test_count: 100, corpus: objects, reseal: without_checksum, read: read_object },
    ]
}

fn engine(store: Arc<dyn atsdb_core::Store>) -> Engine {
    Engine::new(store, EngineOptions { maintenance: false, ..EngineOptions::default() }).expect("an engine")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut found: Vec<PathBuf> =
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).expect("a file below"));
        std::fs::create_dir_all(target.parent().expect("a folder")).expect("folders");
        std::fs::copy(file, target).expect("a copy");
    }
}

/// A split store with two chunks, and the name of its page file.
fn split_store() -> &'static (TempDir, PathBuf) {
    static STORE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    STORE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store");
        let engine = open_split(&path).expect("a store");
        let mut definition = TableDefinition::new("t")
            .with_column("time", ColumnType::Int64, None)
            .with_column("s", ColumnType::Text, None)
            .with_time("time", TimeUnit::Second)
            .expect("a time");
        definition.slice = SliceWidth::Year;
        let table = engine.create_table(&definition).expect("a table");
        for part in 0..2_i64 {
            let times: ArrayRef = Arc::new(Int64Array::from_iter_values((0..400).map(|row| part * 1_000 + row)));
            let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..400).map(|row| format!("text {row}"))));
            let rows = RecordBatch::try_from_iter_with_nullable([("time", times, true), ("s", texts, true)]);
            let mut batch = engine.batch(None);
            batch.append(&table, &rows.expect("rows")).expect("an append");
            batch.commit().expect("a commit");
        }
        drop(engine);
        let pages = files(&path.join("pages"));
        let name = pages.first().expect("a page file").strip_prefix(&path).expect("below").to_owned();
        (folder, name)
    })
}

fn open_split(path: &Path) -> atsdb_core::Result<Engine> {
    let options = SqliteOptions { durability: Durability::Off, ..SqliteOptions::default() };
    let layout = SplitLayout { split: SplitBy::Slice, small_chunk_bytes: 0 };
    Ok(engine(Arc::new(SqliteStore::open_split(path, &options, layout)?)))
}

fn page_files() -> Vec<Vec<u8>> {
    let (folder, name) = split_store();
    vec![std::fs::read(folder.path().join("store").join(name)).expect("a page file")]
}

/// Damage must be reported and never lead to a wrong answer.
fn read_page_file(bytes: &[u8]) {
    let (template, name) = split_store();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    copy(&template.path().join("store"), &path);
    std::fs::write(path.join(name), bytes).expect("a page file");
    if let Ok(engine) = open_split(&path) {
        let _ = engine.verify(None);
        let _ = engine.recompress(None);
    }
}

fn cached() -> PageFile {
    PageFile::of_columns(ChunkUid([5; 16]))
}

fn cache(folder: &Path) -> PageCache {
    let on_warning = Arc::new(|_: &str| ());
    let options = PageCacheOptions { folder: folder.to_owned(), bytes_max: 1 << 20, on_warning };
    PageCache::open(&options, "postgresql://me@host/air", [7; 16]).expect("a cache")
}

fn places() -> [PageRange; 3] {
    [(0, 500), (500, 40), (540, 3_000)].map(|(offset, byte_count)| PageRange { offset, byte_count })
}

fn cached_page(place: &PageRange) -> Vec<u8> {
    (0..place.byte_count).map(|byte| (byte as u8) ^ (place.offset as u8) | 1).collect()
}

fn cache_files() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = cache(folder.path());
    cache.keep(cached(), places().map(|place| (place, cached_page(&place))).to_vec());
    cache.flush();
    files(cache.store_folder())
        .iter()
        .map(|file| std::fs::read(file).expect("a file"))
        .filter(|file| file.len() > 500)
        .collect()
}

fn read_cache_file(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = cache(folder.path());
    cache.keep(cached(), places().map(|place| (place, cached_page(&place))).to_vec());
    cache.flush();
    for file in files(cache.store_folder()) {
        std::fs::write(file, bytes).expect("a file");
    }
    let is_whole = |position: usize, bytes: &[u8]| bytes == cached_page(&places()[position]);
    let found = cache.read(&cached(), &places(), is_whole);
    for (found, place) in found.iter().zip(places()) {
        assert!(found.as_ref().is_none_or(|bytes| *bytes == cached_page(&place)), "damage was an answer");
    }
}

/// The archive of an earlier version, which is kept for ever.
fn archive() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/archive2")
}

fn manifests() -> Vec<Vec<u8>> {
    files(&archive().join("backups")).iter().map(|file| std::fs::read(file).expect("a manifest")).collect()
}

fn read_archive(folder: &Path) {
    let Ok(archive) = Archive::open(folder.to_str().expect("UTF-8")) else { return };
    let _ = archive.backups();
    let _ = archive.verify();
    let Ok(backup) = archive.backup(&BackupSelector::Latest) else { return };
    if let Ok(cut) = archive.cut(&backup, &Selection::default()) {
        let target = engine(Arc::new(MemoryStore::new([8; 16])));
        let _ = target.copy_from(&cut, &CopyOptions::default());
    }
}

fn read_manifest(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    copy(&archive(), folder.path());
    for old in files(&folder.path().join("backups")) {
        std::fs::remove_file(old).expect("the old one");
    }
    // Under the name that fits the bytes.
    let name = format!("backups/000001-20261122T081019929Z-01070707-{:016x}.json", XxHash3_64::oneshot(bytes));
    std::fs::write(folder.path().join(name), bytes).expect("a manifest");
    read_archive(folder.path());
}

fn objects() -> Vec<Vec<u8>> {
    let all = [files(&archive().join("chunks")), files(&archive().join("dictionaries"))].concat();
    all.iter().map(|file| std::fs::read(file).expect("an object")).collect()
}

/// Replaces the object with the most similar length. Replacing each object in turn would be too slow.
fn read_object(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    copy(&archive(), folder.path());
    let all = [files(&folder.path().join("chunks")), files(&folder.path().join("dictionaries"))].concat();
    let length = |path: &&PathBuf| path.metadata().map_or(0, |metadata| metadata.len()).abs_diff(bytes.len() as u64);
    let nearest = all.iter().min_by_key(length).expect("an object");
    std::fs::write(nearest, bytes).expect("an object");
    read_archive(folder.path());
}
