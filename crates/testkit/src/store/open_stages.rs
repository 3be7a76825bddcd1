//! Stages before their commit: reading their contents, and removing them.

use super::helpers::*;
use crate::sample::{Plan, series_table};
use atsdb_core::{ChunkEntry, ChunkId, ColumnId, ErrorKind, NewChunk, StageId, Store, TableId, TimeRange};

fn staged(store: &dyn Store, stage: StageId, table: TableId) -> Vec<ChunkEntry> {
    store.stage_snapshot(stage).unwrap().chunks(table, TimeRange::ALL).unwrap()
}

fn ids(entries: &[ChunkEntry]) -> Vec<ChunkId> {
    entries.iter().map(|entry| entry.id).collect()
}

fn chunks(table: TableId, seeds: std::ops::Range<u64>) -> Vec<NewChunk> {
    seeds.map(|seed| Plan::new(seed).chunk(table)).collect()
}

pub(super) fn open_stages_are_listed(store: &dyn Store) {
    assert!(store.stages().unwrap().is_empty());
    let opened: Vec<StageId> = (0..3).map(|_| store.open_stage(NOW_MS).unwrap()).collect();
    assert_eq!(store.stages().unwrap(), opened);
    store.abandon_stage(opened[1]).unwrap();
    commit(store, publishing(opened[0])).unwrap();
    assert_eq!(store.stages().unwrap(), opened[2..]);
    store.abandon_stage(opened[2]).unwrap();
}

pub(super) fn a_stage_is_read_before_its_commit(store: &dyn Store) {
    let table = create(store, "t");
    store.map_values(table, ColumnId(1), 10, &[b"old"]).unwrap();
    fill(store, table, 0..2);
    let (stage, other) = (store.open_stage(NOW_MS).unwrap(), store.open_stage(NOW_MS).unwrap());
    assert!(store.stage_snapshot(stage).unwrap().tables().unwrap().is_empty());
    let own = store.create_table(&series_table("own"), Some(stage)).unwrap();
    let foreign = store.create_table(&series_table("foreign"), Some(other)).unwrap();
    store.map_values(own.id, ColumnId(1), 10, &[b"a", b"b"]).unwrap();
    store.stage(stage, chunks(table, 10..12), NOW_MS).unwrap();
    store.stage(stage, chunks(own.id, 20..23), NOW_MS).unwrap();
    store.stage(other, chunks(table, 30..32), NOW_MS).unwrap();
    store.stage(other, chunks(foreign.id, 40..41), NOW_MS).unwrap();

    let snapshot = store.stage_snapshot(stage).unwrap();
    assert_eq!(snapshot.tables().unwrap(), std::slice::from_ref(&own));
    assert_shows(&*snapshot, table, &chunks(table, 10..12));
    assert_shows(&*snapshot, own.id, &chunks(own.id, 20..23));
    assert!(snapshot.chunks(foreign.id, TimeRange::ALL).unwrap().is_empty());
    assert_eq!(snapshot.mapping(own.id, ColumnId(1), 1).unwrap(), [b"b"]);
    assert_eq!(snapshot.mapping(table, ColumnId(1), 0).unwrap(), [b"old"]);
    let hidden = [visible(store, table)[0].id, staged(store, other, table)[0].id];
    for id in hidden {
        assert_kind(snapshot.read_pages(id, &columns(3)), ErrorKind::Corrupt);
    }
    drop(snapshot);
    commit(store, publishing(stage)).unwrap();
    assert_holds(store, own.id, &chunks(own.id, 20..23));
    store.abandon_stage(other).unwrap();
}

pub(super) fn staged_chunks_are_listed_like_visible_ones(store: &dyn Store) {
    let table = create(store, "t");
    let stage = store.open_stage(NOW_MS).unwrap();
    let plan = |seed: u64| Plan::new(seed).in_slice(86_400 * ((seed as i64 * 7) % 5 - 2));
    for seed in 0..20 {
        store.stage(stage, vec![plan(seed).chunk(table)], NOW_MS).unwrap();
    }
    let all = staged(store, stage, table);
    assert_eq!(all.len(), 20);
    assert!(all.is_sorted_by_key(|entry| (entry.slice_start, entry.id)));
    let snapshot = store.stage_snapshot(stage).unwrap();
    for range in [TimeRange::from(0..86_400), TimeRange::from(-86_400..60), TimeRange::from(60..61)] {
        let expected: Vec<_> =
            all.iter().filter(|entry| range.overlaps(entry.time_min, entry.time_max)).cloned().collect();
        assert_eq!(snapshot.chunks(table, range).unwrap(), expected, "{range:?}");
    }
    store.abandon_stage(stage).unwrap();
}

pub(super) fn a_snapshot_of_a_stage_does_not_change(store: &dyn Store) {
    let table = create(store, "t");
    let stage = store.open_stage(NOW_MS).unwrap();
    let own = store.create_table(&series_table("own"), Some(stage)).unwrap().id;
    store.stage(stage, chunks(table, 0..3), NOW_MS).unwrap();
    store.stage(stage, chunks(own, 10..11), NOW_MS).unwrap();
    let held = store.stage_snapshot(stage).unwrap();
    store.stage(stage, chunks(table, 3..5), NOW_MS).unwrap();
    store.unstage(stage, &ids(&staged(store, stage, table))[..2]).unwrap();
    store.unstage_table(stage, own).unwrap();
    commit(store, publishing(stage)).unwrap();
    commit(store, removing(&visible(store, table))).unwrap();
    reclaim_all(store, 1 << 20, NOW_MS);
    assert_shows(&*held, table, &chunks(table, 0..3));
    assert_shows(&*held, own, &chunks(own, 10..11));
    assert_eq!(held.tables().unwrap().len(), 1);
    // No part of the stage is visible.
    assert!(visible(store, table).is_empty() && visible(store, own).is_empty());
}

pub(super) fn a_missing_stage_is_not_found(store: &dyn Store) {
    let table = create(store, "t");
    let (committed, abandoned) = (store.open_stage(NOW_MS).unwrap(), store.open_stage(NOW_MS).unwrap());
    let own = store.create_table(&series_table("own"), Some(committed)).unwrap().id;
    for stage in [committed, abandoned] {
        store.stage(stage, chunks(table, 0..1), NOW_MS).unwrap();
    }
    let id = staged(store, committed, table)[0].id;
    commit(store, publishing(committed)).unwrap();
    store.abandon_stage(abandoned).unwrap();
    for stage in [committed, abandoned, StageId(abandoned.0 + 99)] {
        assert_kind(store.stage_snapshot(stage), ErrorKind::NotFound);
        assert_kind(store.unstage(stage, &[id]), ErrorKind::NotFound);
        assert_kind(store.unstage(stage, &[]), ErrorKind::NotFound);
        assert_kind(store.unstage_table(stage, own), ErrorKind::NotFound);
    }
    assert_eq!(visible(store, table).len(), 1);
}

pub(super) fn chunks_removed_from_a_stage_do_not_appear(store: &dyn Store) {
    let table = create(store, "t");
    let stage = store.open_stage(NOW_MS).unwrap();
    store.stage(stage, chunks(table, 0..4), NOW_MS).unwrap();
    let entries = staged(store, stage, table);
    store.unstage(stage, &[]).unwrap();
    store.unstage(stage, &[entries[2].id, entries[0].id]).unwrap();
    // Added in place of the removed chunks: numbers are not reused.
    store.stage(stage, chunks(table, 4..5), NOW_MS).unwrap();
    let left = staged(store, stage, table);
    assert!(left.iter().all(|entry| entry.id != entries[0].id && entry.id != entries[2].id));
    let expected = [1, 3, 4].map(|seed| Plan::new(seed).chunk(table));
    assert_shows(&*store.stage_snapshot(stage).unwrap(), table, &expected);
    reclaim_all(store, 1 << 20, NOW_MS);
    commit(store, publishing(stage)).unwrap();
    assert_holds(store, table, &expected);
}

pub(super) fn removing_missing_chunks_from_a_stage_removes_none(store: &dyn Store) {
    let table = create(store, "t");
    let shown = append(store, &Plan::new(9).chunk(table));
    let (stage, other) = (store.open_stage(NOW_MS).unwrap(), store.open_stage(NOW_MS).unwrap());
    store.stage(stage, chunks(table, 0..3), NOW_MS).unwrap();
    store.stage(other, chunks(table, 5..6), NOW_MS).unwrap();
    let own = ids(&staged(store, stage, table));
    let foreign = staged(store, other, table)[0].id;
    for wrong in [shown, foreign, own[0], ChunkId(foreign.0 + 999)] {
        assert_kind(store.unstage(stage, &[own[0], own[1], wrong]), ErrorKind::Conflict);
    }
    assert_eq!(ids(&staged(store, stage, table)), own);
    store.unstage(stage, &own[..1]).unwrap();
    assert_kind(store.unstage(stage, &own), ErrorKind::Conflict);
    commit(store, publishing(stage)).unwrap();
    commit(store, publishing(other)).unwrap();
    assert_holds(store, table, &[9, 1, 2, 5].map(|seed| Plan::new(seed).chunk(table)));
}

pub(super) fn a_table_is_removed_from_a_stage_with_its_chunks(store: &dyn Store) {
    let table = create(store, "t");
    let (stage, other) = (store.open_stage(NOW_MS).unwrap(), store.open_stage(NOW_MS).unwrap());
    let own = store.create_table(&series_table("own"), Some(stage)).unwrap().id;
    let foreign = store.create_table(&series_table("own"), Some(other)).unwrap().id;
    store.stage(stage, [chunks(own, 0..2), chunks(table, 2..4)].concat(), NOW_MS).unwrap();
    for wrong in [table, foreign, TableId(foreign.0 + 9)] {
        assert_kind(store.unstage_table(stage, wrong), ErrorKind::NotFound);
    }
    store.map_values(own, ColumnId(1), 10, &[b"a"]).unwrap();
    store.unstage_table(stage, own).unwrap();
    assert_kind(store.unstage_table(stage, own), ErrorKind::NotFound);
    assert_kind(store.map_values(own, ColumnId(1), 10, &[b"a"]), ErrorKind::NotFound);
    assert_kind(store.stage(stage, chunks(own, 0..1), NOW_MS), ErrorKind::NotFound);
    assert!(store.stage_snapshot(stage).unwrap().tables().unwrap().is_empty());
    assert!(staged(store, stage, own).is_empty());
    // Its name is free in the stage.
    let again = store.create_table(&series_table("Own"), Some(stage)).unwrap().id;
    reclaim_all(store, 1 << 20, NOW_MS);
    commit(store, publishing(stage)).unwrap();
    assert_eq!(table_names(store), ["t", "Own"]);
    assert!(visible(store, again).is_empty());
    assert_holds(store, table, &chunks(table, 2..4));
    store.abandon_stage(other).unwrap();
}

pub(super) fn chunks_removed_from_a_stage_are_reclaimed(store: &dyn Store) {
    let table = create(store, "t");
    let before = store.size().unwrap().total;
    let stage = store.open_stage(NOW_MS).unwrap();
    let own = store.create_table(&series_table("own"), Some(stage)).unwrap().id;
    for owner in [table, own] {
        let large = (0..6).map(|seed| Plan::new(seed).with_pages(3, 30_000).chunk(owner)).collect();
        store.stage(stage, large, NOW_MS).unwrap();
    }
    store.unstage(stage, &ids(&staged(store, stage, table))).unwrap();
    store.unstage_table(stage, own).unwrap();
    let waiting = store.size().unwrap().total;
    assert!(waiting < before + 100_000, "{before} {waiting}");
    reclaim_all(store, 100_000, NOW_MS);
    assert!(store.size().unwrap().total < before + 100_000);
    commit(store, publishing(stage)).unwrap();
    assert!(visible(store, table).is_empty());
}
