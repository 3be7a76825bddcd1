//! A server that is killed while it works. (A power cut is tested elsewhere: after a kill, the system's cache
//! survives.)

use super::subject::{NOW_MS, Subject};
use crate::clock;
use crate::sample::{Plan, Random, series_table};
use crate::server::{Cluster, TestServer};
use atsdb_core::{BatchId, Change, ColumnId, NewChunk, Snapshot, Store, TableId, TimeRange};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const KILLS: u64 = 8;
const NODE_KILLS: u64 = 2;
const CHUNKS: u64 = 3;

struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn written(table: TableId, batch: u64) -> Vec<NewChunk> {
    (0..CHUNKS).map(|position| Plan::new(batch * 10 + position).with_pages(3, 40_000).chunk(table)).collect()
}

/// The chunks that replace those of a batch.
fn sealed(table: TableId, batch: u64) -> NewChunk {
    Plan::new(batch * 10 + 9).with_pages(3, 60_000).chunk(table)
}

/// Nothing that the writers recorded as acknowledged is missing. A batch that they did not record exists completely or
/// not at all. Nothing exists twice.
pub fn a_killed_server_loses_nothing_acknowledged(subject: Subject) {
    let Some(server) = TestServer::start(subject.kind) else { return };
    let url = server.database();
    let kill = |random: &mut Random| {
        clock::sleep(Duration::from_millis(300 + random.below(500)));
        server.kill();
        server.resume();
    };
    nothing_acknowledged_is_lost(subject, &[url.clone(), url], KILLS, kill);
}

/// Like [`a_killed_server_loses_nothing_acknowledged`], for a cluster of which one node at a time is killed: writers
/// continue at another node.
pub fn a_killed_node_loses_nothing_acknowledged(subject: Subject, cluster: &Cluster) {
    let mut killed = 0;
    let kill = |random: &mut Random| {
        clock::sleep(Duration::from_millis(1_000 + random.below(500)));
        cluster.node(killed).kill();
        // Long enough for the others to continue without it.
        clock::sleep(Duration::from_secs(8));
        cluster.node(killed).resume();
        killed += 1;
    };
    nothing_acknowledged_is_lost(subject, &cluster.database(), NODE_KILLS, kill);
}

/// One writer for each URL, all of the same store.
fn nothing_acknowledged_is_lost(subject: Subject, urls: &[String], kills: u64, mut kill: impl FnMut(&mut Random)) {
    let stores: Vec<Box<dyn Store>> = urls.iter().map(|url| subject.opened(url)).collect();
    let table = stores[0].create_table(&series_table("t"), None).unwrap().id;
    let (stop, log) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for (number, store) in stores.iter().enumerate() {
            let (stop, log) = (&stop, &log);
            scope.spawn(move || write(&**store, table, number as u64, stop, log));
        }
        // This also holds if the server does not come back.
        let _stop = StopAtEnd(&stop);
        let mut random = Random::new(1);
        (0..kills).for_each(|_| kill(&mut random));
        // Some batches are written even on a slow machine.
        let begun = clock::now();
        while log.lock().len() <= 10 {
            assert!(begun.elapsed() < Duration::from_secs(300), "the writers do nothing");
            clock::sleep(Duration::from_millis(50));
        }
    });
    let log = log.into_inner();
    stores.iter().for_each(|store| check(&**store, table, &log));
    drop(stores);
    for url in urls {
        let store = subject.opened(url);
        check(&*store, table, &log);
        // Idle stages are discarded after they have been observed as idle for a while.
        for earlier_ms in [atsdb_core::limits::EXPIRY_CONFIRM_MS, 0] {
            while store.reclaim(8 << 20, i64::MAX - earlier_ms).unwrap().more {}
        }
        check(&*store, table, &log);
        assert_eq!(store.verify().unwrap(), []);
    }
}

/// Writes batches through stages and seals every second, until it is stopped. An error means that the change was not
/// acknowledged.
fn write(store: &dyn Store, table: TableId, number: u64, stop: &AtomicBool, log: &Mutex<Vec<(u64, bool)>>) {
    let mut batch = number * 1_000_000;
    while !stop.load(Ordering::Relaxed) {
        batch += 1;
        if append(store, table, batch).is_err() {
            continue;
        }
        log.lock().push((batch, false));
        if batch.is_multiple_of(2) && seal(store, table, batch).is_ok() {
            log.lock().push((batch, true));
        }
    }
}

fn append(store: &dyn Store, table: TableId, batch: u64) -> atsdb_core::Result<()> {
    let mut chunks = written(table, batch);
    let stage = store.open_stage(NOW_MS)?;
    store.stage(stage, chunks.drain(1..).collect(), NOW_MS)?;
    let id = Some(BatchId::new(batch.to_string())?);
    let change = Change { batch: id, stage: Some(stage), add: chunks, ..Change::default() };
    store.commit(&[change], NOW_MS)?.remove(0).map(|_| ())
}

fn seal(store: &dyn Store, table: TableId, batch: u64) -> atsdb_core::Result<()> {
    let entries = store.snapshot()?.chunks(table, TimeRange::ALL)?;
    let old = written(table, batch);
    let ids = entries.iter().filter(|entry| old.iter().any(|chunk| chunk.descriptor_bytes == entry.descriptor_bytes));
    let remove = ids.map(|entry| (table, entry.id)).collect();
    let change = Change { remove, add: vec![sealed(table, batch)], ..Change::default() };
    store.commit(&[change], NOW_MS)?.remove(0).map(|_| ())
}

fn check(store: &dyn Store, table: TableId, log: &[(u64, bool)]) {
    let snapshot = store.snapshot().unwrap();
    let entries = snapshot.chunks(table, TimeRange::ALL).unwrap();
    let count_of = |chunk: &NewChunk| {
        let found = entries.iter().filter(|entry| entry.descriptor_bytes == chunk.descriptor_bytes);
        found.inspect(|entry| assert_pages(&*snapshot, entry.id, chunk)).count() as u64
    };
    let batches: std::collections::BTreeSet<u64> = log.iter().map(|(batch, _)| *batch).collect();
    for batch in batches {
        let (fresh, replaced) =
            (written(table, batch).iter().map(count_of).sum::<u64>(), count_of(&sealed(table, batch)));
        let was_sealed = log.contains(&(batch, true));
        let whole = (fresh, replaced) == (0, 1) || (fresh, replaced) == (CHUNKS, 0) && !was_sealed;
        assert!(whole, "batch {batch}: {fresh} chunks, {replaced} sealed, sealed acknowledged: {was_sealed}");
    }
}

fn assert_pages(snapshot: &dyn Snapshot, id: atsdb_core::ChunkId, chunk: &NewChunk) {
    let columns: Vec<ColumnId> = chunk.descriptor.pages.iter().map(|page| page.column).collect();
    assert!(snapshot.read_pages(id, &columns).unwrap() == chunk.pages, "pages differ");
}
