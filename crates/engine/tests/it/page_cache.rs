//! Pages that an engine keeps on this machine, as it does for a store on a server.

use crate::support::{append, readings, row};
use atsdb_core::{ColumnId, Index, Store, Value};
use atsdb_engine::{Comparison, Engine, EngineOptions, Predicate, ScanRequest};
use atsdb_memory::MemoryStore;
use atsdb_pagecache::{PageCache, PageCacheOptions};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;

type Warnings = Arc<Mutex<Vec<String>>>;

/// Opens the store with a page cache, and with no cache in memory.
fn cached(store: &Arc<dyn Store>, folder: &Path, warnings: &Warnings) -> Engine {
    let warnings = Arc::clone(warnings);
    let options = PageCacheOptions {
        folder: folder.to_owned(),
        bytes_max: 64 << 20,
        on_warning: Arc::new(move |text: &str| warnings.lock().push(text.to_owned())),
    };
    let page_cache = PageCache::open(&options, "postgresql://me@host/air", [7; 16]);
    assert!(page_cache.is_some());
    let options =
        EngineOptions { cache_bytes: 0, page_cache, preload_bytes: 0, maintenance: false, ..EngineOptions::default() };
    Engine::new(Arc::clone(store), options).unwrap()
}

#[test]
fn two_indexes_over_the_same_column_do_not_replace_each_others_pages() {
    let (folder, warnings) = (tempfile::tempdir().unwrap(), Warnings::default());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let mut definition = readings();
    for name in ["one", "two"] {
        let id = definition.next_index_id();
        definition.indexes.push(Index { id, name: name.to_owned(), columns: vec![ColumnId(3)] });
        definition.indexes_given += 1;
    }
    let engine = cached(&store, folder.path(), &warnings);
    let table = engine.create_table(&definition).unwrap();
    append(&engine, &table, &(0..500).map(|number| row(number, "a", "ok", number as i32 * 2)).collect::<Vec<_>>());
    drop(engine);
    for round in 0..3 {
        let engine = cached(&store, folder.path(), &warnings);
        let predicates = vec![Predicate::new(3, Comparison::Equal, Value::Int(14))];
        let request = ScanRequest { predicates, ..ScanRequest::all(&table) };
        let scan = engine.snapshot().unwrap().scan(&table, &request).unwrap();
        let used: Vec<String> = scan.index_pruned().iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(used, ["one", "two"], "both filters are read");
        assert!(scan.batches().map(|rows| rows.unwrap().num_rows()).sum::<usize>() > 0);
        let page_cache = engine.page_cache().unwrap();
        page_cache.flush();
        let stats = page_cache.stats();
        assert_eq!(stats.damaged, 0, "round {round}: {stats:?}");
        assert_eq!(stats.misses == 0, round > 0, "round {round}: {stats:?}");
    }
    assert!(warnings.lock().is_empty(), "{warnings:?}");
}
