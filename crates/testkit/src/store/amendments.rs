//! Amendments: pages that are added to chunks.

use super::helpers::*;
use crate::sample::{Plan, amended, amendment};
use atsdb_core::limits::INDEX_ID_MIN;
use atsdb_core::{Change, ChunkId, ColumnId, CommitOutcome, ErrorKind, NewChunk, Store, TableId, TimeRange};

/// A table with one chunk.
fn sample(store: &dyn Store) -> (NewChunk, ChunkId) {
    let table = create(store, "t");
    let chunk = Plan::new(1).with_pages(3, 2_000).chunk(table);
    let id = append(store, &chunk);
    (chunk, id)
}

pub(super) fn an_amended_chunk_keeps_what_it_has(store: &dyn Store) {
    let (chunk, id) = sample(store);
    let other = Plan::new(2).chunk(chunk.table);
    append(store, &other);
    let more = amended(&chunk, 5, 3_000);
    assert_eq!(commit(store, amending(vec![amendment(id, &chunk, &more)])).unwrap(), CommitOutcome::Committed);
    assert_holds(store, chunk.table, &[more.clone(), other.clone()]);
    assert_eq!(visible(store, chunk.table)[0].id, id);
    // Another index, empty, with a lower number than the first.
    let mut most = amended(&more, 2, 0);
    most.descriptor.pages.sort_by_key(|page| page.column);
    let second = amendment(id, &more, &most);
    let pages = vec![(ColumnId(INDEX_ID_MIN + 2), Vec::new())];
    let second = atsdb_core::Amendment { pages, ..second };
    let other_id = visible(store, chunk.table)[1].id;
    let other_more = amended(&other, 2, 10);
    commit(store, amending(vec![second, amendment(other_id, &other, &other_more)])).unwrap();
    most.pages.swap(3, 4);
    assert_holds(store, chunk.table, &[most, other_more]);
}

pub(super) fn a_snapshot_does_not_see_later_pages(store: &dyn Store) {
    let (chunk, id) = sample(store);
    let held = store.snapshot().unwrap();
    let more = amended(&chunk, 0, 3_000);
    commit(store, amending(vec![amendment(id, &chunk, &more)])).unwrap();
    let page = ColumnId(INDEX_ID_MIN);
    assert_shows(&*held, chunk.table, std::slice::from_ref(&chunk));
    assert_kind(held.read_pages(id, &[page]), ErrorKind::Corrupt);
    let seen = store.snapshot().unwrap();
    assert!(seen.read_pages(id, &[page, ColumnId(1)]).unwrap() == [more.pages[3].clone(), chunk.pages[1].clone()]);
    // Both snapshots outlive the chunk.
    commit(store, removing(&visible(store, chunk.table))).unwrap();
    reclaim_all(store, 1 << 20, NOW_MS);
    assert_shows(&*held, chunk.table, std::slice::from_ref(&chunk));
    assert_shows(&*seen, chunk.table, &[more]);
}

pub(super) fn of_two_amendments_one_wins(store: &dyn Store) {
    let (chunk, id) = sample(store);
    let (first, second) = (amended(&chunk, 0, 300), amended(&chunk, 1, 400));
    commit(store, amending(vec![amendment(id, &chunk, &first)])).unwrap();
    assert_kind(commit(store, amending(vec![amendment(id, &chunk, &second)])), ErrorKind::Conflict);
    assert_kind(commit(store, amending(vec![amendment(id, &chunk, &first)])), ErrorKind::Conflict);
    assert_holds(store, chunk.table, &[first]);
}

pub(super) fn an_amendment_without_pages_requires_its_chunk(store: &dyn Store) {
    let (chunk, id) = sample(store);
    let none = amendment(id, &chunk, &chunk);
    assert!(none.pages.is_empty());
    let other = Plan::new(2).chunk(chunk.table);
    let change = Change { add: vec![other.clone()], ..amending(vec![none.clone()]) };
    assert_eq!(commit(store, change).unwrap(), CommitOutcome::Committed);
    assert_holds(store, chunk.table, &[chunk.clone(), other]);
    commit(store, removing(&visible(store, chunk.table))).unwrap();
    let change = Change { add: vec![Plan::new(3).chunk(chunk.table)], ..amending(vec![none]) };
    assert_kind(commit(store, change), ErrorKind::Conflict);
    assert_holds(store, chunk.table, &[]);
}

pub(super) fn a_chunk_is_amended_step_by_step_in_one_change(store: &dyn Store) {
    let (chunk, id) = sample(store);
    let first = amended(&chunk, 0, 300);
    let (second, other) = (amended(&first, 1, 400), amended(&chunk, 1, 400));
    let apart = vec![amendment(id, &chunk, &first), amendment(id, &chunk, &other)];
    assert_kind(commit(store, amending(apart)), ErrorKind::Conflict);
    assert_holds(store, chunk.table, std::slice::from_ref(&chunk));
    commit(store, amending(vec![amendment(id, &chunk, &first), amendment(id, &first, &second)])).unwrap();
    assert_holds(store, chunk.table, &[second]);
}

pub(super) fn only_a_visible_chunk_of_the_table_is_amended(store: &dyn Store) {
    let (chunk, id) = sample(store);
    let other = create(store, "other");
    let more = amended(&chunk, 0, 10);
    let change = amending(vec![amendment(id, &chunk, &more)]);
    let of = |table: TableId, chunk: ChunkId| {
        let mut change = change.clone();
        (change.amend[0].table, change.amend[0].chunk) = (table, chunk);
        change
    };
    assert_kind(commit(store, of(other, id)), ErrorKind::Conflict);
    assert_kind(commit(store, of(chunk.table, ChunkId(id.0 + 99))), ErrorKind::Conflict);
    assert_kind(commit(store, of(TableId(other.0 + 9), id)), ErrorKind::NotFound);
    let stage = store.open_stage(NOW_MS).unwrap();
    store.stage(stage, vec![chunk.clone()], NOW_MS).unwrap();
    let staged = store.stage_snapshot(stage).unwrap().chunks(chunk.table, TimeRange::ALL).unwrap()[0].id;
    assert_kind(commit(store, of(chunk.table, staged)), ErrorKind::Conflict);
    store.abandon_stage(stage).unwrap();
    // The chunk is removed by the same change, then by another one.
    assert_kind(commit(store, Change { remove: vec![(chunk.table, id)], ..change.clone() }), ErrorKind::Conflict);
    assert_holds(store, chunk.table, std::slice::from_ref(&chunk));
    commit(store, removing(&visible(store, chunk.table))).unwrap();
    assert_kind(commit(store, change.clone()), ErrorKind::Conflict);
    store.drop_table(chunk.table).unwrap();
    assert_kind(commit(store, change), ErrorKind::NotFound);
}

pub(super) fn an_amendment_that_contradicts_itself_is_refused(store: &dyn Store) {
    let (chunk, id) = sample(store);
    let good = amendment(id, &chunk, &amended(&amended(&chunk, 0, 30), 1, 30));
    let mut bad = vec![good.clone(); 6];
    bad[0].pages.pop();
    bad[1].pages[1].1.pop();
    bad[2].pages[1].0 = ColumnId(INDEX_ID_MIN + 9);
    bad[3].pages[1] = bad[3].pages[0].clone();
    bad[5].descriptor.pages[0].byte_count += 1;
    // A page that the chunk already has.
    bad[4].descriptor.pages[4] = bad[4].descriptor.pages[2].clone();
    bad[4].pages[1] = (ColumnId(2), chunk.pages[2].clone());
    for bad in bad {
        assert_kind(commit(store, amending(vec![bad])), ErrorKind::Internal);
    }
    assert_holds(store, chunk.table, std::slice::from_ref(&chunk));
    commit(store, amending(vec![good])).unwrap();
}

pub(super) fn added_pages_count_and_are_removed_with_their_chunk(store: &dyn Store) {
    let (chunk, id) = sample(store);
    let before = store.size().unwrap();
    let more = amended(&chunk, 0, 500_000);
    commit(store, amending(vec![amendment(id, &chunk, &more)])).unwrap();
    let full = store.size().unwrap();
    let added = 500_000 + (more.descriptor_bytes.len() - chunk.descriptor_bytes.len()) as u64;
    assert_eq!(full.tables[0].1, before.tables[0].1 + added);
    assert!(full.total > before.total + 400_000, "{before:?} {full:?}");
    commit(store, removing(&visible(store, chunk.table))).unwrap();
    let waiting = store.size().unwrap();
    assert!(waiting.total < before.total + 100_000, "{before:?} {waiting:?}");
    assert_eq!(waiting.tables, [(chunk.table, 0)]);
    let (_, byte_count) = reclaim_all(store, 100_000, NOW_MS);
    assert!(byte_count <= full.total, "{byte_count} {full:?}");
    assert!(store.size().unwrap().total < before.total + 100_000);
}
