//! Reclaiming and sizes.

use super::helpers::*;
use crate::sample::{Plan, series_table};
use atsdb_core::store::Reclaimed;
use atsdb_core::{ColumnId, NewChunk, Store, TableId};

const PAGE_BYTES: usize = 50_000;

fn large(table: TableId, seeds: std::ops::Range<u64>) -> Vec<NewChunk> {
    seeds.map(|seed| Plan::new(seed).with_pages(3, PAGE_BYTES).chunk(table)).collect()
}

pub(super) fn nothing_to_reclaim_ends_at_once(store: &dyn Store) {
    assert_eq!(store.reclaim(1 << 20, NOW_MS).unwrap(), Reclaimed::default());
    let table = create(store, "t");
    fill(store, table, 0..3);
    store.map_values(table, ColumnId(1), 10, &[b"a"]).unwrap();
    assert_eq!(store.reclaim(1 << 20, NOW_MS).unwrap(), Reclaimed::default());
    for now_ms in [i64::MIN, 0, i64::MAX] {
        assert!(!store.reclaim(1 << 20, now_ms).unwrap().more);
    }
    assert_eq!(visible(store, table).len(), 3);
}

pub(super) fn removed_chunks_are_reclaimed_in_steps(store: &dyn Store) {
    let table = create(store, "t");
    commit(store, adding(large(table, 0..20))).unwrap();
    let full = store.size().unwrap().total;
    commit(store, removing(&visible(store, table))).unwrap();
    let (_, byte_count) = reclaim_all(store, 400_000, NOW_MS);
    let left = store.size().unwrap().total;
    assert!(left < full / 10, "{full} {left}");
    assert!(byte_count <= full, "{byte_count} {full}");
    assert_eq!(store.reclaim(400_000, NOW_MS).unwrap(), Reclaimed::default());
    // A budget below one page still comes to an end.
    commit(store, adding(large(table, 20..21))).unwrap();
    commit(store, removing(&visible(store, table))).unwrap();
    reclaim_all(store, 1, NOW_MS);
    assert!(visible(store, table).is_empty());
}

pub(super) fn visible_chunks_are_not_reclaimed(store: &dyn Store) {
    let (kept, dropped) = (create(store, "kept"), create(store, "dropped"));
    let chunks = large(kept, 0..5);
    let stage = store.open_stage(NOW_MS).unwrap();
    for (position, chunk) in chunks.iter().enumerate() {
        commit(store, adding(vec![chunk.clone()])).unwrap();
        commit(store, adding(large(dropped, 10 + position as u64..11 + position as u64))).unwrap();
        store.stage(stage, large(kept, 20 + position as u64..21 + position as u64), NOW_MS).unwrap();
    }
    store.map_values(kept, ColumnId(1), 10, &[b"a", b"b"]).unwrap();
    store.map_values(dropped, ColumnId(1), 10, &[b"a", b"b", b"c"]).unwrap();
    store.drop_table(dropped).unwrap();
    reclaim_all(store, 100_000, NOW_MS);
    assert_holds(store, kept, &chunks);
    assert_eq!(store.snapshot().unwrap().mapping(kept, ColumnId(1), 0).unwrap(), [b"a", b"b"]);
    commit(store, publishing(stage)).unwrap();
    assert_holds(store, kept, &[chunks, large(kept, 20..25)].concat());
}

pub(super) fn sizes_tell_what_tables_hold(store: &dyn Store) {
    let (first, second) = (create(store, "a"), create(store, "b"));
    let staged = store.open_stage(NOW_MS).unwrap();
    store.create_table(&series_table("c"), Some(staged)).unwrap();
    let chunks = large(first, 0..4);
    commit(store, adding(chunks.clone())).unwrap();
    store.map_values(first, ColumnId(1), 10, &[b"12345"]).unwrap();
    let payload = |chunk: &NewChunk| chunk.descriptor.byte_count() + chunk.descriptor_bytes.len() as u64;
    let expected: u64 = chunks.iter().map(payload).sum::<u64>() + 5;
    let size = store.size().unwrap();
    assert_eq!(size.tables, [(first, expected), (second, 0)]);
    // Servers give every table and index a block at least.
    assert!(size.total >= expected && size.total < expected + expected / 5 + 400_000, "{size:?}");
}

pub(super) fn sizes_leave_out_what_waits_to_be_reclaimed(store: &dyn Store) {
    let table = create(store, "t");
    commit(store, adding(large(table, 0..20))).unwrap();
    let full = store.size().unwrap().total;
    commit(store, removing(&visible(store, table))).unwrap();
    let waiting = store.size().unwrap();
    assert!(waiting.total < full / 5, "{full} {waiting:?}");
    assert_eq!(waiting.tables, [(table, 0)]);
}
