//! Snapshots: their contents and order, and that they do not change.

use super::helpers::*;
use crate::sample::{Plan, Random, wide_table};
use atsdb_core::{ChunkEntry, ChunkId, ColumnId, ErrorKind, Store, TableId, TimeRange};

pub(super) fn a_snapshot_does_not_change(store: &dyn Store) {
    let table = create(store, "t");
    let entries = fill(store, table, 0..2);
    let snapshot = store.snapshot().unwrap();
    fill(store, table, 2..4);
    commit(store, removing(&entries[..1])).unwrap();
    create(store, "u");
    assert_eq!(snapshot.chunks(table, TimeRange::ALL).unwrap(), entries);
    assert_eq!(snapshot.tables().unwrap().len(), 1);
    assert_eq!(visible(store, table).len(), 3);
    assert_eq!(table_names(store), ["t", "u"]);
}

pub(super) fn a_snapshot_outlives_removal_and_reclaiming(store: &dyn Store) {
    let table = create(store, "t");
    let chunks: Vec<_> = (0..6).map(|seed| Plan::new(seed).with_pages(3, 30_000).chunk(table)).collect();
    commit(store, adding(chunks.clone())).unwrap();
    let entries = visible(store, table);
    let snapshot = store.snapshot().unwrap();
    commit(store, removing(&entries)).unwrap();
    for seed in 100..110 {
        store.reclaim(100_000, NOW_MS).unwrap();
        commit(store, adding(vec![Plan::new(seed).with_pages(3, 30_000).chunk(table)])).unwrap();
    }
    reclaim_all(store, 100_000, NOW_MS);
    assert_eq!(snapshot.chunks(table, TimeRange::ALL).unwrap(), entries);
    for (entry, chunk) in entries.iter().zip(&chunks) {
        assert!(snapshot.read_pages(entry.id, &columns(3)).unwrap() == chunk.pages);
    }
    drop(snapshot);
    reclaim_all(store, 100_000, NOW_MS);
    assert_eq!(visible(store, table).len(), 10);
}

pub(super) fn a_snapshot_outlives_a_dropped_table(store: &dyn Store) {
    let table = create(store, "t");
    store.map_values(table, ColumnId(1), 10, &[b"a", b"b"]).unwrap();
    let entries = fill(store, table, 0..2);
    let snapshot = store.snapshot().unwrap();
    store.drop_table(table).unwrap();
    reclaim_all(store, 1 << 20, NOW_MS);
    assert_eq!(snapshot.tables().unwrap().len(), 1);
    assert_eq!(snapshot.chunks(table, TimeRange::ALL).unwrap(), entries);
    assert_eq!(snapshot.mapping(table, ColumnId(1), 0).unwrap(), [b"a", b"b"]);
    assert!(snapshot.read_pages(entries[0].id, &columns(3)).unwrap() == Plan::new(0).chunk(table).pages);
}

pub(super) fn chunks_are_listed_by_slice_then_number(store: &dyn Store) {
    let table = create(store, "t");
    let mut random = Random::new(1);
    for seed in 0..30 {
        let slice = 86_400 * (random.below(7) as i64 - 3);
        commit(store, adding(vec![Plan::new(seed).in_slice(slice).chunk(table)])).unwrap();
    }
    let keys: Vec<_> = visible(store, table).iter().map(|entry| (entry.slice_start, entry.id)).collect();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(keys, sorted);
    assert_eq!(keys.len(), 30);
}

pub(super) fn chunks_are_pruned_by_time_exactly(store: &dyn Store) {
    let table = create(store, "t");
    let other = create(store, "u");
    fill(store, other, 50..52);
    let edges = [i64::MIN, i64::MIN + 1, -100, -1, 0, 1, 99, 100, i64::MAX - 1, i64::MAX];
    let mut plans = Vec::new();
    for (position, min) in edges.into_iter().enumerate() {
        plans.extend(edges[position..].iter().map(|max| (min, *max)));
    }
    let chunk = |(seed, (min, max)): (usize, &(i64, i64))| Plan::new(seed as u64).with_times(*min, *max).chunk(table);
    commit(store, adding(plans.iter().enumerate().map(chunk).collect())).unwrap();
    let snapshot = store.snapshot().unwrap();
    let all = snapshot.chunks(table, TimeRange::ALL).unwrap();
    assert_eq!(all.len(), plans.len());
    let ends = || edges.into_iter().map(Some).chain([None]);
    for range in ends().flat_map(|start| ends().map(move |end| TimeRange { start, end })) {
        if matches!((range.start, range.end), (Some(start), Some(end)) if start >= end) {
            continue;
        }
        // Written out, because stores use `TimeRange::overlaps`.
        let is_in = |entry: &&ChunkEntry| {
            range.start.is_none_or(|start| entry.time_max >= start) && range.end.is_none_or(|end| entry.time_min < end)
        };
        let expected: Vec<_> = all.iter().filter(is_in).cloned().collect();
        assert_eq!(snapshot.chunks(table, range).unwrap(), expected, "{range:?}");
    }
}

pub(super) fn pages_come_in_the_order_asked(store: &dyn Store) {
    let table = create(store, "t");
    let chunk = Plan::new(1).with_pages(5, 5_000).chunk(table);
    commit(store, adding(vec![chunk.clone()])).unwrap();
    let id = visible(store, table)[0].id;
    let snapshot = store.snapshot().unwrap();
    for asked in [vec![], vec![3], vec![4, 0, 2], vec![1, 1]] {
        let wanted: Vec<_> = asked.iter().map(|column| chunk.pages[*column as usize].clone()).collect();
        let asked: Vec<_> = asked.into_iter().map(ColumnId).collect();
        assert!(snapshot.read_pages(id, &asked).unwrap() == wanted, "{asked:?}");
    }
}

pub(super) fn a_missing_page_is_corrupt(store: &dyn Store) {
    let table = create(store, "t");
    let entries = fill(store, table, 0..2);
    let stage = store.open_stage(NOW_MS).unwrap();
    store.stage(stage, vec![Plan::new(5).chunk(table)], NOW_MS).unwrap();
    let snapshot = store.snapshot().unwrap();
    for column in [3, u16::MAX] {
        assert_kind(snapshot.read_pages(entries[0].id, &[ColumnId(0), ColumnId(column)]), ErrorKind::Corrupt);
    }
    for chunk in [-1, 0, entries[1].id.0 + 1, i64::MAX, i64::MIN] {
        assert_kind(snapshot.read_pages(ChunkId(chunk), &[ColumnId(0)]), ErrorKind::Corrupt);
    }
}

pub(super) fn a_thousand_columns_and_an_empty_page_are_kept(store: &dyn Store) {
    let table = store.create_table(&wide_table("wide", 1_000), None).unwrap().id;
    let mut chunk = Plan::new(1).with_pages(1_000, 300).chunk(table);
    chunk.pages[500].clear();
    chunk.descriptor.pages[500].byte_count = 0;
    // Numbers of columns have gaps where columns were dropped, and go up to the last of 16 bits.
    chunk.descriptor.pages[999].column = ColumnId(u16::MAX);
    let neighbour = Plan::new(2).with_pages(1_000, 300).chunk(table);
    commit(store, adding(vec![chunk.clone(), neighbour.clone()])).unwrap();
    assert_holds(store, table, &[chunk, neighbour]);
}

pub(super) fn an_unknown_table_has_no_chunks_and_no_strings(store: &dyn Store) {
    let snapshot = store.snapshot().unwrap();
    assert!(snapshot.chunks(TableId(5), TimeRange::ALL).unwrap().is_empty());
    assert!(snapshot.mapping(TableId(5), ColumnId(0), 0).unwrap().is_empty());
}

pub(super) fn many_snapshots_do_not_block_writers(store: &dyn Store) {
    let table = create(store, "t");
    let mut snapshots = Vec::new();
    for seed in 0..40 {
        fill(store, table, seed..seed + 1);
        snapshots.push(store.snapshot().unwrap());
    }
    for (position, snapshot) in snapshots.iter().enumerate() {
        assert_eq!(snapshot.chunks(table, TimeRange::ALL).unwrap().len(), position + 1);
    }
}
