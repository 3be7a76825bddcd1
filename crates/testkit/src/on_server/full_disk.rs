//! A server whose disk is full.

use super::subject::{NOW_MS, Subject, append};
use crate::sample::{Plan, series_table};
use crate::server::TestServer;
use atsdb_core::{Change, ColumnId, ErrorKind, NewChunk, Result, Store, TableId, TimeRange};

const FREE_BYTES: u64 = 40 << 20;
/// The number of commits, which need several times the available space.
const COMMITS: u64 = 400;

fn plan(seed: u64) -> Plan {
    Plan::new(seed).with_pages(3, 80_000)
}

fn append_by_stage(store: &dyn Store, chunk: NewChunk) -> Result<()> {
    let stage = store.open_stage(NOW_MS)?;
    store.stage(stage, vec![chunk], NOW_MS)?;
    store.commit(&[Change { stage: Some(stage), ..Change::default() }], NOW_MS)?.remove(0).map(drop)
}

fn check(store: &dyn Store, table: TableId, acknowledged: &[u64]) {
    let snapshot = store.snapshot().unwrap();
    let entries = snapshot.chunks(table, TimeRange::ALL).unwrap();
    assert_eq!(entries.len(), acknowledged.len());
    for (entry, seed) in entries.iter().zip(acknowledged) {
        let pages = snapshot.read_pages(entry.id, &[0, 1, 2].map(ColumnId)).unwrap();
        assert!(pages == plan(*seed).chunk(table).pages, "{seed}");
    }
}

/// Every failed commit reports the reason and what to do, and leaves nothing behind. Acknowledged data exists and can
/// be read; with more space everything works again. A server that ends itself, as MariaDB does if it has no space to
/// roll back, is reported as unreachable.
pub fn a_full_disk_is_reported_and_loses_nothing_acknowledged(subject: Subject) {
    let Some(server) = TestServer::start_on_small_disk(subject.kind, FREE_BYTES) else { return };
    let url = server.database();
    let store = subject.opened(&url);
    let table = store.create_table(&series_table("t"), None).unwrap().id;
    let (mut acknowledged, mut failures) = (Vec::new(), 0);
    for seed in 0..COMMITS {
        let chunk = plan(seed).chunk(table);
        let done = if seed % 2 == 0 { append(&*store, chunk) } else { append_by_stage(&*store, chunk) };
        match done {
            Ok(()) => acknowledged.push(seed),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
                failures += 1;
                if server.has_ended() {
                    break;
                }
                let (message, hint) = (error.to_string(), error.hint().unwrap_or_default());
                let is_reported = message.contains("disk full") && hint.contains("free some space");
                assert!(is_reported || hint.contains("may be a full disk"), "{error:?}");
                if failures == 10 {
                    break;
                }
            }
        }
    }
    assert!(failures > 0 && acknowledged.len() > 10, "{failures} {}", acknowledged.len());
    let has_ended = server.has_ended();
    if !has_ended {
        assert_eq!(failures, 10);
        check(&*store, table, &acknowledged);
    }
    server.disk().expect("it has one").resize(1 << 30);
    if has_ended {
        server.resume();
    }
    append(&*store, plan(COMMITS).chunk(table)).unwrap();
    acknowledged.push(COMMITS);
    check(&*store, table, &acknowledged);
    // Idle stages are discarded after they have been observed as idle for a while.
    for earlier_ms in [atsdb_core::limits::EXPIRY_CONFIRM_MS, 0] {
        while store.reclaim(8 << 20, i64::MAX - earlier_ms).unwrap().more {}
    }
    server.kill();
    server.resume();
    let store = subject.opened(&url);
    check(&*store, table, &acknowledged);
    assert_eq!(store.verify().unwrap(), []);
}
